"""KR101-KR110: forgeries of rows, verdicts, logs and measures, through the real command.

A careful forger writes canonical files, recomputes every digest and run id, and renders the tables;
`sealed` and `put` do it for him.
"""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical, catalog
from registry_tool.records.record import Performance, Record
from registry_tool.records.verdict import Band, Output
from registry_tool.verifier.artifact import run_id
from tests.examples.build import GEMM, SMALL, Row, log_text, make_row, sealed
from tests.examples.example import Example, ids


def put(example: Example, row: Row, record: Record | None = None) -> None:
    """Write a forged row in place of the genuine one, and its tables with it."""
    folder = example.path(row.id.verdict_folder)
    if folder.exists():
        shutil.rmtree(folder)
    example.write(row.files())
    if record is not None:
        example.write({row.id.record_path: canonical.encode(record)})
    example.render()


def forged(row: Row, **changes: Any) -> Row:
    """``row`` with other fields of its verdict, its log printed anew and everything recomputed."""
    verdict = replace(row.verdict, **changes)
    log = log_text(verdict, verdict.subject.target != "npu2")
    return sealed(dataclasses.replace(row, verdict=verdict, log=log))


def with_run(row: Row, **changes: Any) -> Row:
    """``row`` with other facts of its run."""
    run = replace(row.verdict.attempts[-1], **changes)
    return sealed(dataclasses.replace(row, verdict=replace(row.verdict, attempts=[run])))


def with_output(row: Row, **changes: Any) -> Row:
    """``row`` with another figure, in verdict and log alike."""
    return forged(row, outputs=[replace(row.verdict.outputs[0], **changes)])


# KR101: a row needs a verdict.


def test_a_row_written_by_hand_is_refused(good: Example, row: Row) -> None:
    mine = make_row(catalog.built_in()[GEMM], {"M": 4096, "K": 1024, "N": 1024}, "drain")
    good.write({mine.id.record_path: canonical.encode(mine.record)})
    good.render()
    (one,) = good.findings()
    assert one["rule"] == "KR101"
    assert "M=4096,K=1024,N=1024 --variant drain" in one["fix"]


def test_a_deleted_verdict_is_found(good: Example, row: Row) -> None:
    good.path(row.artifact).unlink()
    assert good.rules() == {"KR101", "KR106"}


def test_a_verdict_that_was_not_staged_is_found(good: Example, row: Row) -> None:
    mine = make_row(catalog.built_in()[GEMM], {"M": 4096, "K": 1024, "N": 1024}, "drain")
    good.add(mine)
    good.render()
    good.git("add", "records", "details", "supported_kernels.md")
    assert good.rules("--staged") == {"KR101"}
    assert good.findings() == []


def test_a_verdict_that_cannot_be_read_is_no_verdict(good: Example, row: Row) -> None:
    good.write({row.artifact: "{}\n"})
    assert {"KR101", "KR004"} <= good.rules()


# KR102: of the same thing.


def test_the_verdict_of_another_row_is_refused(good: Example, row: Row, other: Row) -> None:
    link = replace(row.record.verdict, artifact=other.artifact)
    good.write({row.id.record_path: canonical.encode(replace(row.record, verdict=link))})
    good.render()
    assert good.rules() == {"KR102"}


def test_a_copied_verdict_of_another_shape_is_refused(good: Example, row: Row, other: Row) -> None:
    for name, data in other.evidence().items():
        good.write({name.replace(str(other.id), str(row.id)): data})
    digest = other.record.verdict.sha256
    artifact = other.artifact.replace(str(other.id), str(row.id))
    link = replace(row.record.verdict, artifact=artifact, sha256=digest)
    good.write({row.id.record_path: canonical.encode(replace(row.record, verdict=link))})
    good.render()
    found = good.findings()
    assert ids(found) == {"KR102"}
    assert {one["path"] for one in found} == {row.id.record_path, artifact}


