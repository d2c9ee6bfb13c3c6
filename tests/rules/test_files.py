"""KR001-KR009 on damaged registries, through the real command."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.examples.build import Row
from tests.examples.example import Example, ids


def finding(found: list[dict[str, object]], rule: str) -> dict[str, object]:
    """The one finding of ``rule``."""
    (one,) = [one for one in found if one["rule"] == rule]
    return one


@pytest.mark.parametrize("words", [(), ("--staged",), ("--ref", "HEAD")])
def test_a_good_registry_has_no_findings(good: Example, words: tuple[str, ...]) -> None:
    assert good.findings(*words) == []
    status, text = good.command("check", *words)
    assert status == 0
    assert text.startswith("2 rows have passing verdicts")


def test_a_record_that_is_not_json_is_named_with_its_line(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '"variant": "drain",', '"variant": drain,')
    one = finding(good.findings(), "KR001")
    assert one["path"] == row.id.record_path
    text = good.path(row.id.record_path).read_text()
    assert one["line"] == 1 + text[: text.index('"variant"')].count("\n")
    assert one["record"] == str(row.id)


def test_a_record_that_is_not_utf_8_is_unreadable(good: Example, row: Row) -> None:
    path = good.path(row.id.record_path)
    path.write_bytes(path.read_bytes().replace(b'"drain"', b'"dr\xe4in"'))
    assert "KR001" in good.rules()


def test_a_broken_policy_is_a_finding_not_a_crash(good: Example) -> None:
    good.edit("registry.yaml", "kind: emulated", "kind: [emulated")
    assert finding(good.findings(), "KR001")["path"] == "registry.yaml"


def test_a_deleted_policy_is_found_while_rows_remain(good: Example) -> None:
    good.git("rm", "-q", "--cached", "registry.yaml")
    assert finding(good.findings("--staged"), "KR001")["path"] == "registry.yaml"


def test_a_key_that_stands_twice_is_found(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '"max_abs": 0.000824,', '"max_abs": 0.000824,\n  "max_abs": 0.1,')
    assert finding(good.findings(), "KR002")["pointer"] == "/max_abs"


def test_a_key_that_stands_twice_in_the_policy_is_found(good: Example) -> None:
    good.edit("registry.yaml", "schema_version: 1", "schema_version: 1\nschema_version: 1")
    assert "KR002" in good.rules()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_found(good: Example, row: Row, number: str) -> None:
    good.edit(row.id.record_path, '"max_abs": 0.000824', f'"max_abs": {number}')
    assert finding(good.findings(), "KR003")["pointer"] == "/max_abs"


@pytest.mark.parametrize(("rtol", "rule"), [(".inf", "KR003"), (".nan", "KR004")])
def test_a_tolerance_that_is_not_a_number_is_found(good: Example, rtol: str, rule: str) -> None:
    good.write(
        {
            "kernels/GEMM_bf16_in_bf16_out.yaml": "schema_version: 1\n"
            "kernel: GEMM_bf16_in_bf16_out\n"
            f"tolerances:\n  high: {{rtol: {rtol}, atol: 0.0}}\n  low: {{rtol: 0.0, atol: 0.0}}\n"
        }
    )
    assert rule in good.rules()


@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        ('"tiles_in_flight": 32', '"tiles_in_flight": "32"', "/tiles_in_flight"),
        ('"tiles_in_flight": 32', '"tiles_in_flight": 32.0', "/tiles_in_flight"),
        ('"tiles_in_flight": 32', '"tiles_in_flight": 0', "/tiles_in_flight"),
        ('"performance": null', '"performance": null,\n  "speed": 1', "/speed"),
    ],
)
def test_what_the_schema_does_not_allow_is_found(
    good: Example, row: Row, old: str, new: str, pointer: str
) -> None:
    good.edit(row.id.record_path, old, new)
    assert finding(good.findings(), "KR004")["pointer"] == pointer


def test_a_newer_format_version_asks_for_a_newer_tool(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '"schema_version": 1', '"schema_version": 2')
    assert "pip install" in str(finding(good.findings(), "KR004")["fix"])


def test_a_broken_kernel_page_is_named_with_its_line(good: Example) -> None:
    good.write(
        {
            "kernels/GEMM_bf16_in_bf16_out.yaml": "schema_version: 1\n"
            "kernel: GEMM_bf16_in_bf16_out\ntiles_target: many\n"
        }
    )
    one = finding(good.findings(), "KR004")
    assert (one["path"], one["line"]) == ("kernels/GEMM_bf16_in_bf16_out.yaml", 3)


def test_an_expression_that_cannot_be_computed_is_a_finding(good: Example, row: Row) -> None:
    good.write(
        {
            "kernels/GEMM_bf16_in_bf16_out.yaml": "schema_version: 1\n"
            "kernel: GEMM_bf16_in_bf16_out\nwork: {flops: 2 * M * Q, bytes: null}\n"
            "band:\n  - {when: null, low: '1 / (M - 2048)', high: '0.02', source: none}\n"
        }
    )
    assert "KR004" in good.rules()


def test_a_record_under_another_name_is_found(good: Example, row: Row) -> None:
    folder = row.id.record_path.rpartition("/")[0]
    good.git("mv", row.id.record_path, f"{folder}/2048x1024x1024+direct.json")
    one = finding(good.findings("--staged"), "KR005")
    assert f"records/{row.id}.json" in str(one["fix"])


def test_a_record_that_is_a_symbolic_link_is_found(good: Example, row: Row) -> None:
    path = good.path(row.id.record_path)
    good.write({"elsewhere.json": path.read_bytes()})
    path.unlink()
    path.symlink_to(good.path("elsewhere.json"))
    good.git("add", "-A")
    assert "KR005" in good.rules("--staged")
    assert "KR005" in good.rules()


@pytest.mark.parametrize(
    "path",
    [
        "records/readme.txt",
        "records/npu2-emu/GEMM_bf16_in_bf16_out/2048x1024x1024+drain.json.bak",
        "records/npu2-emu/GEMM_bf16_in_bf16_out/deeper/2048x1024x1024+drain.json",
        "verdicts/npu2-emu/note.md",
    ],
)
def test_what_is_no_file_of_the_registry_is_found_below_records(good: Example, path: str) -> None:
    good.write({path: "hello\n"})
    assert finding(good.findings(), "KR005")["path"] == path


def test_other_files_of_the_repository_are_nobodys_business(good: Example) -> None:
    good.write({"README.md": "<<<<<<< not a registry file\n", "src/x.json": "{", "docs/y": "\xff"})
    good.git("add", "-A")
    assert good.findings("--staged") == []


def test_a_log_that_no_verdict_names_only_warns(good: Example, row: Row) -> None:
    good.write({f"{row.id.verdict_folder}/20260101T000000Z-00000000.log": "half a run\n"})
    found = good.findings()
    assert ids(found) == set()
    assert ids(found, "warning") == {"KR005"}


def test_a_model_under_another_name_is_found(good: Example) -> None:
    good.git("mv", "models/Toy-1B.json", "models/Toy.json")
    assert finding(good.findings("--staged"), "KR005")["path"] == "models/Toy.json"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"target": "npu2-emu"', '"target": "npu2_emu"', "did you mean 'npu2-emu'"),
        ('"kernel": "GEMM_bf16_in_bf16_out"', '"kernel": "Gemm_bf16_in_bf16_out"', "did you mean"),
        ('"variant": "drain"', '"variant": "drian"', "known are"),
        ('"precision": "high"', '"precision": "low"', "precision tier"),
        ('"M": 2048,\n    "K": 1024,', '"K": 1024,\n    "M": 2048,', "in this order"),
        ('"tile_m": ', '"tile_M": ', "tile knobs"),
        ('"herd": [\n', '"herd": [\n    1,\n', "the herd of"),
    ],
)
def test_names_that_the_registry_does_not_know_are_found(
    good: Example, row: Row, old: str, new: str, words: str
) -> None:
    good.edit(row.id.record_path, old, new)
    assert any(one["rule"] == "KR006" and words in one["message"] for one in good.findings())


def with_use(good: Example, row: Row, model: str) -> list[dict[str, object]]:
    good.edit(
        row.id.record_path,
        '"used_by": []',
        f'"used_by": [\n    {{\n      "model": "{model}",\n      "site": "prefill Q"\n    }}\n  ]',
    )
    good.render()
    return good.findings()


def test_a_model_is_credited(good: Example, row: Row) -> None:
    assert with_use(good, row, "Toy-1B") == []


def test_a_misspelt_model_is_an_error(good: Example, row: Row) -> None:
    (one,) = with_use(good, row, "toy-1b")
    assert (one["rule"], one["severity"]) == ("KR006", "error")
    assert "'Toy-1B'" in str(one["message"])


@pytest.mark.parametrize("model", ["Toy-2B", "Llama-3.2-1B"])
def test_a_model_that_is_not_there_only_warns(good: Example, row: Row, model: str) -> None:
    (one,) = with_use(good, row, model)
    assert (one["rule"], one["severity"]) == ("KR006", "warning")


def test_a_conflict_left_in_a_record_is_found(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '  "max_abs"', '<<<<<<< HEAD\n  "max_abs"')
    assert "KR007" in good.rules()


@pytest.mark.parametrize("path", ["supported_kernels.md", "registry.yaml"])
def test_a_conflict_left_in_other_files_is_found(good: Example, path: str) -> None:
    data = good.path(path).read_bytes()
    good.write({path: data + b"<<<<<<< HEAD\nours: 1\n=======\ntheirs: 2\n>>>>>>> branch\n"})
    assert "KR007" in good.rules()


def test_a_heading_underlined_with_equals_signs_is_no_conflict(good: Example) -> None:
    good.write({"supported_kernels.md": good.path("supported_kernels.md").read_bytes()
                + b"\nMore\n=======\n"})  # fmt: skip
    assert good.findings() == []


def test_an_unfinished_merge_is_found(good: Example, row: Row) -> None:
    good.git("checkout", "-q", "-b", "theirs")
    good.edit(row.id.record_path, '"notes": []', '"notes": [\n    "theirs"\n  ]')
    good.commit()
    good.git("checkout", "-q", "main")
    good.edit(row.id.record_path, '"notes": []', '"notes": [\n    "ours"\n  ]')
    good.commit()
    assert good.try_git("merge", "theirs").returncode != 0
    assert "KR008" in good.rules("--staged")
    assert finding(good.findings("--staged"), "KR008")["path"] == row.id.record_path
    good.path(row.id.record_path).write_bytes(row.files()[row.id.record_path])
    good.git("add", "-A")
    assert good.rules("--staged") == set()


def compact(data: bytes) -> bytes:
    return json.dumps(json.loads(data)).encode()


@pytest.mark.parametrize(
    "spoil",
    [
        compact,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.rstrip(b"\n"),
        lambda data: data.replace(b"0.000824", b"0.0008240"),
        lambda data: data.replace(b"0.000824", b"8.24e-4"),
    ],
)
def test_what_is_only_formatted_otherwise_is_repaired_by_fmt(
    good: Example, row: Row, spoil: Callable[[bytes], bytes]
) -> None:
    path = good.path(row.id.record_path)
    path.write_bytes(spoil(path.read_bytes()))
    one = finding(good.findings(), "KR009")
    assert one["fix"] == "registry-tool fmt"
    assert good.rules() == {"KR009"}
