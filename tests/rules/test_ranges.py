"""KR602: the commits of a range, in real repositories."""

from __future__ import annotations

from typing import Any

import pytest

from registry_tool.records import catalog
from registry_tool.rules import ranges
from tests.examples.build import GEMM, Row, make_row
from tests.examples.example import Example

NEW = {"M": 4096, "K": 1024, "N": 1024}


def head(good: Example) -> str:
    return good.git("rev-parse", "HEAD").strip()


def forge(good: Example, row: Row, value: str = "0.000124") -> None:
    good.edit(row.id.record_path, '"max_abs": 0.000824', f'"max_abs": {value}')
    good.render()


def mend(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '"max_abs": 0.000124', '"max_abs": 0.000824')
    good.render()


def note(good: Example, row: Row, text: str) -> None:
    good.edit(row.id.record_path, '"notes": []', f'"notes": [\n    "{text}"\n  ]')
    good.render()


def commit(good: Example, message: str) -> str:
    good.commit(message)
    return head(good)


def blamed(found: list[dict[str, Any]]) -> set[str]:
    return {one["message"].split(":")[0] for one in found}


def test_the_commit_that_let_something_through_is_named_and_no_other(
    good: Example, row: Row, other: Row
) -> None:
    base = head(good)
    note(good, other, "before")
    commit(good, "Say more")
    forge(good, row)
    bad = commit(good, "Improve: a lot")
    good.write({"elsewhere.txt": "x\n"})
    commit(good, "Not of the registry")
    mend(good, row)
    commit(good, "Take it back")
    found = good.findings("--range", f"{base}..HEAD")
    assert {one["rule"] for one in found} == {"KR602"}
    assert {one["message"].split(" ")[1] for one in found} == {bad[:12]}
    assert any(f"commit {bad[:12]} (Improve: a lot): KR105" in one["message"] for one in found)
    assert all(bad[:12] in one["fix"] for one in found)
    # What it was taken back by is in order, and so is everything after.
    assert good.findings("--range", f"{bad}..HEAD") == []


def test_a_commit_does_not_answer_for_what_was_wrong_before_it(
    good: Example, row: Row, other: Row
) -> None:
    forge(good, row)
    base = commit(good, "Improve")
    note(good, other, "later")
    commit(good, "Say more")
    assert "KR105" in good.rules("--ref", "HEAD")
    assert good.findings("--range", f"{base}..HEAD") == []


def test_what_no_branch_did_is_the_merges_own(good: Example, row: Row, other: Row) -> None:
    base = head(good)
    good.git("checkout", "-q", "-b", "side")
    note(good, other, "of the side")
    commit(good, "Say more")
    good.git("checkout", "-q", "main")
    note(good, row, "of the main line")
    commit(good, "Say something")
    good.git("merge", "-q", "--no-commit", "--no-ff", "-X", "ours", "side")
    good.render()
    commit(good, "Merge side")
    assert good.findings("--range", f"{base}..HEAD") == []
    good.git("reset", "-q", "--hard", "HEAD~1")
    good.git("merge", "-q", "--no-commit", "--no-ff", "-X", "ours", "side")
    forge(good, row)
    evil = commit(good, "Merge side, and improve")
    found = good.findings("--range", f"{base}..HEAD")
    assert {one["message"].split(" ")[1] for one in found} == {evil[:12]}
    assert any("(Merge side, and improve): KR105" in one["message"] for one in found)
    assert any("KR601" in one["message"] for one in found)


def test_a_merge_does_not_answer_for_what_a_branch_did_in_two_steps(
    good: Example, row: Row
) -> None:
    """A rule lowered in a change of its own, and then needed: against main it looks like one."""
    from tests.rules.test_tiles import small_herd
    from tests.rules.test_verdicts import put

    base = head(good)
    good.git("checkout", "-q", "-b", "side")
    good.edit("registry.yaml", "schema_version: 1\n", "schema_version: 1\nrules: {KR202: off}\n")
    commit(good, "Lower a rule")
    put(good, small_herd([4, 4]))
    commit(good, "Use less of the array")
    good.git("checkout", "-q", "main")
    good.write({"models/x.txt": "x\n"})
    commit(good, "Something else")
    good.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    assert good.rules("--ref", "HEAD") == {"KR110"}
    assert good.findings("--range", f"{base}..HEAD") == []