@pytest.mark.parametrize(
    "changes",
    [
        {"tile": {"tile_m": 64, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 64}},
        {"herd": [4, 8], "tiles_in_flight": 32},
        {"precision": "low"},
    ],
)
def test_a_row_that_says_another_configuration_is_refused(
    good: Example, row: Row, changes: dict[str, Any]
) -> None:
    good.write({row.id.record_path: canonical.encode(replace(row.record, **changes))})
    assert "KR102" in good.rules()


def test_a_verdict_in_the_folder_of_another_row_is_refused(
    good: Example, row: Row, other: Row
) -> None:
    for name, data in row.evidence().items():
        good.write({name.replace(str(row.id), str(other.id)): data})
    (one,) = good.findings()
    assert one["rule"] == "KR102"
    assert str(row.id) in one["message"]


def test_a_run_with_the_name_of_another_is_refused(good: Example, row: Row) -> None:
    renamed = row.artifact.replace("20260101", "20260102")
    good.git("mv", row.artifact, renamed)
    link = replace(row.record.verdict, artifact=renamed)
    good.write({row.id.record_path: canonical.encode(replace(row.record, verdict=link))})
    assert "KR102" in good.rules()


def test_a_command_that_ran_something_else_is_refused(good: Example, row: Row) -> None:
    command = [word.replace("M=2048", "M=1024") for word in row.verdict.attempts[0].command]
    put(good, with_run(row, command=command))
    assert "KR102" in good.rules()


def test_a_log_of_another_target_is_refused(good: Example, row: Row) -> None:
    log = row.log.replace(b"Detected NPU device: npu2-emu", b"Detected NPU device: npu2")
    put(good, sealed(dataclasses.replace(row, log=log)))
    assert "KR102" in good.rules()


# KR103: that passed.


def test_a_failing_verdict_makes_no_row(good: Example, row: Row) -> None:
    run = replace(row.verdict.attempts[-1], status="fail", exit_status=255)
    failed = replace(row.verdict, status="fail", reason="one element", attempts=[run])
    log = row.log.replace(b"PASS!", b"failed.")
    mine = sealed(dataclasses.replace(row, verdict=failed, log=log))
    data = canonical.encode(mine.verdict)
    link = replace(row.record.verdict, artifact=mine.artifact, status="fail")
    shutil.rmtree(good.path(row.id.verdict_folder))
    good.write({**mine.evidence(), row.id.record_path: b""})
    link = replace(link, sha256=hashlib.sha256(data).hexdigest())
    good.write({row.id.record_path: canonical.encode(replace(row.record, verdict=link))})
    good.commit("Forge")
    good.render()
    found = good.findings()
    assert ids(found) == {"KR103"}
    assert any("one element" in one["message"] for one in found)


@pytest.mark.parametrize(
    "changes",
    [
        {"exit_status": 255},
        {"exit_status": None},
        {"timed_out": True},
        {"status": "fail"},
        {"command": ["python3", "-m", "registry_tool.emulator", "--inject", "zeros"]},
        {"command": ["python3", "-m", "registry_tool.emulator", "--inject=zeros"]},
    ],
)
def test_a_pass_that_its_own_run_contradicts_is_refused(
    good: Example, row: Row, changes: dict[str, Any]
) -> None:
    put(good, with_run(row, **changes))
    assert "KR103" in good.rules()


def second(output: Output) -> Output:
    return replace(output, index=1)


@pytest.mark.parametrize("outputs", ["none", "extra", "elements", "not finite"])
def test_a_pass_without_all_its_outputs_is_refused(good: Example, row: Row, outputs: str) -> None:
    (only,) = row.verdict.outputs
    wrong: dict[str, list[Output]] = {
        "none": [],
        "extra": [only, second(only)],
        "elements": [replace(only, elements=100)],
    }
    if outputs == "not finite":
        mine = sealed(
            dataclasses.replace(
                row, verdict=replace(row.verdict, outputs=[replace(only, max_abs=None)])
            )
        )
    else:
        mine = forged(row, outputs=wrong[outputs])
    put(good, mine)
    assert "KR103" in good.rules()


