"""Snapshots: the same files seen through the work tree, the index and a revision."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from registry_tool.errors import GitError
from registry_tool.store import git, snapshot
from registry_tool.store.snapshot import Snapshot
from tests.examples.build import Row
from tests.examples.example import Example


@pytest.fixture(autouse=True)
def _clean_environment(good: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in good.environment.items():
        monkeypatch.setenv(name, value)
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)


def states(good: Example) -> list[Snapshot]:
    return [
        snapshot.of_worktree(good.root),
        snapshot.of_index(good.root),
        snapshot.of_revision(good.root, "HEAD"),
    ]


def test_three_views_of_a_clean_registry_agree(good: Example, row: Row) -> None:
    worktree, index, revision = states(good)
    assert worktree.oids == index.oids == revision.oids
    assert worktree.lines == index.lines == revision.lines
    assert {state.read(row.id.record_path) for state in (worktree, index, revision)} == {
        row.files()[row.id.record_path]
    }
    assert worktree.changes == index.changes == []


def test_an_edit_is_seen_where_it_is(good: Example, row: Row) -> None:
    path = row.id.record_path
    good.write({path: b"staged\n"})
    good.git("add", path)
    good.write({path: b"on disk\n"})
    worktree, index, revision = states(good)
    assert worktree.read(path) == b"on disk\n"
    assert index.read(path) == b"staged\n"
    assert revision.read(path) == row.files()[path]
    for state in (worktree, index):
        (change,) = state.changes
        assert (change.path, change.old_oid) == (path, revision.oids[path])
        assert change.new_oid == state.oids[path] != change.old_oid


def test_an_edit_and_its_undoing_on_disk_is_no_change(good: Example, row: Row) -> None:
    path = row.id.record_path
    good.write({path: b"staged\n"})
    good.git("add", path)
    good.write({path: row.files()[path]})
    assert snapshot.of_worktree(good.root).changes == []
    assert len(snapshot.of_index(good.root).changes) == 1


def test_new_and_deleted_files_are_changes(good: Example, row: Row) -> None:
    good.path(row.id.record_path).unlink()
    good.write({"models/New.json": b"{}\n"})
    changes = {change.path: change for change in snapshot.of_worktree(good.root).changes}
    assert not changes[row.id.record_path].is_there
    assert changes[row.id.record_path].was_there
    assert changes["models/New.json"].is_there
    assert not changes["models/New.json"].was_there
    assert snapshot.of_index(good.root).changes == []


def test_files_that_git_ignores_are_on_disk_all_the_same(good: Example, row: Row) -> None:
    good.write({".gitignore": "*.log\n", "verdicts/t/K/1/run.log": "x\n"})
    assert "verdicts/t/K/1/run.log" in snapshot.of_worktree(good.root).oids


def test_what_is_not_the_registrys_is_not_read(good: Example) -> None:
    good.write({"venv/big.py": "x\n", "notes.txt": "x\n"})
    good.git("add", "-A")
    for state in states(good):
        assert not any(path.startswith(("venv", "notes")) for path in state.oids)


def test_half_written_files_are_left_alone(good: Example) -> None:
    good.write({"records/npu2-emu/K/.1.json.123-abcd.tmp": "{"})
    assert not any(path.endswith(".tmp") for path in snapshot.of_worktree(good.root).oids)


def test_before_the_first_commit_everything_is_new(good: Example) -> None:
    shutil.rmtree(good.repo / ".git")
    good.git("init", "-q")
    good.git("add", "-A")
    state = snapshot.of_index(good.root)
    assert state.base is None
    assert {change.path for change in state.changes} == set(state.oids)
    assert snapshot.of_worktree(good.root).oids == state.oids


def test_without_git_the_folder_is_read(good: Example) -> None:
    tracked = snapshot.of_index(good.root).oids
    shutil.rmtree(good.repo / ".git")
    state = snapshot.of_worktree(good.root)
    assert state.oids == tracked
    assert state.repository is None
    with pytest.raises(GitError):
        snapshot.of_index(good.root)


def test_a_link_is_no_file(good: Example) -> None:
    good.path("records/link.json").symlink_to("/etc/passwd")
    good.git("add", "-A")
    for state in (snapshot.of_worktree(good.root), snapshot.of_index(good.root)):
        assert "records/link.json" not in state.oids
        assert any(line.startswith("120000") for line in state.lines)


def test_an_unmerged_path_is_no_file(good: Example, row: Row) -> None:
    path = row.id.record_path
    for branch, text in (("theirs", "1\n"), ("main", "2\n")):
        good.git("checkout", "-q", *(["-b"] if branch == "theirs" else []), branch)
        good.write({path: text})
        good.commit()
    assert good.try_git("merge", "theirs").returncode != 0
    index = snapshot.of_index(good.root)
    assert path not in index.oids
    for state in (index, snapshot.of_worktree(good.root)):
        assert len([line for line in state.lines if line.endswith(f"\t{path}")]) >= 3
        assert [change.after for change in state.changes] == ["unmerged"]


@pytest.mark.parametrize("words", [(), ("--amend",)])
def test_what_differs_from_another_state_is_told_from_commits_and_changes(
    good: Example, row: Row, other: Row, words: tuple[str, ...]
) -> None:
    def known() -> tuple[str | None, dict[str, tuple[str, str]]]:
        state = snapshot.of_index(good.root)
        return state.anchor, {c.path: (c.before, c.after) for c in state.deviations}

    before = known()
    assert snapshot.of_index(good.root).differing_from(*before) == set()
    good.write({row.id.record_path: "staged\n"})
    good.git("add", "-A")
    staged = known()
    now = snapshot.of_index(good.root)
    assert now.differing_from(*before) == {row.id.record_path}
    assert snapshot.of_revision(good.root, "HEAD").differing_from(*staged) == {row.id.record_path}
    good.git("commit", "-q", "-m", "x", *words)
    committed = snapshot.of_index(good.root)
    assert committed.differing_from(*staged) == set()
    assert committed.differing_from(*before) == {row.id.record_path}
    good.write({other.id.record_path: "on disk\n", row.id.record_path: "on disk too\n"})
    disk = snapshot.of_worktree(good.root)
    assert disk.differing_from(*staged) == {row.id.record_path, other.id.record_path}


def test_a_commit_that_is_gone_tells_nothing(good: Example) -> None:
    assert snapshot.of_index(good.root).differing_from("0" * 39 + "1", {}) is None


def test_a_stream_hands_out_what_reading_does(good: Example) -> None:
    state = snapshot.of_index(good.root)
    entries = [*state.oids.items()] * 2
    assert list(state.stream(entries)) == [(path, state.read(path)) for path, _ in entries]


def test_what_is_held_on_the_way_is_not_mixed_up(good: Example, row: Row) -> None:
    """Two paths with the same content, and a reader that keeps what it is handed."""
    name = row.id.record_path
    good.write({"models/a.json": b"one\n", "models/b.json": b"one\n", "models/c.json": b"two\n"})
    good.git("add", "-A")
    state = snapshot.of_index(good.root)
    expected = {path: snapshot.of_index(good.root).read(path) for path in state.oids}
    state.hold()
    assert dict(state.stream(state.oids.items())) == expected
    assert state.read(name) == row.files()[name]


def test_a_stream_may_be_left_in_the_middle(good: Example) -> None:
    state = snapshot.of_index(good.root)
    stream = state.stream([*state.oids.items()] * 50)
    next(stream)
    stream.close()  # type: ignore[attr-defined]


def test_a_missing_object_is_named(good: Example) -> None:
    repository = git.require_repository(good.root)
    with pytest.raises(GitError, match="1234"):
        git.blobs(repository, ["1234" * 10])


def test_a_revision_that_does_not_exist_is_named(good: Example) -> None:
    with pytest.raises(GitError, match="--output=x"):
        snapshot.of_revision(good.root, "--output=x")


def test_a_registry_that_moved_to_another_folder_has_its_prefix(
    tmp_path: Path, good: Example
) -> None:
    inner = good.repo / "inner"
    inner.mkdir()
    for name in ("registry.yaml", "records", "verdicts", "models"):
        shutil.move(good.repo / name, inner / name)
    good.git("add", "-A")
    state = snapshot.of_index(inner)
    assert "registry.yaml" in state.oids
    assert all(not path.startswith("inner/") for path in state.oids)
