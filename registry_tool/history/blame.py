"""Which commit last set each field of a row, each note, use and waiver apart."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from registry_tool.history.diff import flat
from registry_tool.history.identity import Document
from registry_tool.history.log import artifact
from registry_tool.history.versions import Version
from registry_tool.store.git_history import Commit

_LISTS = ("used_by", "notes", "waivers")


class Line(NamedTuple):
    """One field, or one element of a list that people own; without a commit it is not committed.

    ``verdict`` is the artifact that the row stood on then.
    """

    field: str
    value: Any
    commit: Commit | None
    verdict: str | None


def blame(versions: Sequence[Version], shown: Document) -> list[Line]:
    """A line for everything in ``shown``, in its order; ``versions`` are those that led to it.

    ``versions`` are oldest first. What none of them holds as it is shown is not committed.
    """
    return [
        Line(field, value, *_setter(versions, field, value, nth))
        for field, value, nth in _parts(shown)
    ]


def _parts(document: Document) -> Iterator[tuple[str, Any, int]]:
    """Field, value, and which of its equals in a list it is (from 1)."""
    for field, value in flat(document).items():
        if field in _LISTS and isinstance(value, list):
            seen: Counter[str] = Counter()
            for element in value:
                seen[_text(element)] += 1
                yield field, element, seen[_text(element)]
        else:
            yield field, value, 0


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _setter(
    versions: Sequence[Version], field: str, value: Any, nth: int
) -> tuple[Commit | None, str | None]:
    found: Version | None = None
    for version in reversed(versions):
        if not _holds(version.after, field, value, nth):
            break
        found = version
    return (None, None) if found is None else (found.commit, artifact(found.after))


def _holds(document: Document | None, field: str, value: Any, nth: int) -> bool:
    if document is None:
        return False
    if nth:
        there = document.get(field)
        wanted = _text(value)
        return isinstance(there, list) and sum(_text(one) == wanted for one in there) >= nth
    at: Any = flat(document)
    return field in at and bool(at[field] == value)
