"""What git is asked, in repositories where that is not plain to see."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from registry_tool.errors import GitError
from registry_tool.store import git
from tests.examples.build import Row
from tests.examples.example import Example


@pytest.fixture
def repository(good: Example, monkeypatch: pytest.MonkeyPatch) -> git.Repository:
    for name, value in good.environment.items():
        monkeypatch.setenv(name, value)
    return git.require_repository(good.root)


def test_history_names_each_change_once_across_a_merge(
    good: Example, repository: git.Repository, row: Row, other: Row
) -> None:
    good.git("checkout", "-q", "-b", "side")
    good.write({row.id.record_path: b"side\n"})
    good.commit("On the side")
    good.git("checkout", "-q", "main")
    good.write({other.id.record_path: b"main\n"})
    good.commit("On main")
    good.git("merge", "-q", "--no-edit", "side")
    commits = git.history(repository, ["records"])
    changes = [(commit.subject, change.path) for commit in commits for change in commit.changes]
    assert sorted(changes)[:2] == [
        ("On main", other.id.record_path),
        ("On the side", row.id.record_path),
    ]
    assert len(changes) == 4


def test_history_names_what_only_the_merge_itself_changed(
    good: Example, repository: git.Repository, row: Row, other: Row
) -> None:
    good.git("checkout", "-q", "-b", "side")
    good.write({row.id.record_path: b"side\n"})
    good.commit("On the side")
    good.git("checkout", "-q", "main")
    good.write({other.id.record_path: b"main\n"})
    good.commit("On main")
    good.git("merge", "-q", "--no-commit", "side")
    good.write({row.id.record_path: b"slipped in\n"})
    good.commit("Merge")
    merge = git.history(repository, ["records"])[0]
    assert len(merge.parents) == 2
    (change,) = merge.changes
    assert change.path == row.id.record_path
    assert git.blobs(repository, [change.new_oid]) == {change.new_oid: b"slipped in\n"}


@pytest.mark.parametrize("subject", ["\x01" + "a" * 40, ":100644 x", "tabs\tand ümlauts", ""])
def test_no_subject_can_pass_for_something_else(
    good: Example, repository: git.Repository, row: Row, subject: str
) -> None:
    good.write({row.id.record_path: b"edited\n"})
    good.git("add", "-A")
    good.git("commit", "-q", "--allow-empty-message", "-m", subject)
    commits = git.history(repository, ["records"])
    assert [len(commit.changes) for commit in commits] == [1, 2]
    assert commits[0].subject == subject.strip()


def test_history_before_the_first_commit_is_empty(good: Example) -> None:
    inner = good.repo / "new"
    inner.mkdir()
    good.git("init", "-q", cwd=inner)
    fresh = git.open_repository(inner)
    assert fresh is not None
    assert fresh.head is None
    assert git.history(fresh, ["records"]) == []


def test_commands_side_by_side_keep_their_answers_apart(repository: git.Repository) -> None:
    commands = [["rev-parse", "HEAD"], ["cat-file", "-t", "HEAD"], ["rev-parse", "HEAD^{tree}"]]
    assert repository.run_together(*commands) == [repository.run(*words) for words in commands]


def test_a_refusal_of_git_is_told_in_its_own_words(repository: git.Repository) -> None:
    with pytest.raises(git.GitError, match="Not a valid object"):
        repository.run_together(["rev-parse", "HEAD"], ["cat-file", "-t", "nowhere"])


def test_names_are_taken_literally(good: Example, repository: git.Repository) -> None:
    good.write({"records/[a]*.json": b"x\n", "records/a1.json": b"y\n"})
    good.git("add", "-A")
    lines = git.staged(repository, ["records/[a]*.json"])
    assert [line.partition("\t")[2] for line in lines] == ["records/[a]*.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_repository_that_git_does_not_trust_is_no_missing_one(tmp_path: Path) -> None:
    git.initialise(tmp_path)
    for path in (tmp_path, tmp_path / ".git"):
        os.chown(path, 65534, 65534)
    with pytest.raises(GitError, match="does not trust") as refused:
        git.open_repository(tmp_path)
    assert "safe.directory" in str(refused.value.fix)