def test_a_pass_with_a_reason_why_it_is_none_is_refused(good: Example, row: Row) -> None:
    put(good, forged(row, reason="14 of 262144 elements differ"))
    assert "KR103" in good.rules()


@pytest.mark.parametrize("kind", ["diagnosis", "imported"])
def test_no_other_kind_is_a_way_around_the_figures(good: Example, row: Row, kind: str) -> None:
    verdict = replace(row.verdict, kind=kind)
    put(good, sealed(dataclasses.replace(row, verdict=verdict)))
    assert "KR103" in good.rules()


def test_a_diagnosis_without_its_layers_is_refused(good: Example, row: Row) -> None:
    verdict = replace(row.verdict, kind="diagnosis", outputs=[])
    put(good, sealed(dataclasses.replace(row, verdict=verdict)))
    assert "KR105" in good.rules()


def test_a_run_without_a_run_is_refused(good: Example, row: Row) -> None:
    good.add(row)
    verdict = replace(row.verdict, attempts=[])
    data = canonical.encode(verdict)
    good.write({row.artifact: data})
    link = replace(row.record.verdict, sha256=hashlib.sha256(data).hexdigest())
    good.write({row.id.record_path: canonical.encode(replace(row.record, verdict=link))})
    assert "KR103" in good.rules()


def test_a_newer_run_that_failed_warns(good: Example, row: Row) -> None:
    started = "2026-02-01T00:00:00Z"
    run = replace(row.verdict.attempts[-1], status="fail", exit_status=255, started=started)
    failed = replace(row.verdict, status="fail", reason="one element", attempts=[run])
    log = row.log.replace(b"PASS!", b"failed.")
    good.write(sealed(dataclasses.replace(row, verdict=failed, log=log)).evidence())
    found = good.findings()
    assert ids(found) == set()
    assert ids(found, "warning") == {"KR103"}


def test_an_older_run_that_failed_is_only_history(good: Example, row: Row) -> None:
    run = replace(
        row.verdict.attempts[-1], status="fail", exit_status=255, started="2025-01-01T00:00:00Z"
    )
    # Of another version of the sources: what was mended since is not held against the row.
    failed = replace(
        row.verdict, status="fail", reason="one element", attempts=[run], sources={"a.py": "0" * 64}
    )
    log = row.log.replace(b"PASS!", b"failed.")
    good.write(sealed(dataclasses.replace(row, verdict=failed, log=log)).evidence())
    assert good.findings() == []


# KR104: at the page's tolerance.


def test_a_looser_gate_is_refused(good: Example, row: Row) -> None:
    put(good, forged(row, gate=replace(row.verdict.gate, atol=0.01)))
    assert good.rules() >= {"KR104"}


def test_a_looser_tolerance_that_the_harness_printed_is_refused(good: Example, row: Row) -> None:
    put(good, with_output(row, rtol=0.05))
    assert "KR104" in good.rules()


def test_a_tighter_gate_is_fine(good: Example, row: Row) -> None:
    mine = forged(
        row,
        gate=replace(row.verdict.gate, atol=0.001),
        outputs=[replace(row.verdict.outputs[0], atol=0.001)],
    )
    put(good, mine)
    good.commit("Verify again")
    assert good.findings("--ref", "HEAD") == []


# KR105: with the same numbers everywhere.


@pytest.mark.parametrize("field", ["mean_rel_L1", "max_abs", "max_rel"])
def test_an_edited_number_in_a_row_is_found(good: Example, row: Row, field: str) -> None:
    better = replace(row.record, **{field: getattr(row.record, field) / 2})
    good.write({row.id.record_path: canonical.encode(better)})
    good.render()
    found = good.findings()
    assert ids(found) == {"KR105", "KR601"}
    one = found[0]
    assert one["pointer"] == f"/{field}"
    assert f'"{field}"' in good.path(row.id.record_path).read_text().splitlines()[one["line"] - 1]


