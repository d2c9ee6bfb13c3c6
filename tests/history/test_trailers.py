"""`registry-tool trailers` as git's prepare-commit-msg hook calls it, with real commits."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from registry_tool.history.trailers import MOST, with_trailers
from registry_tool.records import canonical, catalog
from registry_tool.store import git
from tests.examples.build import GEMM, SMALL, Row, make_row
from tests.examples.example import Example

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def hooked(good: Example) -> Example:
    """The example registry with the hook; the editor puts one line at the top of the message."""
    hook = good.repo / ".git" / "hooks" / "prepare-commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m registry_tool trailers --message-file "$@"\n',
        "utf-8",
    )
    hook.chmod(0o755)
    good.environment.update(
        PYTHONPATH=str(ROOT), PATH=os.environ["PATH"], GIT_EDITOR="sed -i '1s/^/Typed /'"
    )
    return good


def again(good: Example, second: int = 50, k: int = 1024) -> Row:
    """The same row with another run, in the index."""
    shape = {**SMALL, "K": k}
    row = make_row(catalog.built_in()[GEMM], shape, "drain", second=second)
    good.add(row)
    good.git("add", "-A")
    return row


def message(good: Example) -> str:
    return good.git("log", "-1", "--format=%B").rstrip("\n")


def trailer(row: Row) -> str:
    return f"Verified-row: {row.id} {row.verdict.run_id}"


def test_a_new_run_is_named_under_the_message(hooked: Example) -> None:
    row = again(hooked)
    hooked.git("commit", "-q", "-m", "Verify again")
    assert message(hooked) == f"Verify again\n\n{trailer(row)}"


def test_a_remark_names_no_row(hooked: Example, row: Row) -> None:
    hooked.write({row.id.record_path: canonical.encode(replace(row.record, notes=["x"]))})
    hooked.git("commit", "-q", "-am", "Remark")
    assert message(hooked) == "Remark"


def test_other_trailers_stay_and_ours_join_them(hooked: Example) -> None:
    row = again(hooked)
    hooked.git("commit", "-q", "-s", "-m", "Verify", "-m", "Why.")
    assert message(hooked) == (
        f"Verify\n\nWhy.\n\nSigned-off-by: A. Tester <tester@example.invalid>\n{trailer(row)}"
    )


def test_an_amended_commit_names_its_rows_once(hooked: Example) -> None:
    row = again(hooked)
    hooked.git("commit", "-q", "-m", "Verify")
    hooked.git("commit", "-q", "--amend", "--no-edit")
    assert message(hooked) == f"Verify\n\n{trailer(row)}"
    newer = again(hooked, second=60)
    hooked.git("commit", "-q", "--amend", "--no-edit")
    assert message(hooked) == f"Verify\n\n{trailer(newer)}"
    hooked.git("commit", "-q", "--amend", "-m", "Said better")
    assert message(hooked) == f"Said better\n\n{trailer(newer)}"


def test_in_the_editor_they_stand_before_the_comments(hooked: Example) -> None:
    row = again(hooked)
    hooked.git("commit", "-q")
    assert message(hooked) == f"Typed\n\n{trailer(row)}"


@pytest.mark.parametrize("mark", ["#", ";", "auto"])
def test_below_the_scissors_nothing_is_written(hooked: Example, mark: str) -> None:
    hooked.git("config", "core.commentChar", mark)
    row = again(hooked)
    hooked.git("commit", "-q", "-v", "--cleanup=scissors")
    assert message(hooked).startswith("Typed")
    assert message(hooked).endswith(trailer(row))
    assert "diff --git" not in message(hooked)


def test_a_template_is_kept(hooked: Example) -> None:
    hooked.write({"template.txt": "Reason: none\n\nLong words.\n# a comment\n"})
    hooked.git("config", "commit.template", "template.txt")
    row = again(hooked)
    hooked.git("commit", "-q")
    assert message(hooked) == f"Typed Reason: none\n\nLong words.\n\n{trailer(row)}"


def test_a_merge_names_nothing_and_a_squash_all(hooked: Example) -> None:
    hooked.git("checkout", "-q", "-b", "side")
    row = again(hooked)
    hooked.git("commit", "-q", "-m", "Side")
    hooked.git("checkout", "-q", "main")
    hooked.git("merge", "-q", "--no-ff", "--no-edit", "side")
    assert "Verified-row" not in message(hooked)
    hooked.git("reset", "-q", "--hard", "HEAD~1")
    hooked.git("merge", "-q", "--squash", "side")
    hooked.git("commit", "-q", "--no-edit")
    assert [line for line in message(hooked).splitlines() if line.startswith("Verified")] == [
        trailer(row)
    ]


def test_a_partial_commit_names_what_it_takes(hooked: Example) -> None:
    row = again(hooked)
    other = again(hooked, k=2048)
    folder = f"verdicts/{row.id}"
    hooked.git("commit", "-q", "-m", "One", "--", row.id.record_path, folder)
    assert message(hooked) == f"One\n\n{trailer(row)}"
    assert str(other.id) not in message(hooked)


def test_of_many_rows_only_the_number_is_told(hooked: Example) -> None:
    for at in range(MOST + 1):
        again(hooked, k=1024 * (2 + at))
    hooked.git("commit", "-q", "-m", "Sweep")
    assert message(hooked) == f"Sweep\n\nVerified-rows: {MOST + 1}"


def test_the_first_commit_of_all_names_its_rows(hooked: Example, row: Row, other: Row) -> None:
    hooked.git("update-ref", "-d", "HEAD")
    hooked.git("commit", "-q", "-m", "Start")
    assert message(hooked) == "Start\n\n" + "\n".join(sorted(map(trailer, (row, other))))


def test_a_registry_in_a_folder_below_is_found(hooked: Example, row: Row) -> None:
    (hooked.repo / "reg").mkdir()
    hooked.git("mv", "registry.yaml", "records", "verdicts", "reg")
    hooked.root = hooked.repo / "reg"
    hooked.git("commit", "-q", "-m", "Move")
    newer = again(hooked)
    hooked.git("commit", "-q", "-m", "Verify")
    assert message(hooked) == f"Verify\n\n{trailer(newer)}"


def test_written_twice_it_is_the_same(good: Example) -> None:
    repository = git.require_repository(good.root)
    wanted = ["Verified-row: a/b/c 1", "Verified-row: a/b/d 2"]
    for text in ("", "\n# comment\n", "One\n", "One\n\nTwo\n\nCo-authored-by: X <x@y>\n", "One"):
        once = with_trailers(repository, text, wanted)
        assert with_trailers(repository, once, wanted) == once
        assert with_trailers(repository, once, []).rstrip("\n") == text.rstrip("\n")


def test_without_a_message_file_it_is_wrong_use(
    good: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    assert good.command("trailers", "--message-file", "nowhere")[0] == 2
    assert "cannot read it" in capsys.readouterr().err
