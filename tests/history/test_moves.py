"""A registry whose folder was renamed keeps its history; merges show what they made themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.store import git
from registry_tool.store.git_history import place_of, walk
from tests.examples import example
from tests.examples.build import Row
from tests.examples.example import Example
from tests.history.world import measured


def events(made: Example, *words: str) -> list[tuple[str, str, str]]:
    status, out = made.command("log", *words, "--format", "json")
    assert status == 0
    found: list[dict[str, Any]] = json.loads(out)
    subjects = {
        line[:40]: line[41:] for line in made.git("log", "--all", "--format=%H %s").splitlines()
    }
    return [(one["event"], subjects[one["commit"]], one["record"]) for one in found]


def move(made: Example, place: str) -> None:
    """`git mv` of the whole registry to ``place``."""
    target = made.repo / place
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(made.root.iterdir()):
        if entry.name not in (".git", place.split("/")[0]):
            made.git("mv", str(entry), str(target))
    made.root = target
    made.commit("Move")


def note(made: Example, row: Row, text: str) -> None:
    made.write({row.id.record_path: canonical.encode(replace(row.record, notes=[text]))})
    made.commit(text)


def test_a_renamed_registry_keeps_its_history(good: Example, row: Row, other: Row) -> None:
    note(good, row, "before")
    move(good, "tools/registry")
    note(good, row, "between")
    move(good, "elsewhere")
    note(good, row, "after")
    assert events(good) == [
        ("changed", "after", str(row.id)),
        ("changed", "between", str(row.id)),
        ("changed", "before", str(row.id)),
        ("added", "Start", str(row.id)),
        ("added", "Start", str(other.id)),
    ]
    assert [one[:2] for one in events(good, "--until", "HEAD~3")] == [
        ("changed", "before"), ("added", "Start"), ("added", "Start"),
    ]  # fmt: skip


def test_what_changed_in_the_commit_of_the_move_is_told_alone(good: Example, row: Row) -> None:
    target = good.repo / "reg"
    target.mkdir()
    good.git("mv", "registry.yaml", "records", "verdicts", "reg")
    good.root = target
    note(good, row, "moved and edited")
    assert events(good)[0] == ("changed", "moved and edited", str(row.id))
    assert len(events(good)) == 3


def test_a_branch_from_before_the_move_keeps_its_events(good: Example, row: Row) -> None:
    good.git("checkout", "-q", "-b", "side")
    note(good, row, "on the side")
    good.git("checkout", "-q", "main")
    move(good, "reg")
    good.git("merge", "-q", "-X", "find-renames=50", "--no-edit", "side")
    assert "on the side" in good.path(row.id.record_path).read_text("utf-8")
    found = events(good)
    assert found.count(("changed", "on the side", str(row.id))) == 1
    assert len(found) == 3


def test_a_new_registry_in_the_old_place_is_another_one(good: Example, row: Row) -> None:
    move(good, "reg")
    second = Example(good.repo, good.repo, good.environment)
    second.write({"registry.yaml": good.path("registry.yaml").read_bytes()})
    second.add(measured(1.0, 1))
    second.commit("Second")
    assert [one[1] for one in events(good)] == ["Start", "Start"]
    assert [one[:2] for one in events(second)] == [("added", "Second")]


def test_a_merge_that_edits_a_row_itself_is_an_event(good: Example, row: Row, other: Row) -> None:
    good.git("checkout", "-q", "-b", "side")
    note(good, row, "side")
    good.git("checkout", "-q", "main")
    good.write({"README.md": "x\n"})
    good.commit("main")
    good.git("merge", "-q", "--no-commit", "side")
    good.write({row.id.record_path: canonical.encode(replace(row.record, notes=["evil"]))})
    good.write({other.id.record_path: canonical.encode(replace(other.record, notes=["evil"]))})
    good.git("add", "-A")
    good.git("commit", "-q", "--no-verify", "-m", "merge")
    assert events(good)[:2] == [
        ("changed", "merge", str(row.id)),
        ("changed", "merge", str(other.id)),
    ]
    assert events(good)[2] == ("changed", "side", str(row.id))


def test_an_octopus_merge_adds_no_event(good: Example, row: Row, other: Row) -> None:
    for name, which in (("one", row), ("two", other)):
        good.git("checkout", "-q", "-b", name, "main")
        note(good, which, name)
    good.git("checkout", "-q", "main")
    good.git("merge", "-q", "--no-edit", "one", "two")
    assert sorted(events(good)[:2]) == [
        ("changed", "one", str(row.id)), ("changed", "two", str(other.id)),
    ]  # fmt: skip
    assert len(events(good)) == 4


def test_skewed_clocks_do_not_turn_history_round(good: Example, row: Row) -> None:
    for text, year in (("first", 2030), ("second", 2001)):
        good.environment["GIT_COMMITTER_DATE"] = f"{year}-01-01T00:00:00Z"
        note(good, row, text)
    assert [one[1] for one in events(good)[:2]] == ["second", "first"]


def test_replaced_and_grafted_commits_do_not_hide_history(good: Example, row: Row) -> None:
    note(good, row, "hidden")
    note(good, row, "shown")
    before = good.command("log", "--format", "json")
    good.git("replace", "--graft", "HEAD", "HEAD~2")
    good.write({".git/info/grafts": f"{good.git('rev-parse', 'HEAD').strip()}\n"})
    assert good.git("log", "--format=%s").splitlines() == ["shown"]
    assert good.command("log", "--format", "json") == before


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_either_hash_will_do(tmp_path: Any, row: Row, object_format: str) -> None:
    made = Example(tmp_path, tmp_path)
    made.git("init", "-q", "-b", "main", f"--object-format={object_format}")
    made.write({"registry.yaml": example.POLICY})
    made.add(row)
    made.commit("Start")
    note(made, row, "again")
    status, out = made.command("log", "--format", "json")
    assert status == 0
    assert [one["event"] for one in json.loads(out)] == ["changed", "added"]
    assert made.command("audit", "--no-rules")[0] == 0


def test_odd_names_of_people_and_messages_stay_in_their_place(good: Example, row: Row) -> None:
    good.environment["GIT_AUTHOR_NAME"] = "\x01odd :100644 ÿ"
    good.git("config", "i18n.commitEncoding", "ISO-8859-1")
    note(good, row, "\x01 :100644 000000")
    repository = git.require_repository(good.root)
    (commit, *_) = walk(repository, ["records"])
    assert ":100644" in commit.author
    assert [delta.path for delta in commit.deltas] == [row.id.record_path]


def test_where_it_stood_is_known_of_an_older_commit(good: Example) -> None:
    move(good, "reg")
    repository = git.require_repository(good.root)
    assert place_of(repository, "HEAD") == "reg/"
    assert place_of(repository, "HEAD~1") == ""