def test_an_edited_number_in_row_and_verdict_is_found(good: Example, row: Row) -> None:
    better = replace(row.verdict, outputs=[replace(row.verdict.outputs[0], max_abs=1e-4)])
    mine = sealed(dataclasses.replace(row, verdict=better))
    put(good, mine)
    found = good.findings()
    assert ids(found) == {"KR105"}
    assert any("max_abs" in one["message"] for one in found)


def test_an_edited_verdict_is_found_by_its_digests(good: Example, row: Row) -> None:
    good.edit(row.artifact, '"seconds": 1.5', '"seconds": 0.5')
    found = good.findings()
    assert ids(found) == {"KR105", "KR106"}
    assert any("SHA-256" in one["message"] for one in found)
    assert any("run id" in one["message"] for one in found)


def test_an_edited_verdict_with_a_new_digest_in_the_row_is_found(good: Example, row: Row) -> None:
    verdict = replace(row.verdict, tool_version="9.9.9")
    put(good, dataclasses.replace(row, verdict=verdict))
    assert good.rules() == {"KR105", "KR106"}


def test_an_edited_log_is_found(good: Example, row: Row) -> None:
    name = f"{row.id.verdict_folder}/{row.verdict.run_id}.log"
    good.edit(name, "abs_err max=8.240e-04", "abs_err max=1.000e-04")
    found = good.findings()
    assert ids(found) == {"KR105", "KR106"}
    assert {one["path"] for one in found} == {name}


def test_an_edited_log_with_new_digests_everywhere_is_found(good: Example, row: Row) -> None:
    log = row.log.replace(b"mean_rel_L1=9.", b"mean_rel_L1=8.")
    assert log != row.log
    put(good, sealed(dataclasses.replace(row, log=log)))
    assert good.rules() == {"KR105"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"PASS!\n", b"failed.\n"),
        (b"PASS!\n", b"PASS! or not\n"),
        (b"PASS!\n", b"failed.\nPASS!\n"),
        (b"zero_share=9.570e-01", b"zero_share=0.000e+00"),
        (b"[precision]", b"Mismatches: 3 / 2097152 elements (0.00%)\n[precision]"),
        (b"elements)", b"element)"),
    ],
)
def test_a_log_that_does_not_read_back_is_found(
    good: Example, row: Row, old: bytes, new: bytes
) -> None:
    assert old in row.log
    put(good, sealed(dataclasses.replace(row, log=row.log.replace(old, new))))
    assert "KR105" in good.rules()


def test_standard_error_that_speaks_against_the_run_is_found(good: Example, row: Row) -> None:
    put(good, sealed(dataclasses.replace(row, err=b"Segmentation fault (core dumped)\n")))
    assert "KR105" in good.rules()


def test_a_deleted_log_is_found(good: Example, row: Row) -> None:
    good.path(f"{row.id.verdict_folder}/{row.verdict.run_id}.log").unlink()
    assert good.rules() == {"KR105", "KR106"}


def test_an_excerpt_of_a_small_log_is_refused(good: Example, row: Row) -> None:
    run = row.verdict.attempts[-1]
    excerpt = replace(run.log, sha256="0" * 64, excerpt_sha256=run.log.sha256)
    verdict = replace(row.verdict, attempts=[replace(run, log=excerpt)])
    name = run_id(verdict)
    text = canonical.encode(verdict).replace(verdict.run_id.encode(), name.encode())
    folder = row.id.verdict_folder
    good.write(
        {
            f"{folder}/{name}.json": text,
            f"{folder}/{name}.log": row.log,
            f"{folder}/{name}.err": b"",
        }
    )
    found = [one for one in good.findings() if name in one["path"]]
    assert ids(found) == {"KR105"}
    assert "excerpt" in found[0]["message"]


def test_a_log_with_other_line_ends_is_found(good: Example, row: Row) -> None:
    name = f"{row.id.verdict_folder}/{row.verdict.run_id}.log"
    good.write({name: row.log.replace(b"\n", b"\r\n")})
    assert "KR105" in good.rules()


