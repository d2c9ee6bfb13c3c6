"""`registry-tool blame`: who last set each field of a row."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.records.record import Record, Use
from tests.examples.build import Row
from tests.examples.example import Example
from tests.history.world import KEY


def lines(example: Example, *words: str) -> list[dict[str, Any]]:
    status, out = example.command("blame", *words, "--format", "json")
    assert status == 0
    found: list[dict[str, Any]] = json.loads(out)
    return found


def setter(example: Example, field: str, *words: str) -> str | None:
    (line,) = [one for one in lines(example, *words) if one["field"] == field]
    commit: str | None = line["commit"]
    return commit


def write(good: Example, row: Row, record: Record, author: str) -> str:
    good.write({row.id.record_path: canonical.encode(record)})
    good.environment["GIT_AUTHOR_NAME"] = author
    good.commit(author)
    return good.git("rev-parse", "HEAD").strip()


def test_a_figure_is_blamed_on_the_commit_that_last_changed_it(runs: Example) -> None:
    assert setter(runs, "performance.latency_us", KEY) == runs.git("rev-parse", "HEAD").strip()
    assert setter(runs, "mean_rel_L1", KEY) == runs.git("rev-parse", "HEAD~7").strip()


def test_each_note_and_use_has_its_own_line(good: Example, row: Row) -> None:
    first = write(good, row, replace(row.record, notes=["one"]), "Ann")
    second = write(good, row, replace(row.record, notes=["two", "one", "one"]), "Bob")
    use = Use(model="Toy-1B", site="prefill O")
    third = write(good, row, replace(row.record, notes=["two", "one", "one"], used_by=[use]), "Cy")
    found = [
        (one["field"], one["value"], one["commit"], one["author"])
        for one in lines(good, str(row.id))
        if one["field"] in ("notes", "used_by")
    ]
    assert found == [
        ("used_by", {"model": "Toy-1B", "site": "prefill O"}, third, "Cy"),
        ("notes", "two", second, "Bob"),
        ("notes", "one", first, "Ann"),
        ("notes", "one", second, "Bob"),
    ]


def test_a_value_that_went_and_came_back_is_blamed_on_its_return(good: Example, row: Row) -> None:
    write(good, row, replace(row.record, notes=["one"]), "Ann")
    write(good, row, replace(row.record, notes=[]), "Bob")
    back = write(good, row, replace(row.record, notes=["one"]), "Cy")
    assert setter(good, "notes", str(row.id)) == back


def test_what_is_not_committed_is_said_so(good: Example, row: Row) -> None:
    good.write({row.id.record_path: canonical.encode(replace(row.record, notes=["new"]))})
    assert setter(good, "notes", str(row.id)) is None
    assert "not committed yet" in good.command("blame", str(row.id))[1]
    assert not [one for one in lines(good, str(row.id), "--at", "HEAD") if one["field"] == "notes"]


def test_a_side_branch_is_blamed_itself_and_not_the_merge(good: Example, row: Row) -> None:
    good.git("checkout", "-q", "-b", "side")
    side = write(good, row, replace(row.record, notes=["from the side"]), "Sid")
    good.git("checkout", "-q", "main")
    good.write({"README.md": "x\n"})
    good.commit("main goes on")
    good.git("merge", "-q", "--no-edit", "side")
    assert setter(good, "notes", str(row.id)) == side


def test_a_row_that_is_none_is_wrong_use(
    good: Example, row: Row, capsys: pytest.CaptureFixture[str]
) -> None:
    assert good.command("blame", "9x9x9+drain")[0] == 2
    assert "no row is called" in capsys.readouterr().err
