from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from registry_tool.records.record import Record
from registry_tool.registry_lookup import Lookup
from registry_tool.store.registry import Registry
from registry_tool.tables import answers, render
from registry_tool.tables.answers import AnswerChange, Asked
from tests.tables.samples import EMULATED, GEMM, HARDWARE, attention_records, load, record
from tests.tables.samples import write_registry as write

SHAPE = (2048, 8192, 2048)
OTHER = (512, 512, 512)
SIZES = {"M": 2048, "K": 8192, "N": 2048}
FAST = record(GEMM, SHAPE, "fused-cast", 8898.0)
SLOW = record(GEMM, SHAPE, "drain", 7234.0)


def rendered(
    root: Path, records: Iterable[Record], policy: str = HARDWARE, files: Mapping[str, bytes] = {}
) -> Registry:
    registry = load(write(root, records, policy, files))
    for path, data in render.stale(render.pages(registry, registry.records), {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return load(root)


def changed(was: Registry, now: Registry, target: str = "npu2") -> dict[str, AnswerChange]:
    return {str(one.asked): one for one in answers.changes(was, now, target)}


def test_a_new_row_answers_what_raised_an_error_and_changes_the_best(tmp_path: Path) -> None:
    was = rendered(tmp_path / "was", [SLOW])
    now = rendered(tmp_path / "now", [SLOW, FAST])
    found = changed(was, now)
    assert list(found) == ["best of tier high", "method fused-cast"]
    best = found["best of tier high"]
    assert (best.kernel, best.target, best.shape) == (GEMM.kernel, "npu2", SIZES)
    assert best.before is not None
    assert best.after is not None
    assert (best.before["method"], best.after["method"]) == ("drain", "fused-cast")
    assert found["method fused-cast"].before is None


def test_a_removed_row_answers_with_an_error(tmp_path: Path) -> None:
    was, now = rendered(tmp_path / "was", [SLOW]), rendered(tmp_path / "now", [])
    assert {words: one.after for words, one in changed(was, now).items()} == {
        "best of tier high": None,
        "method drain": None,
    }


def test_an_answer_is_the_dict_that_a_lookup_in_the_registry_returns(tmp_path: Path) -> None:
    was, now = rendered(tmp_path / "was", []), rendered(tmp_path / "now", [FAST])
    best = changed(was, now)["best of tier high"]
    assert best.after == Lookup(tmp_path / "now").gemm_config(*SHAPE)


def test_what_is_the_same_is_not_named(tmp_path: Path) -> None:
    beside = record(GEMM, OTHER, "drain", 100.0)
    faster = record(GEMM, OTHER, "drain", 120.0)
    was = rendered(tmp_path / "was", [SLOW, beside, *attention_records()])
    now = rendered(tmp_path / "now", [SLOW, faster, *attention_records()])
    assert {tuple(one.shape.values()) for one in answers.changes(was, now, "npu2")} == {OTHER}
    assert answers.changes(now, now, "npu2") == []


def test_a_file_that_is_the_same_in_both_states_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    was = rendered(tmp_path / "was", [SLOW, *attention_records()])
    now = rendered(tmp_path / "now", [SLOW, FAST, *attention_records()])
    read = []
    seek = answers._read

    def noted(registry: Registry, path: str | None, target: str) -> answers.Document | None:
        read.append(path)
        return seek(registry, path, target)

    monkeypatch.setattr(answers, "_read", noted)
    assert answers.changes(was, now, "npu2")
    assert set(read) == {f"details/{GEMM.kernel}.json"}


def test_a_policy_that_refuses_marked_rows_changes_their_answers(tmp_path: Path) -> None:
    imported = record(GEMM, SHAPE, "drain", 1.0, kind="imported", status="unverified")
    was = rendered(tmp_path / "was", [imported])
    now = rendered(tmp_path / "now", [imported], f"{HARDWARE}lookup: verified\n")
    found = changed(was, now)
    assert {one.after for one in found.values()} == {None}
    assert all(one.before and one.before["source"] == "imported" for one in found.values())


def test_the_strictness_of_this_process_changes_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTRY_TOOL_STRICT", "verified")
    imported = record(GEMM, SHAPE, "drain", 1.0, kind="imported", status="unverified")
    now = rendered(tmp_path / "now", [imported])
    found = changed(rendered(tmp_path / "was", []), now)
    assert found["best of tier high"].after is not None


def test_another_first_target_changes_only_the_answers_of_who_names_none(tmp_path: Path) -> None:
    emulated = record(GEMM, SHAPE, "drain", target="npu2-emu")
    was = rendered(tmp_path / "was", [SLOW, emulated])
    now = rendered(tmp_path / "now", [SLOW, emulated], EMULATED)
    assert answers.changes(was, now, "npu2") == answers.changes(was, now, "npu2-emu") == []
    best = {str(one.asked): one for one in answers.default_changes(was, now)}["best of tier high"]
    assert best.before is not None
    assert best.after is not None
    assert (best.before["gflops"], best.after["emulated"]) == (7234.0, True)


def test_a_broken_or_missing_file_answers_nothing(tmp_path: Path) -> None:
    was = rendered(tmp_path / "was", [SLOW])
    path = tmp_path / "now" / "details" / f"{GEMM.kernel}.json"
    now = rendered(tmp_path / "now", [SLOW])
    for content in (b"{", b"[]", b'{"shapes": 1}', None):
        path.unlink() if content is None else path.write_bytes(content)
        found = changed(was, load(now.root))
        assert {one.after for one in found.values()} == {None}
        assert all(one.shape == SIZES for one in found.values())
    assert changed(was, was, "no-such-target") == {}


def test_a_change_is_said_in_words() -> None:
    one = {"method": "drain", "tile": {"tile_m": 32}, "gflops": 1.5}
    other = {"method": "fused-cast", "tile": {"tile_m": 32}, "gflops": None, "herd": [8, 2]}
    assert answers.said(None, one) == "an error"
    assert answers.said(one) == "method=drain tile=tile_m:32 gflops=1.5"
    assert answers.said(other, one) == "method=fused-cast gflops=none herd=8×2"
    assert [str(Asked("any")), str(Asked(method="drain"))] == ["best", "method drain"]