def test_an_edited_speed_is_found(good: Example, row: Row) -> None:
    mine = make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2")
    good.add(mine)
    good.render()
    assert good.findings() == []
    faster = Performance(latency_us=400.0, gflops=10737.0, gbps=None, spread=None)
    good.write({mine.id.record_path: canonical.encode(replace(mine.record, performance=faster))})
    good.render()
    found = [one for one in good.findings() if one["rule"] == "KR105"]
    assert [one["pointer"] for one in found] == ["/performance"]


# KR106: that nobody touched since.


def test_a_verdict_replaced_by_a_better_forgery_is_found(good: Example, row: Row) -> None:
    verdict = replace(row.verdict, sources={"x.py": "0" * 64})
    mine = sealed(dataclasses.replace(row, verdict=verdict))
    # Under the old name, with every digest recomputed.
    renamed = replace(mine.verdict, run_id=row.verdict.run_id)
    put(good, dataclasses.replace(mine, verdict=renamed))
    assert "KR106" in good.rules()


def test_a_new_run_beside_the_old_one_is_fine(good: Example, row: Row) -> None:
    run = replace(row.verdict.attempts[-1], started="2026-02-01T00:00:00Z")
    mine = sealed(dataclasses.replace(row, verdict=replace(row.verdict, attempts=[run])))
    good.write(mine.files())
    assert good.findings() == []


def test_a_verdict_that_no_row_cites_may_go(good: Example, row: Row) -> None:
    good.path(row.id.record_path).unlink()
    shutil.rmtree(good.path(row.id.verdict_folder))
    good.render()
    assert good.findings() == []


def test_taking_an_edit_back_is_fine(good: Example, row: Row) -> None:
    original = good.path(row.artifact).read_bytes()
    good.edit(row.artifact, '"seconds": 1.5', '"seconds": 0.5')
    good.commit("Slipped through")
    assert "KR106" in good.rules("--ref", "HEAD")
    good.write({row.artifact: original})
    assert good.findings() == []
    good.commit("Take it back")
    assert good.findings("--ref", "HEAD") == []


# KR107: on the device that it names.


def test_a_row_relabelled_as_hardware_is_refused(good: Example, row: Row) -> None:
    """Everything a relabelling needs: records, verdicts, subject, log, digests, tables."""
    subject = replace(row.verdict.subject, target="npu2")
    verdict = replace(row.verdict, subject=subject)
    log = row.log.replace(b"npu2-emu", b"npu2")
    identity = dataclasses.replace(row.id, target="npu2")
    mine = sealed(dataclasses.replace(row, id=identity, verdict=verdict, log=log))
    for name in (row.id.record_path, *row.evidence()):
        good.path(name).unlink()
    put(good, mine)
    found = good.findings()
    assert "KR107" in ids(found)
    marks = " ".join(one["message"] for one in found if one["rule"] == "KR107")
    assert "registry_tool.emulator" in marks
    assert "npu2-emu" in marks
    assert "Emulated target" in marks


def test_a_target_that_turns_into_hardware_is_refused(good: Example, row: Row) -> None:
    good.edit("registry.yaml", "kind: emulated", "kind: hardware")
    good.render()
    assert {"KR107", "KR110"} <= good.rules()


def test_a_speed_on_an_emulated_target_is_refused(good: Example, row: Row) -> None:
    speed = Performance(latency_us=100.0, gflops=9999.0, gbps=None, spread=None)
    put(good, forged(row, performance=speed))
    assert "KR107" in good.rules()


def test_an_imported_pass_is_refused_on_hardware(good: Example) -> None:
    mine = make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2")
    put(good, sealed(dataclasses.replace(mine, verdict=replace(mine.verdict, kind="imported"))))
    assert "KR107" in good.rules()


# KR108: inside the band.


@pytest.mark.parametrize(("factor", "side"), [(0.1, "too good"), (10.0, "too far off")])
def test_an_accuracy_outside_the_band_is_refused(
    good: Example, row: Row, factor: float, side: str
) -> None:
    value = float(f"{row.verdict.outputs[0].mean_rel_L1 * factor:.3e}")
    mine = with_output(row, mean_rel_L1=value)
    # Judged by a band of the forger's own.
    wide = replace(mine.verdict.gate, band=Band(low=0.0, high=1.0))
    put(good, forged(mine, gate=wide))
    found = good.findings()
    assert "KR108" in ids(found)
    assert any(side in one["message"] for one in found)