def test_commits_that_were_judged_once_are_remembered(
    good: Example, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = head(good)
    forge(good, row)
    commit(good, "Improve")
    mend(good, row)
    commit(good, "Take it back")
    first = good.findings("--range", f"{base}..HEAD")
    assert first

    def never(*_: object) -> None:
        raise AssertionError("judged again")

    monkeypatch.setattr(ranges, "judged", never)
    assert good.findings("--range", f"{base}..HEAD") == first


def test_a_waiver_holds_as_on_the_day_of_its_commit(good: Example) -> None:
    from tests.baseline.samples import with_waiver
    from tests.rules.test_tiles import small_herd

    base = head(good)
    mine = with_waiver(small_herd([4, 4], NEW), "2026-02-01", "KR202")
    good.add(mine)
    good.render()
    good.environment |= {"GIT_COMMITTER_DATE": "2026-01-15T12:00:00Z"}
    commit(good, "Waive it for a while")
    assert "KR202" in good.rules()
    assert good.findings("--range", f"{base}..HEAD") == []


def test_a_side_branch_whose_content_was_not_taken_is_walked_too(good: Example, row: Row) -> None:
    base = head(good)
    good.git("checkout", "-q", "-b", "side")
    forge(good, row)
    bad = commit(good, "Improve")
    good.git("checkout", "-q", "main")
    good.write({"x.txt": "x\n"})
    commit(good, "Something else")
    good.git("merge", "-q", "-s", "ours", "-m", "Merge nothing of side", "side")
    found = good.findings("--range", f"{base}..HEAD")
    assert {one["message"].split(" ")[1] for one in found} == {bad[:12]}


def test_only_the_selected_rules_are_looked_for_in_commits(good: Example, row: Row) -> None:
    base = head(good)
    forge(good, row)
    commit(good, "Improve")
    words = ("--range", f"{base}..HEAD")
    assert len(good.findings(*words)) == 2
    assert len(good.findings(*words, "--select", "KR1")) == 1
    assert len(good.findings(*words, "--select", "KR602")) == 2
    assert len(good.findings(*words, "--ignore", "KR601")) == 1
    assert good.findings(*words, "--select", "KR2") == []
    assert good.findings(*words, "--ignore", "KR6,KR1") == []


def test_a_registry_may_only_warn_of_commits_that_fail(good: Example, row: Row) -> None:
    base = head(good)
    good.edit(
        "registry.yaml", "schema_version: 1\n", "schema_version: 1\nrules: {KR602: warning}\n"
    )
    commit(good, "Be lenient")
    forge(good, row)
    commit(good, "Improve")
    found = good.findings("--range", f"{base}..HEAD")
    assert {one["severity"] for one in found} == {"warning"}


def test_a_subject_that_would_steer_a_terminal_is_printed_without_that(
    good: Example, row: Row
) -> None:
    base = head(good)
    forge(good, row)
    commit(good, "Improve \x1b[2J it\u2028 all")
    found = good.findings("--range", f"{base}..HEAD")
    assert all("(Improve ?[2J it? all)" in one["message"] for one in found)


def test_commits_with_a_broken_policy_are_judged_as_far_as_can_be(good: Example, row: Row) -> None:
    base = head(good)
    text = good.path("registry.yaml").read_text()
    good.write({"registry.yaml": f"{text}  - broken: [\n"})
    broken = commit(good, "Break the policy")
    good.write({"registry.yaml": text})
    commit(good, "Mend the policy")
    found = good.findings("--range", f"{base}..HEAD")
    assert {one["message"].split(" ")[1] for one in found} == {broken[:12]}
    assert any("registry.yaml" in one["path"] for one in found)


def test_a_registry_that_begins_within_the_range_is_judged_from_its_first_commit(
    tmp_path: Any, row: Row
) -> None:
    from tests.examples import example

    (tmp_path / "repo").mkdir()
    empty = Example(tmp_path / "repo", tmp_path / "repo" / "kernel_registry")
    empty.git("init", "-q", "-b", "main")
    empty.git("commit", "-q", "--allow-empty", "-m", "Nothing yet")
    base = head(empty)
    empty.root.mkdir()
    empty.write({"registry.yaml": example.POLICY, "models/Toy-1B.json": example.MODEL})
    empty.add(row)
    empty.render()
    commit(empty, "Begin")
    assert empty.findings("--range", f"{base}..HEAD") == []
    forge(empty, row)
    bad = commit(empty, "Improve")
    found = empty.findings("--range", f"{base}..HEAD")
    assert {one["message"].split(" ")[1] for one in found} == {bad[:12]}


def test_an_empty_range_is_in_order(good: Example) -> None:
    assert good.findings("--range", "HEAD..HEAD") == []
    assert good.findings("--range", "HEAD..") == []


@pytest.mark.parametrize(
    "text",
    ["HEAD", "", "..", "..HEAD", "HEAD...HEAD", "nothing..HEAD", "HEAD..nothing", "--all..HEAD"],
)
def test_what_is_no_range_is_wrong_use(
    good: Example, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert good.command("check", f"--range={text}")[0] == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_history_that_is_cut_in_the_range_is_refused(
    good: Example, row: Row, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    note(good, row, "one")
    commit(good, "One")
    good.git("checkout", "-q", "-b", "old", "HEAD~1")
    good.write({"models/x.txt": "x\n"})
    commit(good, "Old")
    place = tmp_path / "shallow"
    url = good.repo.as_uri()
    good.git("clone", "-q", "--depth", "1", "--no-single-branch", url, str(place), cwd=tmp_path)
    cut = Example(place, place)
    assert cut.command("check", "--range", "origin/old..origin/main")[0] == 2
    assert "git fetch --unshallow" in capsys.readouterr().err


def test_a_new_row_and_its_verdict_pass_commit_by_commit(good: Example) -> None:
    base = head(good)
    good.add(make_row(catalog.built_in()[GEMM], NEW, "drain"))
    good.render()
    commit(good, "Verify a shape")
    assert good.findings("--range", f"{base}..HEAD") == []
