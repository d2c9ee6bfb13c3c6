"""The field-level difference of two records."""

from __future__ import annotations

import json
from typing import Any

from registry_tool.history.diff import Difference, difference, flat
from tests.examples.build import Row


def document(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(row.files()[row.id.record_path])
    return found


def test_equal_records_do_not_differ(row: Row) -> None:
    assert difference(document(row), document(row)) == []


def test_a_nested_field_is_named_by_its_path(row: Row) -> None:
    before, after = document(row), document(row)
    after["tile"]["tile_m"] = 16
    after["verdict"]["sha256"] = "0" * 64
    found = difference(before, after)
    assert [one.field for one in found] == ["tile.tile_m", "verdict.sha256"]
    assert found[0] == Difference("tile.tile_m", before["tile"]["tile_m"], 16)


def test_a_list_is_one_field(row: Row) -> None:
    before, after = document(row), document(row)
    after["notes"] = ["a remark"]
    assert difference(before, after) == [Difference("notes", [], ["a remark"])]


def test_what_appears_or_goes_has_nothing_on_the_other_side(row: Row) -> None:
    before, after = document(row), document(row)
    after["performance"] = {"latency_us": 1.0, "gflops": None}
    found = {one.field: (one.before, one.after) for one in difference(before, after)}
    assert found["performance.latency_us"] == (None, 1.0)


def test_the_format_is_no_field(row: Row) -> None:
    before, after = document(row), document(row)
    after["schema_version"] = 2
    assert difference(before, after) == []
    assert "schema_version" not in flat(after)
    assert flat(after)["shape.M"] == 2048
