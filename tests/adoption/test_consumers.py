"""Who asks the registry today gets the same answers tomorrow: from upstream's files, and imported.

`upstream_says` reads the two JSON files the plain way; everything else is compared with it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool import registry_lookup
from registry_tool.baseline import digests
from registry_tool.records import canonical, catalog
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.registry_lookup import CAVEATS, Lookup, NotVerifiedError
from registry_tool.tables import columns, details, shim
from registry_tool.tables.rows import rows
from tests.adoption import public
from tests.shared_data import shared
from tests.tables.samples import by_id, record

Shape = tuple[int, int, int]

KERNELS = {"bf16": "GEMM_bf16_in_bf16_out", "f32": "GEMM_bf16_in_fp32_out"}
METHODS = ("fused-cast", "drain", "direct", "external")
TIERS = ("high", "low")

# What is an exception to "as upstream says", row by row; all of bf16 out.
LOW_ONLY = {(2048, 896, 4864), (2048, 1536, 8960), (2048, 2048, 11008)}
NO_BEST = {(256, 64, 256), (256, 256, 64)}
INHERITED = {
    ((2048, 2560, 2048), "fused-cast"),
    ((2048, 2048, 2560), "fused-cast"),
    ((2048, 10240, 2560), "fused-cast"),
}
FAILING = {
    ((64, 32, 720), "drain"),
    ((64, 720, 2048), "drain"),
    ((192, 64, 256), "drain"),
    ((192, 64, 320), "drain"),
    ((192, 256, 64), "drain"),
    ((192, 320, 64), "drain"),
    ((256, 320, 320), "drain"),
    ((1024, 768, 3072), "drain"),
    ((2048, 1024, 3072), "fused-cast"),
}


def upstream() -> Path:
    return shared("upstream_registry")


def document(dtype: str) -> dict[str, Any]:
    text = (upstream() / "details" / f"{KERNELS[dtype]}.json").read_text("utf-8")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def upstream_says(
    page: dict[str, Any], shape: Shape, tier: str | None = None, method: str | None = None
) -> dict[str, Any] | None:
    """A linear search for the best method of a tier, or for a method; None where there is none."""
    for entry in page["shapes"]:
        if (entry["M"], entry["K"], entry["N"]) == shape:
            name = method if tier is None else entry.get("best", {}).get(tier)
            if name not in entry["methods"]:
                return None
            row = entry["methods"][name]
            said = {key: row[key] for key in ("tile", "gflops", "mean_rel_L1")}
            herd = {"herd": row["herd"]} if "herd" in row else {}
            return {"method": name, **said, **herd}
    return None


def shapes(page: dict[str, Any]) -> list[Shape]:
    return [(entry["M"], entry["K"], entry["N"]) for entry in page["shapes"]]


def spec_of(dtype: str) -> KernelSpec:
    return catalog.built_in()[KERNELS[dtype]]


def imported_records(dtype: str) -> Iterator[Record]:
    """Every method of the JSON as a row that was imported, with its notes a sentence each."""
    spec = spec_of(dtype)
    page = document(dtype)
    for entry in page["shapes"]:
        for name, method in entry["methods"].items():
            notes = [entry.get("_note", ""), method.get("_note", "")]
            sentences = [one for note in notes for one in re.split(r"(?<=[.;])\s+", note) if one]
            shape = (entry["M"], entry["K"], entry["N"])
            speed = None if method["gflops"] is None else float(method["gflops"])
            one = record(
                spec,
                shape,
                name,
                speed,
                herd=method.get("herd"),
                mean_rel_L1=method["mean_rel_L1"],
                kind="imported",
                status="unverified",
                notes=sentences,
            )
            yield replace(one, tile=method["tile"])


def rendered(dtype: str) -> dict[str, Any]:
    spec = spec_of(dtype)
    made = rows(spec, "hardware", imported_records(dtype))
    parsed: dict[str, Any] = json.loads(details.encode(spec, "npu2", "hardware", made))
    return parsed


@cache
def adopted() -> dict[str, list[Record]]:
    """The whole registry as `import` makes records of it, pages and index included; by kernel."""
    specs = catalog.built_in()
    found: dict[str, list[Record]] = {kernel: [] for kernel in specs}
    for one in public.made():
        found[one.record.kernel].append(one.record)
    return found


def adopted_document(kernel: str) -> dict[str, Any]:
    spec = catalog.built_in()[kernel]
    made = rows(spec, "hardware", adopted()[kernel])
    parsed: dict[str, Any] = json.loads(details.encode(spec, "npu2", "hardware", made))
    return parsed


class Source:
    """A lookup to ask, and what its rows are marked as."""

    def __init__(self, name: str) -> None:
        self.mark = "hand-kept" if name == "upstream's own files" else "imported"
        if name == "upstream's own files":
            self.lookup = Lookup(upstream())
        elif name == "records of the JSON":
            pages = {kernel: rendered(dtype) for dtype, kernel in KERNELS.items()}
            self.lookup = Lookup.of_documents(pages)
        else:
            self.lookup = Lookup.of_documents({name: adopted_document(name) for name in adopted()})


@pytest.fixture(
    scope="module", params=["upstream's own files", "records of the JSON", "imported registry"]
)
def source(request: pytest.FixtureRequest) -> Source:
    upstream()
    return Source(request.param)


@pytest.fixture(autouse=True)
def no_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(registry_lookup.STRICT, raising=False)
    monkeypatch.delenv(registry_lookup.ENVIRONMENT, raising=False)


def caveats(dtype: str, shape: Shape, method: str) -> tuple[str, ...]:
    holds = {
        "inherited": (shape, method) in INHERITED,
        "failing": (shape, method) in FAILING,
        "untimed": shape in NO_BEST,
    }
    return tuple(name for name in CAVEATS if dtype == "bf16" and holds.get(name))


def require_same(
    answer: dict[str, Any], expected: dict[str, Any], dtype: str, shape: Shape, mark: str
) -> None:
    answer = dict(answer)
    assert answer.pop("verified") is False
    assert answer.pop("source") == mark
    assert tuple(answer.pop("caveats", ())) == caveats(dtype, shape, expected["method"])
    if mark == "imported" and expected.get("herd") == spec_of(dtype).default_herd:
        expected = {key: value for key, value in expected.items() if key != "herd"}
    assert answer == expected


@pytest.mark.parametrize("dtype", KERNELS)
def test_every_shape_and_tier_answers_as_upstreams_data_say(source: Source, dtype: str) -> None:
    page = document(dtype)
    refused = set()
    for shape in shapes(page):
        for tier in TIERS:
            expected = upstream_says(page, shape, tier)
            if expected is None:
                with pytest.raises(NotVerifiedError):
                    source.lookup.gemm_config(*shape, dtype, tier)
                refused.add((shape, tier))
            else:
                answer = source.lookup.gemm_config(*shape, dtype, tier)
                require_same(answer, expected, dtype, shape, source.mark)
                assert answer["gflops"] is not None
    high = {shape for shape, tier in refused if tier == "high"}
    assert high == (LOW_ONLY | NO_BEST if dtype == "bf16" else set())


@pytest.mark.parametrize("dtype", KERNELS)
def test_every_shape_and_method_answers_as_upstreams_data_say(source: Source, dtype: str) -> None:
    page = document(dtype)
    answered = 0
    for shape in shapes(page):
        for method in METHODS:
            for tier in TIERS:
                expected = upstream_says(page, shape, method=method)
                if expected is None:
                    with pytest.raises(KeyError):
                        source.lookup.gemm_config_method(*shape, dtype, method, tier)
                else:
                    answer = source.lookup.gemm_config_method(*shape, dtype, method, tier)
                    require_same(answer, expected, dtype, shape, source.mark)
                    answered += 1
    assert answered == 2 * sum(len(entry["methods"]) for entry in page["shapes"])


@pytest.mark.parametrize("made", [rendered, lambda dtype: adopted_document(KERNELS[dtype])])
@pytest.mark.parametrize("dtype", KERNELS)
def test_who_reads_the_generated_json_in_the_old_way_gets_the_old_answers(
    dtype: str, made: Callable[[str], dict[str, Any]]
) -> None:
    old, new = document(dtype), made(dtype)
    assert sorted(shapes(new)) == sorted(shapes(old))
    for shape in shapes(old):
        for asked in [*[(tier, None) for tier in TIERS], *[(None, name) for name in METHODS]]:
            before = upstream_says(old, shape, *asked)
            after = upstream_says(new, shape, *asked)
            if before is not None and before.get("herd") == new["herd"]:
                del before["herd"]
            assert after == before


def test_the_same_lookup_answers_for_every_kernel_of_the_registry() -> None:
    lookup = Source("imported registry").lookup
    answered = 0
    for kernel, held in adopted().items():
        spec = catalog.built_in()[kernel]
        for one in held:
            shape = tuple(one.shape.values())
            answer = lookup.kernel_config(kernel, shape, one.variant)
            assert answer["tile"] == one.tile
            assert answer.get("herd", spec.default_herd) == one.herd
            assert answer["mean_rel_L1"] == one.mean_rel_L1
            assert answer[spec.metric] == columns.throughput(one, spec, "hardware")
            assert (answer["verified"], answer["source"]) == (False, "imported")
            with pytest.raises(NotVerifiedError, match="next: registry-tool verify"):
                lookup.kernel_config(kernel, shape, one.variant, strict=True)
            if one.variant is None and spec.lookup is not None:
                assert answer[spec.metric] is not None
                assert getattr(lookup, spec.lookup)(*shape) == answer
            answered += 1
    assert answered == sum(map(len, adopted().values())) > 200


def test_every_imported_row_on_disk_is_fresh_and_answers(tmp_path: Path) -> None:
    (tmp_path / "details").mkdir()
    for kernel, held in adopted().items():
        text = json.dumps(adopted_document(kernel))
        (tmp_path / "details" / f"{kernel}.json").write_text(text, "utf-8")
        for name, one in by_id(held).items():
            path = tmp_path / name.record_path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(canonical.encode(one))
    on_disk, parsed = Lookup(tmp_path), Source("imported registry").lookup
    for kernel, held in adopted().items():
        for one in held:
            asked = kernel, tuple(one.shape.values()), one.variant
            assert on_disk.kernel_config(*asked) == parsed.kernel_config(*asked)


def test_only_rows_that_say_so_are_marked_beyond_being_imported() -> None:
    for kernel in adopted():
        if kernel != KERNELS["bf16"]:
            for entry in adopted_document(kernel)["shapes"]:
                assert all("caveats" not in method for method in entry["methods"].values())


def test_the_shapes_with_only_a_low_tier_say_so(source: Source) -> None:
    for shape in LOW_ONLY:
        with pytest.raises(NotVerifiedError) as caught:
            source.lookup.gemm_config(*shape)
        assert "no best method of tier 'high'" in str(caught.value)
        assert "there is only tier low" in str(caught.value)
        assert "direct (tier low)" in str(caught.value)
        assert source.lookup.gemm_config(*shape, precision="low")["method"] == "direct"


def test_the_shapes_without_a_best_say_why_and_answer_by_name(source: Source) -> None:
    for shape in NO_BEST:
        with pytest.raises(NotVerifiedError) as caught:
            source.lookup.gemm_config(*shape)
        assert "drain (tier high) was never timed; ask for it by its name" in str(caught.value)
        assert "registry-tool verify" in str(caught.value)
        answer = source.lookup.gemm_config_method(*shape, "bf16", "drain")
        assert answer["gflops"] is None
        assert answer["mean_rel_L1"] < 0.01


def test_an_unmeasured_shape_raises_and_never_guesses(source: Source) -> None:
    for dtype in KERNELS:
        known = set(shapes(document(dtype)))
        for m, k, n in known:
            for near in [(m + 1, k, n), (m, k - 1, n), (m, k, n * 2 + 1), (n, k, m), (k, m, n)]:
                if near not in known:
                    with pytest.raises(NotVerifiedError, match="nearest: "):
                        source.lookup.gemm_config(*near, dtype)
                    with pytest.raises(NotVerifiedError):
                        source.lookup.gemm_config_method(*near, dtype, "direct")


def test_unknown_names_say_what_there_is(source: Source) -> None:
    ask = source.lookup
    shape = (2048, 2048, 2048)
    with pytest.raises(ValueError, match="output_dtype must be one of bf16, f32, got 'fp8'"):
        ask.gemm_config(*shape, "fp8")
    # Both kinds: callers that catch upstream's KeyError are not surprised by a ValueError.
    for error in (ValueError, KeyError):
        with pytest.raises(error, match="precision must be one of high, low, got 'medium'"):
            ask.gemm_config(*shape, precision="medium")
        with pytest.raises(error, match=r"has the methods .*drain.*; not 'magic'"):
            ask.gemm_config_method(*shape, "bf16", "magic")
        with pytest.raises(error, match=r"has the methods .*external.*; not 'drain'"):
            ask.gemm_config_method(*shape, "f32", "drain")
    with pytest.raises(KeyError, match="are: direct"):
        ask.gemm_config_method(2048, 896, 4864, "bf16", "drain")
    with pytest.raises(KeyError, match="there is only tier high"):
        ask.gemm_config(*shape, "f32", "low")


def outcomes(lookup: Lookup, strict: object) -> dict[tuple[Shape, str], bool]:
    """Whether each method of bf16 out is answered."""
    found = {}
    for entry in document("bf16")["shapes"]:
        shape = (entry["M"], entry["K"], entry["N"])
        for name in entry["methods"]:
            try:
                lookup.gemm_config_method(*shape, "bf16", name, strict=strict)  # type: ignore[arg-type]
            except NotVerifiedError:
                found[shape, name] = False
            else:
                found[shape, name] = True
    return found


def test_strict_policies_refuse_what_they_say(source: Source) -> None:
    assert all(outcomes(source.lookup, None).values())
    assert all(outcomes(source.lookup, False).values())
    sound = outcomes(source.lookup, "sound")
    refused = {row for row, answered in sound.items() if not answered}
    assert refused == INHERITED | FAILING | {(shape, "drain") for shape in NO_BEST}
    for strict in (True, "verified"):
        assert not any(outcomes(source.lookup, strict).values())
    with pytest.raises(
        ValueError, match=r"strict .* is True, False or one of any, sound, verified"
    ):
        source.lookup.gemm_config(2048, 2048, 2048, strict="very")


def test_no_edit_of_what_people_own_takes_a_caveat_away() -> None:
    kernel = KERNELS["bf16"]
    bare = [replace(one, notes=[], used_by=[]) for one in adopted()[kernel]]
    made = rows(catalog.built_in()[kernel], "hardware", bare)
    page = json.loads(details.encode(catalog.built_in()[kernel], "npu2", "hardware", made))
    sound = outcomes(Lookup.of_documents({kernel: page}), "sound")
    refused = {row for row, answered in sound.items() if not answered}
    assert refused == INHERITED | FAILING | {(shape, "drain") for shape in NO_BEST}


def test_what_an_import_holds_against_a_row_is_in_its_digest() -> None:
    held = {(tuple(one.shape.values()), one.variant): one for one in adopted()[KERNELS["bf16"]]}
    one = held[(1024, 768, 3072), "drain"]
    assert one.provenance["caveats"] == "failing"
    others = {name: text for name, text in one.provenance.items() if name != "caveats"}
    assert digests.of_record(replace(one, notes=[])) == digests.of_record(one)
    assert digests.of_record(replace(one, provenance=others)) != digests.of_record(one)


def test_a_refusal_says_why_what_else_there_is_and_what_to_run(source: Source) -> None:
    with pytest.raises(NotVerifiedError) as caught:
        source.lookup.gemm_config(1024, 768, 3072, strict="sound")
    text = str(caught.value)
    assert f"'drain' is {source.mark} on npu2 and no gated run backs it" in text
    assert CAVEATS["failing"] in text
    assert "but not direct (tier low)" in text
    command = (
        "registry-tool verify --target npu2 --kernel GEMM_bf16_in_bf16_out "
        "--shape M=1024,K=768,N=3072 --variant drain"
    )
    assert command in text
    assert ("registry-tool import" in text) is (source.mark == "hand-kept")


def test_a_refusal_is_not_remembered_as_an_answer_nor_an_answer_as_none(source: Source) -> None:
    shape = (2048, 2048, 2048)
    for _ in range(2):
        assert source.lookup.gemm_config(*shape)["verified"] is False
        with pytest.raises(NotVerifiedError):
            source.lookup.gemm_config(*shape, strict=True)


def test_a_row_that_passed_loses_its_marks_and_answers_the_strict() -> None:
    spec, shape = spec_of("bf16"), (2048, 8192, 2048)
    verified = record(spec, shape, "drain", 7000.0)
    kept = [
        one
        for one in imported_records("bf16")
        if (tuple(one.shape.values()), one.variant) != (shape, "drain")
    ]
    made = rows(spec, "hardware", [*kept, verified])
    page = json.loads(details.encode(spec, "npu2", "hardware", made))
    lookup = Lookup.of_documents({spec.kernel: page})
    strict = lookup.gemm_config(*shape, strict=True)
    assert strict == lookup.gemm_config(*shape)
    assert (strict["method"], strict["gflops"]) == ("drain", 7000.0)
    assert {"verified", "source", "caveats"}.isdisjoint(strict)
    assert lookup.gemm_config_method(*shape, "bf16", "fused-cast")["source"] == "imported"


def dropped(tmp_path: Path) -> Path:
    """The shim beside upstream's own files, as `kernel_registry` of a tree of programs."""
    folder = tmp_path / "kernel_registry"
    folder.mkdir()
    (folder / "registry_lookup.py").write_bytes(shim.source())
    (folder / "details").symlink_to(upstream() / "details")
    return folder


