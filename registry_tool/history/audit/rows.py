"""Rows whose measured fields changed without a run, and waivers that are prolonged for ever."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from registry_tool.history.audit.finding import Found
from registry_tool.history.diff import difference
from registry_tool.history.identity import Document
from registry_tool.history.log import artifact
from registry_tool.history.series import by_row
from registry_tool.history.versions import Version, document
from registry_tool.store import git
from registry_tool.store.git import Repository

_HUMAN = ("used_by", "notes", "waivers", "provenance")
_EXTENSIONS = 2
"""Prolongations of one waiver from which on it is a habit."""


def edited(repository: Repository, versions: Sequence[Version]) -> Iterator[Found]:
    """Versions whose measured fields differ from another version with the same verdict.

    ``versions`` are newest first.
    """
    merges = [version for version in versions if len(version.olds) > 1]
    oids = {oid for version in merges for oid in version.olds if oid is not None}
    blobs = {oid: document(data) for oid, data in git.blobs(repository, oids).items()}
    for rows in by_row(versions).values():
        for at, version in enumerate(rows):
            fields = _edited_fields(version, rows[at + 1 :], blobs)
            if fields:
                yield Found(
                    "edited-without-verdict",
                    version.commit,
                    version.row,
                    version.path,
                    f"{', '.join(fields)} changed, and the verdict is still "
                    f"{artifact(version.after)}",
                    f"git show {version.commit.oid[:12]} -- {version.place}{version.path}",
                )


def _edited_fields(
    version: Version, older: Sequence[Version], blobs: Mapping[str, Document]
) -> list[str]:
    after, run = version.after, artifact(version.after)
    if after is None or run is None or "unreadable" in after:
        return []
    befores: list[Document | None] = [
        version.before,
        *(blobs[oid] for oid in version.olds[1:] if oid is not None),
    ]
    if version.before is None:
        # Retired and written again: what it said when it stood on this run before counts.
        befores = [one.after for one in older if one.after is not None][:1]
        befores = befores or [one.before for one in older][:1]
    same_run = [one for one in befores if one is not None and artifact(one) == run]
    kept = [_measured(before, after) for before in same_run]
    # A merge that took its numbers whole from one side has edited nothing.
    return min(kept, key=len) if kept else []


def _measured(before: Document, after: Document) -> list[str]:
    inherited = after.get("provenance")
    named = tuple(inherited) if isinstance(inherited, Mapping) else ()
    return [
        one.field
        for one in difference(before, after)
        if one.field.partition(".")[0] not in _HUMAN
        and one.field not in named
        and one.field.partition(".")[0] not in named
    ]


def prolonged(versions: Sequence[Version]) -> Iterator[Found]:
    """Waivers whose last day was moved on at least twice; ``versions`` are newest first."""
    for row, found in by_row(versions).items():
        days: dict[str, list[tuple[str, Version]]] = {}
        for version in reversed(found):
            for rule, expires in _waivers(version.after):
                known = days.setdefault(rule, [])
                if not known or expires > known[-1][0]:
                    known.append((expires, version))
        for rule, moved in days.items():
            if len(moved) <= _EXTENSIONS:
                continue
            last = moved[-1][1]
            yield Found(
                "waiver-extended",
                last.commit,
                row,
                last.path,
                f"the waiver of {rule} was prolonged {len(moved) - 1} times: until "
                + ", then ".join(day for day, _ in moved),
                f"registry-tool waive {row} {rule} --remove",
                tuple(version.commit.oid for _, version in moved[:-1]),
            )


def _waivers(record: Document | None) -> Iterator[tuple[str, str]]:
    waivers: Any = (record or {}).get("waivers")
    for one in waivers if isinstance(waivers, list) else []:
        rule, expires = (one.get("rule"), one.get("expires")) if isinstance(one, dict) else (0, 0)
        if isinstance(rule, str) and isinstance(expires, str):
            yield rule, expires
