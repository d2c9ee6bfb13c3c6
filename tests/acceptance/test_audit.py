"""`registry-tool audit` on histories in which somebody did what nobody should."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical, catalog
from registry_tool.records.record import Waiver
from tests.examples.build import GEMM, Row, make_row
from tests.examples.example import Example
from tests.examples.fixtures import _template, good, other, row

__all__ = ["_template", "good", "other", "row"]

KEYS = ["kind", "commit", "date", "author", "record", "path", "message", "fix", "also"]


def audit(made: Example, *words: str) -> list[dict[str, Any]]:
    status, out = made.command("audit", "--no-rules", "--format", "json", *words)
    document = json.loads(out)
    found: list[dict[str, Any]] = document["findings"]
    assert all(list(one) == KEYS for one in found)
    assert status == (1 if found else 0)
    return found


def kinds(made: Example, *words: str) -> list[tuple[str, str]]:
    return [(one["kind"], one["commit"][:12]) for one in audit(made, *words)]


def head(made: Example) -> str:
    return made.git("rev-parse", "--short=12", "HEAD").strip()


def faster(row: Row) -> bytes:
    return canonical.encode(replace(row.record, mean_rel_L1=1e-3))


def test_a_clean_history_has_nothing_to_find(good: Example, row: Row) -> None:
    good.add(make_row(catalog.built_in()[GEMM], row.record.shape, "drain", second=99))
    good.commit("Verify again")
    good.write({row.id.record_path: canonical.encode(replace(row.record, notes=["back"]))})
    good.commit("Back to the older run")
    good.git("rm", "-q", row.id.record_path)
    good.commit("Retire")
    assert kinds(good) == []


def test_a_figure_edited_by_hand_is_found_and_its_return_is_not(good: Example, row: Row) -> None:
    good.write({row.id.record_path: faster(row)})
    good.commit("Polish")
    edit = head(good)
    good.write({row.id.record_path: canonical.encode(row.record)})
    good.commit("Take it back")
    (found,) = audit(good)
    assert (found["kind"], found["commit"][:12]) == ("edited-without-verdict", edit)
    assert found["record"] == str(row.id)
    assert "mean_rel_L1" in found["message"]
    assert found["fix"].startswith(f"git show {edit}")


def test_a_remark_on_an_edited_row_is_not_found_again(good: Example, row: Row) -> None:
    good.write({row.id.record_path: faster(row)})
    good.commit("Polish")
    edit = head(good)
    polished = replace(row.record, mean_rel_L1=1e-3, notes=["x"])
    good.write({row.id.record_path: canonical.encode(polished)})
    good.commit("Remark")
    assert kinds(good) == [("edited-without-verdict", edit)]


def test_a_row_that_was_retired_and_written_otherwise_is_found(good: Example, row: Row) -> None:
    good.git("rm", "-q", row.id.record_path)
    good.commit("Retire")
    good.write({row.id.record_path: faster(row)})
    good.commit("Again")
    assert kinds(good) == [("edited-without-verdict", head(good))]


def test_an_edit_hidden_in_a_merge_is_found(good: Example, row: Row) -> None:
    good.git("checkout", "-q", "-b", "side")
    good.write({row.id.record_path: canonical.encode(replace(row.record, notes=["x"]))})
    good.commit("side")
    good.git("checkout", "-q", "main")
    good.write({"README.md": "x\n"})
    good.commit("main")
    good.git("merge", "-q", "--no-commit", "--no-ff", "side")
    good.write({row.id.record_path: faster(row)})
    good.git("add", "-A")
    good.git("commit", "-q", "--no-verify", "-m", "merge")
    assert kinds(good) == [("edited-without-verdict", head(good))]


def log_of(row: Row) -> str:
    return row.artifact.replace(".json", ".log")


def test_an_edited_log_is_found_and_its_restoration_is_not(good: Example, row: Row) -> None:
    start = head(good)
    good.edit(log_of(row), "PASS!", "PASS?")
    good.commit("Edit")
    edit = head(good)
    good.git("checkout", "-q", start, "--", log_of(row))
    good.commit("Restore")
    (found,) = audit(good)
    assert (found["kind"], found["commit"][:12]) == ("evidence-edited", edit)
    assert found["path"] == log_of(row)
    assert [one[:12] for one in found["also"]] == [start]
    good.git("checkout", "-q", edit, "--", log_of(row))
    restored = found["fix"].partition(" > ")[0].split()
    assert restored[:2] == ["git", "show"]
    assert good.git(*restored[1:]).encode() == row.log


def test_a_deleted_verdict_is_found_with_who_cited_it(good: Example, row: Row) -> None:
    good.git("rm", "-q", row.artifact)
    good.commit("Lose it")
    (found,) = audit(good, "HEAD~1..HEAD")
    assert found["kind"] == "evidence-deleted"
    assert "while the row" in found["message"]
    (found,) = audit(good)
    assert found["kind"] == "evidence-came-and-went"


def failed(row: Row) -> Row:
    """A run of the same row that no row stands on."""
    return make_row(catalog.built_in()[GEMM], row.record.shape, "drain", second=77)


def test_a_run_that_was_added_and_removed_again_is_found(good: Example, row: Row) -> None:
    base = head(good)
    good.write(failed(row).evidence())
    good.commit("Fail")
    added = head(good)
    good.git("rm", "-q", *failed(row).evidence())
    good.commit("Tidy up")
    found = audit(good, f"{base}..HEAD")
    assert {one["kind"] for one in found} == {"evidence-came-and-went"}
    assert {one["path"] for one in found} == set(failed(row).evidence())
    assert {one["also"][0][:12] for one in found} == {added}


def test_a_tombstone_says_that_it_was_pruned(good: Example, row: Row) -> None:
    old = failed(row)
    good.write(old.evidence())
    good.commit("Fail")
    good.git("rm", "-q", *old.evidence())
    good.write({old.artifact.replace(".json", ".pruned"): "{}\n"})
    good.commit("Prune")
    assert kinds(good) == []


def test_a_run_that_a_merge_drops_is_found(good: Example, row: Row) -> None:
    good.git("checkout", "-q", "-b", "side")
    good.write(failed(row).evidence())
    good.commit("Fail on the side")
    good.git("checkout", "-q", "main")
    good.git("merge", "-q", "-s", "ours", "--no-edit", "side")
    found = audit(good)
    assert {one["kind"] for one in found} == {"evidence-lost-in-merge"}
    assert {one["commit"][:12] for one in found} == {head(good)}


def test_a_row_that_cites_what_was_not_committed_is_found(good: Example, row: Row) -> None:
    new = failed(row)
    good.write({row.id.record_path: canonical.encode(new.record)})
    good.commit("Row first")
    first = head(good)
    (found,) = audit(good)
    assert (found["kind"], found["commit"][:12]) == ("cites-uncommitted", first)
    assert "no commit ever had it" in found["message"]
    good.write(new.evidence())
    good.commit("Verdict later")
    (found,) = audit(good)
    assert f"{head(good)} added it only later" in found["message"]


def test_a_waiver_that_is_prolonged_again_and_again_is_found(good: Example, row: Row) -> None:
    def waive(expires: str) -> None:
        waiver = Waiver(rule="KR202", reason="x", by="Ann", date="2026-01-01", expires=expires)
        good.write({row.id.record_path: canonical.encode(replace(row.record, waivers=[waiver]))})
        good.commit(expires)

    waive("2026-02-01")
    waive("2026-03-01")
    assert kinds(good) == []
    good.write({row.id.record_path: canonical.encode(row.record)})
    good.commit("Waived no more")
    waive("2026-04-01")
    (found,) = audit(good)
    assert (found["kind"], found["commit"][:12]) == ("waiver-extended", head(good))
    assert "2026-02-01, then 2026-03-01, then 2026-04-01" in found["message"]
    assert len(found["also"]) == 2


def test_a_range_has_only_its_own_commits(good: Example, row: Row) -> None:
    good.write({row.id.record_path: faster(row)})
    good.commit("Polish")
    good.edit(log_of(row), "PASS!", "PASS?")
    good.commit("Edit")
    assert [kind for kind, _ in kinds(good)] == ["evidence-edited", "edited-without-verdict"]
    assert [kind for kind, _ in kinds(good, "HEAD~1..")] == ["evidence-edited"]
    assert [kind for kind, _ in kinds(good, "HEAD~1")] == ["edited-without-verdict"]
    assert kinds(good, "HEAD..HEAD") == []


def test_evidence_of_a_moved_registry_is_no_other_evidence(good: Example, row: Row) -> None:
    (good.repo / "reg").mkdir()
    good.git("mv", "registry.yaml", "records", "verdicts", "reg")
    good.root = good.repo / "reg"
    good.commit("Move")
    assert kinds(good) == []
    good.edit(log_of(row), "PASS!", "PASS?")
    good.commit("Edit")
    assert kinds(good) == [("evidence-edited", head(good))]


def test_text_says_which_row_by_whom_and_what_to_type(good: Example, row: Row) -> None:
    good.write({row.id.record_path: faster(row)})
    good.commit("Polish")
    status, out = good.command("audit", "--no-rules")
    assert status == 1
    assert "edited-without-verdict: a row's measured field changed" in out
    assert f"{head(good)} " in out
    assert f"A. Tester: {row.id}" in out
    assert f"next: git show {head(good)}" in out
    assert "1 found in 2 commits" in out


@pytest.mark.parametrize("words", ["nowhere", "a...b", "x..y", "HEAD~99..", "^HEAD", "^HEAD..HEAD"])
def test_a_range_that_is_none_is_wrong_use(
    good: Example, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    assert good.command("audit", "--no-rules", words)[0] == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "fatal" not in said
    assert "next: " in said


def test_a_base_of_zeros_is_all_that_reaches_the_end(good: Example) -> None:
    assert good.command("audit", f"{'0' * 40}..HEAD") == (0, "nothing found in 1 commit\n")


def shallow(good: Example, tmp_path: Path) -> Example:
    good.write({"README.md": "x\n"})
    good.commit("Second")
    clone = tmp_path / "clone"
    good.git("clone", "-q", "--depth", "1", f"file://{good.repo}", str(clone))
    return Example(clone, clone, good.environment)


def test_a_shallow_clone_is_refused_unless_it_is_allowed(
    good: Example, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = shallow(good, tmp_path)
    assert cut.command("audit", "--no-rules")[0] == 2
    assert "git fetch --unshallow" in capsys.readouterr().err
    assert cut.command("audit", "--no-rules", "--allow-shallow")[0] == 0
    assert "history ends here" in capsys.readouterr().err


def test_log_of_a_shallow_clone_says_that_it_is_cut(
    good: Example, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = shallow(good, tmp_path)
    status, out = cut.command("log", "--format", "json")
    assert status == 0
    assert {(one["event"], one["cut"]) for one in json.loads(out)} == {("added", True)}
    assert "history ends here: shallow clone; git fetch --unshallow" in capsys.readouterr().err


def test_a_partial_clone_fetches_what_it_lacks(good: Example, tmp_path: Path, row: Row) -> None:
    good.edit(log_of(row), "PASS!", "PASS?")
    good.commit("Edit")
    good.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    good.git("clone", "-q", "--filter=blob:none", f"file://{good.repo}", str(clone))
    partial = Example(clone, clone, good.environment)
    assert kinds(partial) == kinds(good) != []
    assert partial.command("log", "--format", "json") == good.command("log", "--format", "json")


def test_a_partial_clone_fetches_all_versions_at_once(
    good: Example, tmp_path: Path, row: Row
) -> None:
    for text in ("one", "two", "three"):
        good.write({row.id.record_path: canonical.encode(replace(row.record, notes=[text]))})
        good.commit(text)
    good.git("config", "uploadpack.allowFilter", "true")
    clone, trace = tmp_path / "clone", tmp_path / "trace"
    good.git("clone", "-q", "--filter=blob:none", f"file://{good.repo}", str(clone))
    partial = Example(clone, clone, {**good.environment, "GIT_TRACE": str(trace)})
    status, out = partial.command("log")
    assert status == 0
    assert '["two"] -> ["three"]' in out
    assert trace.read_text("utf-8").count("built-in: git fetch ") == 1


def test_a_partial_clone_without_its_origin_says_what_is_missing(
    good: Example, tmp_path: Path, row: Row, capsys: pytest.CaptureFixture[str]
) -> None:
    good.write({row.id.record_path: canonical.encode(replace(row.record, notes=["x"]))})
    good.commit("Remark")
    good.git("config", "uploadpack.allowFilter", "true")
    clone, moved = tmp_path / "clone", tmp_path / "moved"
    good.git("clone", "-q", "--filter=blob:none", f"file://{good.repo}", str(clone))
    shutil.move(good.repo, moved)
    partial = Example(clone, clone, good.environment)
    assert partial.command("log")[0] == 2
    assert "next: git fetch" in capsys.readouterr().err


def judged(made: Example, *words: str) -> list[dict[str, Any]]:
    pytest.importorskip("registry_tool.rules.ranges")
    _, out = made.command("audit", "--format", "json", *words)
    found: list[dict[str, Any]] = json.loads(out)["findings"]
    return found


def test_a_commit_that_fails_todays_rules_is_found_once(good: Example, row: Row) -> None:
    assert judged(good) == []
    good.write({row.id.record_path: faster(row)})
    good.commit("Polish")
    polish = head(good)
    good.write({"README.md": "x\n"})
    good.commit("Something else")
    good.write({row.id.record_path: canonical.encode(row.record)})
    good.commit("Take it back")
    found = [one for one in judged(good) if one["kind"] == "fails-rules"]
    assert {one["commit"][:12] for one in found} == {polish}
    assert [one["record"] for one in found if one["message"].startswith("KR105 ")] == [str(row.id)]
    assert not [one for one in found if one["message"].startswith("KR601 ")]
    assert judged(good, "HEAD~1..HEAD") == []


def test_the_first_commit_of_all_is_judged_too(good: Example, row: Row) -> None:
    good.git("rm", "-q", "--cached", row.artifact)
    good.git("commit", "-q", "--no-verify", "--amend", "-m", "Start without a verdict")
    found = {one["message"][:5] for one in judged(good) if one["kind"] == "fails-rules"}
    assert "KR101" in found


def test_a_registry_that_began_later_is_not_judged_before(good: Example, row: Row) -> None:
    made = Example(good.repo, good.root / "later")
    made.git("checkout", "-q", "--orphan", "other")
    made.git("rm", "-rfq", ".")
    (made.repo / "words.txt").write_text("words\n")
    made.commit("Before any registry")
    made.git("checkout", "main", "--", ".")
    made.commit("The registry")
    status, out = Example(good.repo, good.root).command("audit")
    assert (status, out) == (0, "nothing found in 2 commits\n")


def test_a_name_with_a_line_break_breaks_no_audit(
    good: Example, row: Row, capfd: pytest.CaptureFixture[str]
) -> None:
    odd = f"verdicts/{row.id}/a\nb.json"
    good.write({odd: b"{}"})
    good.commit("Odd")
    good.path(odd).unlink()
    good.commit("Gone")
    found = audit(good)
    assert [one["kind"] for one in found] == ["evidence-came-and-went"]
    assert "Traceback" not in capfd.readouterr().err


RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("format_", ["text", "json"])
def test_nothing_of_a_stranger_reaches_the_terminal_raw(
    good: Example, row: Row, format_: str
) -> None:
    odd = "\u202e\u2066\x9b31m\u200b ::error::x ##[add-mask]a\u2028next\x85line\x7f"
    good.environment["GIT_AUTHOR_NAME"] = "Somebody \x1b[31m \u202e"
    notes = canonical.encode(replace(row.record, notes=[odd], mean_rel_L1=1e-3))
    good.write({row.id.record_path: notes, f"verdicts/{row.id}/\x1b[2J\n::error::x.json": b"{}"})
    good.write({"records/npu2-emu/\x1b[31mred\n::error::x/a.json": b"{}"})
    good.commit("Odd \x1b[31m")
    good.path(f"verdicts/{row.id}/\x1b[2J\n::error::x.json").unlink()
    good.commit("Gone")
    for verb in (["log"], ["log", GEMM], ["audit"], ["blame", str(row.id)]):
        _, out = good.command(*verb, "--format", format_)
        assert "add-mask" in out or verb == ["audit"]
        assert not RAW.search(out), verb
        assert "##[" not in out
        assert not [line for line in out.split("\n") if line.lstrip().startswith("::")]
