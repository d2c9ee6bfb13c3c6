"""When each row appeared, changed and went, by which commit and verdict, from git alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import msgspec

from registry_tool.history.diff import Document, difference, flat
from registry_tool.store import git
from registry_tool.store.git import Change, Commit, Repository

Kind = Literal["added", "changed", "retired"]
Wanted = Callable[[str, str, str], bool]
"""Whether a row is asked for: target, kernel, key."""

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True)
class Event:
    """What one commit did to one row.

    ``before`` and ``after`` are the fields that differ (`diff.difference` names them); a row that
    was added has all of them after, one that was retired all of them before. ``verdict`` is the
    artifact that the row stands on after the commit, or stood on when it was retired.
    """

    commit: str
    date: str
    author: str
    record: str
    event: Kind
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    verdict: str | None


def events(
    repository: Repository, wanted: Wanted | None = None, revision: str = "HEAD"
) -> Iterator[Event]:
    """What every commit did to every row that is ``wanted``, newest first."""
    found = [
        (commit, change, row)
        for commit in git.history(repository, ["records"], revision)
        for change in commit.changes
        if (row := _row(change.path, wanted)) is not None
    ]
    oids = dict.fromkeys(
        oid
        for _, change, _ in found
        for oid, there in ((change.old_oid, change.was_there), (change.new_oid, change.is_there))
        if there
    )
    documents = {oid: _document(data) for oid, data in git.stream(repository, oids)}
    yield from map(partial(_event, documents), found)


def _row(path: str, wanted: Wanted | None) -> str | None:
    parts = path.split("/")
    if len(parts) != 4 or not path.endswith(".json"):
        return None
    _, target, kernel, name = parts
    key = name[:-5]
    if wanted is not None and not wanted(target, kernel, key):
        return None
    return f"{target}/{kernel}/{key}"


def _document(data: bytes) -> Document:
    try:
        document = _decode(data)
    except msgspec.DecodeError as error:
        return {"unreadable": str(error)}
    return document if isinstance(document, dict) else {"unreadable": "not a JSON object"}


def _event(documents: dict[str, Document], found: tuple[Commit, Change, str]) -> Event:
    commit, change, row = found
    old = documents[change.old_oid] if change.was_there else None
    new = documents[change.new_oid] if change.is_there else None
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    kind: Kind = "changed"
    if old is None:
        kind, after = "added", flat(new or {})
    elif new is None:
        kind, before = "retired", flat(old)
    else:
        differences = difference(old, new)
        before = {one.field: one.before for one in differences}
        after = {one.field: one.after for one in differences}
    return Event(
        commit=commit.oid,
        date=commit.date,
        author=commit.author,
        record=row,
        event=kind,
        before=before,
        after=after,
        verdict=_verdict(new if new is not None else old),
    )


def _verdict(document: Document | None) -> str | None:
    link = (document or {}).get("verdict")
    artifact = link.get("artifact") if isinstance(link, dict) else None
    return artifact if isinstance(artifact, str) else None