@pytest.mark.parametrize("band", [Band(low=0.0, high=1.0), None])
def test_a_new_run_judged_by_a_band_of_its_own_is_refused_once(
    good: Example, row: Row, band: Band | None
) -> None:
    put(good, forged(row, gate=replace(row.verdict.gate, band=band, band_reason=None)))
    (one,) = good.findings()
    assert (one["rule"], one["severity"], one["pointer"]) == ("KR108", "error", "/gate/band")


def test_an_old_run_judged_by_a_wider_band_only_warns(good: Example, row: Row) -> None:
    put(good, forged(row, gate=replace(row.verdict.gate, band=Band(low=0.0, high=1.0))))
    good.commit("An older page had a wider band")
    found = good.findings()
    assert (ids(found), ids(found, "warning")) == (set(), {"KR108"})
    good.edit(row.id.record_path, '"notes": []', '"notes": [\n    "a remark"\n  ]')
    good.render()
    assert good.rules() == set()


# KR109: by a gate that sees.

BLIND = """\
schema_version: 1
kernel: Copy
title: Copy
summary: Copies N elements.
source: this test
dims: [N]
shape_text: "{N}"
bound: memory
metric: gbps
tile: {}
herd:
  herd_x: {label: x, choices: [8]}
default_herd: [8]
tiles_target: 8
variants: {}
preference: []
constraints:
  - {id: divides, when: null, holds: N % 8 == 0, kind: hard, reason: eight columns}
known_bad: []
tolerances:
  any: {rtol: 1.6e-2, atol: 1.0e-1}
band: []
work: {flops: null, bytes: 4 * N}
outputs:
  - {name: y, elements: N}
order: [N]
columns:
  - {title: N, cell: shape}
  - {title: Status, cell: status}
emulator: copy.py:copy
"""


def own_kernel(good: Example, text: str = BLIND, share: float = 0.957) -> Row:
    """A registry's own kernel with one row, committed but for the row."""
    good.write({"kernels/Copy.yaml": text})
    good.render()
    good.commit("Add Copy")
    spec = catalog.parse_spec(text.encode(), "kernels/Copy.yaml", {})
    good.write({"kernels/copy.py": "def copy(case): ...\n"})
    mine = make_row(replace(spec, emulator="elementwise:copy"), {"N": 1024})
    command = [word.replace("elementwise:copy", "kernels/copy.py:copy")
               for word in mine.verdict.attempts[0].command]  # fmt: skip
    mine = with_run(mine, command=command)
    return forged(mine, gate=replace(mine.verdict.gate, zero_share=share))


def test_a_gate_that_zeros_would_pass_is_refused_without_a_band(good: Example) -> None:
    put(good, own_kernel(good, share=0.0))
    assert good.rules() == {"KR109"}


def test_a_band_backs_a_blind_gate(good: Example) -> None:
    band = "band:\n  - {when: null, low: '0.0', high: '0.002', source: none}"
    put(good, own_kernel(good, BLIND.replace("band: []", band), share=0.0))
    assert good.findings() == []


def test_a_gate_that_sees_zeros_needs_no_band(good: Example) -> None:
    put(good, own_kernel(good))
    assert good.findings() == []


# KR110: by a measure that was not changed to fit.


