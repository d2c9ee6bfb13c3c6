"""The field-level difference of two records; knows nothing of git and nothing of printing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from registry_tool.history.identity import Document

_NOT_FIELDS = ("$schema", "schema_version")


class Difference(NamedTuple):
    """One field that differs; None stands for a field that is not there, too."""

    field: str
    before: Any
    after: Any


def difference(before: Document, after: Document) -> list[Difference]:
    """The fields that differ, in the order of the record; ``tile.tile_m`` names a nested one."""
    found = []
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if was != now and name not in _NOT_FIELDS:
            ours, theirs = dict(_parts(name, was)), dict(_parts(name, now))
            found += [
                Difference(field, ours.get(field), theirs.get(field))
                for field in dict.fromkeys((*ours, *theirs))
                if ours.get(field) != theirs.get(field)
            ]
    return found


def flat(document: Document) -> dict[str, Any]:
    """Every field of a record under the name that `difference` gives it."""
    found: dict[str, Any] = {}
    for name, part in document.items():
        if type(part) is not dict or not part:
            found[name] = part
            continue
        for below, value in part.items():
            if type(value) is dict:
                found.update(_parts(f"{name}.{below}", value))
            else:
                found[f"{name}.{below}"] = value
    for name in _NOT_FIELDS:
        found.pop(name, None)
    return found


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for below, part in value.items():
            yield from _parts(f"{name}.{below}", part)
    else:
        yield name, value
