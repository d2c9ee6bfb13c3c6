"""The baseline in a change: its entries, and what stood in it before; reads git, judges nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from registry_tool.errors import GitError
from registry_tool.rules.layout import BASELINE, row_of
from registry_tool.rules.views import EntryView, LedgerView, LostView
from registry_tool.store import git
from registry_tool.store.git import Change, Repository
from registry_tool.store.snapshot import Snapshot

Digests = dict[str, Sequence[str]]


def entries(data: bytes) -> dict[str, list[Any]] | None:
    """The fields of each entry's `EntryView` by row; None if ``data`` is no baseline."""
    # Imported here: most registries have no baseline.
    from registry_tool.baseline import read

    baseline = read.lenient(data)
    if baseline is None:
        return None
    lines = {
        text.partition(b":")[2].strip(b' ",'): number
        for number, text in enumerate(data.split(b"\n"), 1)
        if text.lstrip().startswith(b'"row"')
    }
    return {
        entry.row: [entry.record, entry.artifact, lines.get(entry.row.encode(), 1)]
        for entry in baseline.rows
    }


def ledger(
    snapshot: Snapshot,
    baseline: Mapping[str, Sequence[Any]] | None,
    imported: Mapping[str, Sequence[str]],
) -> LedgerView | None:
    """What the change does to the baseline and beside it; None if it does nothing to either."""
    # Where the registry stood in the base: its folder may have been renamed since.
    origin = snapshot.origin or snapshot.repository
    if origin is None or not snapshot.changes:
        return None
    own = next((change for change in snapshot.changes if change.path == BASELINE), None)
    if own is None and not imported:
        return None
    rows = {
        row: change
        for change in snapshot.changes
        if change.path.startswith("records/")
        and (row := row_of(change.path)) is not None
        and row in imported
    }
    if baseline is None:
        return _lost(snapshot, origin, own, rows, imported)
    if own is None and not rows:
        return None
    if own is None:
        before: Digests | None = {row: fields[:2] for row, fields in baseline.items()}
    else:
        before = _before(origin, own, snapshot.base)
    added = {
        row_of(change.path)
        for change in snapshot.changes
        if not change.was_there and change.path.startswith("records/")
    }
    return LedgerView(
        before,
        {row: EntryView(*fields) for row, fields in baseline.items()},
        added.__contains__,
        {} if before is None else dict(_returned(origin, rows)),
    )


def _lost(
    snapshot: Snapshot,
    repository: Repository,
    own: Change | None,
    rows: Mapping[str, Change],
    imported: Mapping[str, Sequence[str]],
) -> LostView | None:
    """The ledger of a state that has none; None if it owes none, never had one, or it is broken.

    Looked for wherever the state comes from: its own commit, and the one that is being merged.
    """
    from registry_tool.baseline import past

    is_there = any(line.startswith("100") for line in snapshot.below([BASELINE]))
    if not imported or is_there:
        return None
    revisions = [oid for oid in (snapshot.base, snapshot.anchor) if oid is not None]
    if snapshot.kind != "revision":
        with contextlib.suppress(GitError):
            revisions.append(git.resolve(repository, "MERGE_HEAD"))
    versions = past.versions(repository, revisions)
    if not versions:
        return None
    oids = [own.old_oid] if own is not None and own.was_there else []
    last = _readable(repository, [*oids, *(version.oid for version in versions)])
    reasons = {
        row: "the row is new" if row not in last else "the row is not as it was imported"
        for row in rows
        if list(last.get(row, ())) != list(imported[row])
    }
    return LostView(
        last,
        {},
        frozenset[str]().__contains__,
        {**dict(_returned(repository, rows)), **reasons},
        rows=len(imported),
        back=f"git checkout {versions[0].commit[:12]} -- {BASELINE}",
    )


def _before(repository: Repository, own: Change, base: str | None) -> Digests | None:
    """What stood in the baseline last, as far as any commit that leads here holds one."""
    from registry_tool.baseline import past

    if base is None:
        return None
    oids = [own.old_oid] if own.was_there else []
    oids += [version.oid for version in past.versions(repository, [base])]
    return _readable(repository, oids) if oids else None


def _readable(repository: Repository, oids: Sequence[str]) -> Digests:
    """The first of ``oids`` that is a baseline; nothing if none is."""
    for _, data in git.stream(repository, dict.fromkeys(oids)):
        found = entries(data)
        if found is not None:
            return {row: fields[:2] for row, fields in found.items()}
    return {}


def _returned(repository: Repository, rows: Mapping[str, Change]) -> Iterator[tuple[str, str]]:
    """The imported rows that this change puts where no import stood, with the reason."""
    from registry_tool.baseline import digests
    from registry_tool.records import canonical
    from registry_tool.records.record import Record

    there = {row: change.old_oid for row, change in rows.items() if change.was_there}
    contents = git.blobs(repository, there.values()) if there else {}
    for row in rows:
        if row not in there:
            yield row, "the row was not there before"
            continue
        try:
            before = canonical.decode_lenient(contents[there[row]], Record)
        except ValueError:
            continue  # nobody knows what it was; it is judged as it is now
        if not digests.is_debt(before):
            yield row, f"the row stood on a verdict of the kind {before.verdict.kind!r} before"