def override(text: str) -> dict[str, str]:
    return {f"kernels/{GEMM}.yaml": f"schema_version: 1\nkernel: {GEMM}\n{text}"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tolerances:\n  high: {rtol: 0.1, atol: 0.0015}\n  low: {rtol: 0.016, atol: 0.004}\n",
         "rtol of the tier high"),
        ("tiles_target: 8\n", "tiles_target was 32"),
        ("constraints: []\n", "hard constraint"),
        ("known_bad: []\n", "known-bad tiling"),
        ("band:\n  - {when: null, low: '0.0', high: '0.5', source: me}\n", "the band was"),
        ("band: []\n", "is gone"),
        ("work: {flops: M * K * N, bytes: null}\n", "flops"),
        ("outputs:\n  - {name: C, elements: M}\n", "elements of C"),
        ("emulator: mine.py:gemm\n", "emulator was"),
        ("herd:\n  herd_m: {label: m, choices: [1]}\n  herd_n: {label: n, choices: [1]}\n",
         "may not be"),
    ],
)  # fmt: skip
def test_an_override_that_loosens_a_built_in_page_is_refused(
    good: Example, text: str, words: str
) -> None:
    good.write(override(text))
    found = [one for one in good.findings() if one["rule"] == "KR110"]
    assert any(words in one["message"] for one in found)
    good.commit("Loosen")
    assert "KR110" in good.rules()


def test_a_new_tier_is_no_way_around_the_tolerance(good: Example) -> None:
    page = catalog.built_in()[GEMM]
    variants = "".join(
        f"  {name}: {{precision: {variant.precision}, summary: x}}\n"
        for name, variant in page.variants.items()
    )
    loose = "  mine: {precision: null, summary: mine}\n"
    tolerances = (
        "tolerances:\n  high: {rtol: 0.016, atol: 0.0015}\n  low: {rtol: 0.016, atol: 0.004}\n"
        "  any: {rtol: 1.0, atol: 1.0}\n"
    )
    good.write(override(f"variants:\n{variants}{loose}{tolerances}"))
    messages = [one["message"] for one in good.findings() if one["rule"] == "KR110"]
    assert any("variant mine is new" in words for words in messages)


def test_an_override_that_tightens_is_fine(good: Example, row: Row) -> None:
    low = "low: {rtol: 0.01, atol: 0.004}"
    good.write(override(f"tolerances:\n  high: {{rtol: 0.016, atol: 0.0015}}\n  {low}\n"))
    assert good.findings() == []


def test_a_row_that_needs_a_loosened_page_of_the_registrys_own_is_refused(good: Example) -> None:
    mine = own_kernel(good)
    loose = BLIND.replace("atol: 1.0e-1", "atol: 1.0")
    spec = catalog.parse_spec(loose.encode(), "kernels/Copy.yaml", {})
    assert spec.tolerances["any"].atol == 1.0
    gate = replace(mine.verdict.gate, atol=1.0)
    needy = forged(mine, gate=gate, outputs=[replace(mine.verdict.outputs[0], atol=1.0)])
    put(good, needy)
    assert good.rules() == {"KR104"}
    good.write({"kernels/Copy.yaml": loose})
    good.render()
    found = good.findings()
    assert ids(found) == {"KR110"}
    (one,) = found
    assert one["path"] == needy.id.record_path
    assert "atol" in one["message"]
    good.git("add", "-A")
    assert good.rules("--staged") == {"KR110"}


def test_loosening_a_page_of_the_registrys_own_by_itself_only_warns(good: Example) -> None:
    put(good, own_kernel(good))
    good.commit("Verify")
    good.write({"kernels/Copy.yaml": BLIND.replace("atol: 1.0e-1", "atol: 1.0")})
    found = good.findings()
    assert ids(found) == set()
    assert ids(found, "warning") == {"KR110"}


def test_dropping_a_tighter_override_in_the_change_that_needs_it_is_refused(
    good: Example, row: Row
) -> None:
    tight = "tolerances:\n  high: {rtol: 0.016, atol: 0.0005}\n  low: {rtol: 0.016, atol: 0.004}\n"
    for name in (row.id.record_path, *row.evidence()):
        good.path(name).unlink()
    shutil.rmtree(good.path("records"))
    shutil.rmtree(good.path("verdicts"))
    good.write(override(tight))
    good.render()
    good.commit("Tighten")
    good.path(f"kernels/{GEMM}.yaml").unlink()
    good.add(row)
    good.render()
    found = good.findings()
    assert ids(found) == {"KR110"}
    assert found[0]["path"] == row.id.record_path
