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
        first: dict[str, Document] = {}
        for at, version in reversed(list(enumerate(rows))):
            run, after = artifact(version.after), version.after
            if run is None or after is None or "unreadable" in after:
                continue
            # Taking an edit back is no edit.
            fields = _measured(first.setdefault(run, after), after)
            if fields and not _was_so(version, rows[at + 1 :], blobs):
                yield Found(
                    "edited-without-verdict",
                    version.commit,
                    version.row,
                    version.path,
                    f"{', '.join(fields)} changed, and the verdict is still {run}",
                    f"git show {version.commit.oid[:12]} -- {version.place}{version.path}",
                )


def _was_so(version: Version, older: Sequence[Version], blobs: Mapping[str, Document]) -> bool:
    """Whether a version before, or a side of the merge, had the measured fields already."""
    assert version.after is not None
    before = [version.before, *(blobs[oid] for oid in version.olds[1:] if oid is not None)]
    if version.before is None:
        # Retired, and written again.
        before += [one.before for one in older[:1]]
    return any(
        one is not None
        and artifact(one) == artifact(version.after)
        and not _measured(one, version.after)
        for one in before
    )


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
