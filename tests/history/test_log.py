"""`registry-tool log` on real repositories: from git alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical, catalog
from tests.examples.build import GEMM, Row, make_row
from tests.examples.example import Example


def events(good: Example, *words: str) -> list[dict[str, Any]]:
    status, out = good.command("log", *words, "--format", "json")
    assert status == 0
    found: list[dict[str, Any]] = json.loads(out)
    assert all(
        list(event)[:8]
        == ["commit", "date", "author", "record", "event", "before", "after", "verdict"]
        for event in found
    )
    return found


def note(good: Example, row: Row, text: str) -> None:
    good.write({row.id.record_path: canonical.encode(replace(row.record, notes=[text]))})
    good.render()
    good.commit(text)


def test_a_row_appears_changes_and_goes(good: Example, row: Row) -> None:
    note(good, row, "a remark")
    good.git("rm", "-q", row.id.record_path)
    good.render()
    good.commit("Retire")
    retired, changed, added = events(good, GEMM, "2048x1024x1024")
    assert [event["event"] for event in (retired, changed, added)] == [
        "retired",
        "changed",
        "added",
    ]
    assert {event["record"] for event in (retired, changed, added)} == {str(row.id)}
    assert (changed["before"], changed["after"]) == ({"notes": []}, {"notes": ["a remark"]})
    assert added["before"] is None
    assert added["after"]["mean_rel_L1"] == row.record.mean_rel_L1
    assert retired["after"] is None
    assert retired["before"]["notes"] == ["a remark"]
    assert {event["verdict"] for event in (retired, changed, added)} == {row.artifact}
    assert retired["commit"] == good.git("rev-parse", "HEAD").strip()
    assert retired["author"] == "A. Tester"
    assert retired["date"].startswith("20")


def test_a_new_run_is_a_change_with_its_verdict(good: Example, row: Row) -> None:
    again = make_row(catalog.built_in()[GEMM], row.record.shape, "drain", second=99)
    good.add(again)
    good.commit("Verify again")
    changed = events(good, GEMM, "2048x1024x1024")[0]
    assert changed["verdict"] == again.artifact
    assert set(changed["after"]) == {"verdict.artifact", "verdict.sha256"}


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ((), 2),
        ((GEMM,), 2),
        ((GEMM, "2048x2048x512"), 1),
        ((GEMM, "2048×2048×512"), 1),
        ((GEMM, "M=2048,K=2048,N=512"), 1),
        ((GEMM, "2048x2048x512+drain"), 1),
        ((GEMM, "2048x2048x512+direct"), 0),
        ((GEMM, "1x1x1"), 0),
        (("RoPE_bf16",), 0),
        (("--target", "npu2-emu"), 2),
        (("--target", "npu2"), 0),
    ],
)
def test_rows_are_chosen_by_kernel_shape_and_target(
    good: Example, words: tuple[str, ...], rows: int
) -> None:
    assert len(events(good, *words)) == rows


def test_text_says_what_changed(good: Example, row: Row) -> None:
    note(good, row, "a remark")
    status, out = good.command("log", GEMM)
    assert status == 0
    lines = out.splitlines()
    assert f"changed {row.id}" in lines[0]
    assert lines[1].strip() == 'notes: [] -> ["a remark"]'
    assert lines[2].strip() == f"verdict {row.artifact}"


def test_a_record_that_was_only_moved_is_no_event(good: Example, row: Row) -> None:
    before = events(good)
    good.git("mv", "records/npu2-emu", "records/elsewhere")
    good.commit("Move")
    assert events(good) == before


def test_a_row_keeps_its_history_when_its_file_moves(good: Example, row: Row) -> None:
    good.git("mv", row.id.record_path, "records/npu2-emu/GEMM_bf16_in_bf16_out/misplaced.json")
    good.commit("Misplace")
    good.edit(
        "records/npu2-emu/GEMM_bf16_in_bf16_out/misplaced.json", '"notes": []', '"notes": ["x"]'
    )
    good.commit("Edit")
    good.git("mv", "records/npu2-emu/GEMM_bf16_in_bf16_out/misplaced.json", row.id.record_path)
    good.commit("Back")
    found = events(good, GEMM, "2048x1024x1024")
    assert [event["event"] for event in found] == ["changed", "added"]
    assert found[0]["after"] == {"notes": ["x"]}


def test_a_row_of_another_target_is_another_row(good: Example, row: Row) -> None:
    moved = row.id.record_path.replace("npu2-emu", "npu2")
    good.path(moved).parent.mkdir(parents=True)
    good.git("mv", row.id.record_path, moved)
    good.edit(moved, '"target": "npu2-emu"', '"target": "npu2"')
    good.commit("Retarget")
    kinds = sorted((event["event"], event["record"]) for event in events(good)[:2])
    assert kinds == [("added", f"npu2/{GEMM}/{row.id.key}"), ("retired", str(row.id))]


def test_a_merge_adds_no_second_event(good: Example, row: Row, other: Row) -> None:
    good.git("checkout", "-q", "-b", "side")
    good.write({row.id.record_path: canonical.encode(replace(row.record, notes=["x"]))})
    good.commit("side")
    good.git("checkout", "-q", "main")
    good.write({other.id.record_path: canonical.encode(replace(other.record, notes=["y"]))})
    good.commit("main")
    good.git("merge", "-q", "--no-edit", "side")
    assert [event["event"] for event in events(good)].count("changed") == 2


def test_a_version_that_cannot_be_read_is_an_event_all_the_same(good: Example, row: Row) -> None:
    good.write({row.id.record_path: "{ not json\n"})
    good.commit("Break")
    changed = events(good, GEMM, "2048x1024x1024")[0]
    assert changed["event"] == "changed"
    assert "unreadable" in changed["after"]


def test_a_shape_that_is_none_is_wrong_use(
    good: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    assert good.command("log", GEMM, "large")[0] == 2
    assert "2048x1024x1024" in capsys.readouterr().err


def test_a_registry_in_a_subfolder_has_its_own_log(good: Example, row: Row) -> None:
    inner = Example(good.repo, good.repo / "inner")
    inner.write({"registry.yaml": good.path("registry.yaml").read_bytes()})
    good.commit("Another registry")
    assert events(inner) == []


def test_without_commits_there_is_nothing_to_tell(good: Example) -> None:
    good.git("update-ref", "-d", "HEAD")
    status, out = good.command("log")
    assert (status, out) == (0, "no commit has a row yet\n")