def ask_in_a_process(
    code: str, path: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    start = f"import sys; sys.path.insert(0, {str(path)!r})\n"
    command = [sys.executable, "-I", "-S", "-B", "-c", start + code]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd="/", env=environment or {}
    )


def test_a_caller_of_today_changes_nothing(tmp_path: Path) -> None:
    dropped(tmp_path)
    # As builders do it: the method and named tile sizes, and the herd where one is said.
    done = ask_in_a_process(
        "from kernel_registry.registry_lookup import gemm_config, gemm_config_method\n"
        "cfg = gemm_config(64, 720, 32, 'bf16', 'high')\n"
        "print(cfg['method'], cfg['tile']['tile_k_l1'], tuple(cfg.get('herd', (8, 4))))\n"
        "cfg = gemm_config(2048, 2048, 2048)\n"
        "print(cfg['method'], cfg['tile']['tile_m'], tuple(cfg.get('herd', (8, 4))))\n"
        "cfg = gemm_config_method(2048, 2048, 2048, 'f32', 'direct', 'high')\n"
        "print(cfg['method'])\n"
        "try:\n"
        "    gemm_config(2048, 896, 4864)\n"
        "except KeyError as error:\n"
        "    print('KeyError')\n",
        tmp_path,
    )
    assert done.stderr == ""
    first, second, third, fourth = done.stdout.splitlines()
    page = document("bf16")
    small = upstream_says(page, (64, 720, 32), "high")
    large = upstream_says(page, (2048, 2048, 2048), "high")
    assert small is not None
    assert large is not None
    assert first == f"drain {small['tile']['tile_k_l1']} (4, 1)"
    assert second == f"{large['method']} {large['tile']['tile_m']} (8, 4)"
    assert (third, fourth) == ("direct", "KeyError")


@pytest.mark.parametrize(
    ("value", "answers"),
    [("", True), ("0", True), ("any", True), ("sound", True), ("1", False), ("verified", False)],
)
def test_the_environment_makes_every_caller_strict(
    tmp_path: Path, value: str, answers: bool
) -> None:
    dropped(tmp_path)
    done = ask_in_a_process(
        "from kernel_registry.registry_lookup import gemm_config\n"
        "assert gemm_config(2048, 2048, 2048, strict=False)['method']\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        print(gemm_config(2048, 2048, 2048)['method'])\n"
        "    except KeyError as error:\n"
        "        print('refused')\n",
        tmp_path,
        {registry_lookup.STRICT: value},
    )
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first == second
    assert (first != "refused") is answers


def test_an_environment_that_names_no_policy_is_an_error_and_no_answer(tmp_path: Path) -> None:
    dropped(tmp_path)
    code = "from kernel_registry.registry_lookup import gemm_config\ngemm_config(2048, 2048, 2048)"
    done = ask_in_a_process(code, tmp_path, {registry_lookup.STRICT: "yes please"})
    assert done.returncode == 1
    assert "REGISTRY_TOOL_STRICT" in done.stderr.splitlines()[-1]
