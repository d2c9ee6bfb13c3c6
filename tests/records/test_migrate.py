"""The way from an older format version to today's."""

from __future__ import annotations

from typing import Any

import pytest

from registry_tool.errors import InputError
from registry_tool.records import migrate
from registry_tool.records.schema import TYPES
from tests.records import examples


@pytest.mark.parametrize("kind", migrate.CURRENT)
def test_today_s_version_stays_as_it_is(kind: str) -> None:
    document = {"schema_version": migrate.CURRENT[kind], "kept": [1, 2]}
    assert migrate.migrate(kind, document) == document


def test_every_file_type_has_a_version_and_its_schema_says_the_same() -> None:
    assert {f"{kind}-{version}" for kind, version in migrate.CURRENT.items()} == set(TYPES)


def test_the_examples_are_of_today_s_version() -> None:
    for part in (examples.RECORD, examples.VERDICT, examples.MODEL):
        kind = type(part).__name__.lower()
        assert migrate.migrate(kind, examples.plain(part)) == examples.plain(part)


@pytest.mark.parametrize("version", [None, "1", 0, -1, 1.0, True, [1]])
def test_a_version_is_a_whole_number_from_one(version: object) -> None:
    with pytest.raises(InputError, match="schema_version must be a whole number from 1"):
        migrate.migrate("record", {"schema_version": version})


def test_a_missing_version_is_named() -> None:
    with pytest.raises(InputError, match="found None"):
        migrate.migrate("record", {})


def test_a_newer_version_says_what_to_upgrade() -> None:
    with pytest.raises(InputError, match="format version 7") as caught:
        migrate.migrate("verdict", {"schema_version": 7})
    assert caught.value.fix == "pip install --upgrade registry-tool"


def _one_to_two(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "schema_version": 2, "added": True}


def _two_to_three(document: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in document.items() if key != "dropped"}
    return {**kept, "schema_version": 3}


STEPS = {("record", 1): _one_to_two, ("record", 2): _two_to_three}


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        (
            {"schema_version": 1, "dropped": 1, "kept": 2},
            {"schema_version": 3, "kept": 2, "added": True},
        ),
        ({"schema_version": 2, "dropped": 1}, {"schema_version": 3}),
        ({"schema_version": 3, "dropped": 1}, {"schema_version": 3, "dropped": 1}),
    ],
)
def test_migrations_are_applied_one_after_the_other(
    document: dict[str, Any], wanted: dict[str, Any]
) -> None:
    before = dict(document)
    assert migrate.migrate("record", document, STEPS, {"record": 3}) == wanted
    assert document == before


def test_a_missing_step_is_an_error() -> None:
    with pytest.raises(InputError, match="no migration of a record from format version 2"):
        migrate.migrate(
            "record", {"schema_version": 1}, {("record", 1): _one_to_two}, {"record": 3}
        )
