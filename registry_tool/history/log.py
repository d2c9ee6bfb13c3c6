"""When each row appeared, changed and went, by which commit and verdict, from git alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from registry_tool.history.diff import difference, flat
from registry_tool.history.identity import Document
from registry_tool.history.versions import Version, Wanted, versions
from registry_tool.store.git import Repository

Kind = Literal["added", "changed", "retired"]


class Event(Struct, frozen=True, gc=False):
    """What one commit did to one row.

    ``before`` and ``after`` are the fields that differ (`diff.difference` names them); a row that
    was added has all of them after, one that was retired all of them before. ``verdict`` is the
    artifact that the row stands on after the commit, or stood on when it was retired. The rest is
    there where it was looked for: what surrounded the run (`environment.facts`), what of that was
    otherwise for the version before ([before, after]), and whether the row may be older than git
    can tell, because the clone is shallow.
    """

    commit: str
    date: str
    author: str
    record: str
    event: Kind
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    verdict: str | None
    environment: dict[str, str | None] | UnsetType | None = UNSET
    environment_changed: dict[str, list[str | None]] | UnsetType = UNSET
    cut: bool | UnsetType = UNSET


def events(
    repository: Repository,
    wanted: Wanted | None = None,
    revision: str = "HEAD",
    without: Sequence[str] = (),
) -> Iterator[Event]:
    """What every commit did to every row that is ``wanted``, newest first; raises GitError."""
    return map(event, versions(repository, wanted, revision, without))


def event(version: Version) -> Event:
    """What happened to the row, field by field."""
    commit, old, new = version.commit, version.before, version.after
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    kind: Kind = "changed"
    if old is None:
        kind, after = "added", flat(new or {})
    elif new is None:
        kind, before = "retired", flat(old)
    else:
        before, after = {}, {}
        for one in difference(old, new):
            before[one.field], after[one.field] = one.before, one.after
    return Event(
        commit.oid,
        commit.date,
        commit.author,
        version.row,
        kind,
        before,
        after,
        artifact(new if new is not None else old),
    )


def artifact(document: Document | None) -> str | None:
    """The verdict that a version of a row stands on."""
    link = (document or {}).get("verdict")
    found = link.get("artifact") if isinstance(link, dict) else None
    return found if isinstance(found, str) else None
