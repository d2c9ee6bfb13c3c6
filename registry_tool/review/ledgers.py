"""What a change adds to and takes from the verdicts and from the debt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from registry_tool.baseline import read
from registry_tool.records import canonical
from registry_tool.records.baseline import PATH, Entry
from registry_tool.records.verdict import Verdict
from registry_tool.review.model import Debt, Run, Signed, Verdicts
from registry_tool.review.sides import Side
from registry_tool.rules.layout import kind_of, row_of
from registry_tool.signing.names import verdict_of
from registry_tool.store.git import Change


def verdicts(after: Side, changes: Sequence[Change]) -> Verdicts:
    """New verdicts, those of them that did not pass, and old evidence that is touched."""
    evidence = [change for change in changes if kind_of(change.path) in _EVIDENCE]
    new = [
        change
        for change in evidence
        if change.path.endswith(".json") and change.is_there and not change.was_there
    ]
    failed = []
    for path, data in after.snapshot.stream((change.path, change.new_oid) for change in new):
        row = row_of(path) or path
        name = path.rpartition("/")[2].removesuffix(".json")
        try:
            verdict = canonical.decode_lenient(data, Verdict)
        except (ValueError, RecursionError) as error:
            failed.append(Run(row, name, "unreadable", str(error)))
            continue
        if verdict.status != "pass" and verdict.kind != "imported":
            failed.append(Run(row, name, verdict.status, verdict.reason))
    return Verdicts(
        added=len(new),
        not_passed=tuple(failed),
        edited=tuple(c.path for c in evidence if c.was_there and c.is_there),
        deleted=tuple(c.path for c in evidence if c.was_there and not c.is_there),
        signed=tuple(_signed(after, evidence, {change.path for change in new})),
    )


_EVIDENCE = ("verdict", "log", "signature")


def _signed(after: Side, evidence: Sequence[Change], new: set[str]) -> Iterator[Signed]:
    """Verdicts that were there before and are signed now; a new one's row names its signer."""
    artifacts = dict.fromkeys(
        f"{folder}/{verdict_of(name)}"
        for folder, _, name in (c.path.rpartition("/") for c in evidence if c.is_there)
        if name.endswith(".sig")
    )
    for artifact in artifacts:
        if artifact not in new:
            yield Signed(artifact, after.signer(artifact))


def debt(before: Side, after: Side, changes: Sequence[Change]) -> Debt:
    """Rows that baseline.json names newly, no more, or with another content."""
    touched = [change for change in changes if change.path == PATH]
    theirs = _entries(after, PATH) if touched else {}
    if not touched:
        return Debt(owed=0)
    ours = _entries(before, PATH)
    return Debt(
        added=tuple(row for row in theirs if row not in ours),
        paid=tuple(row for row in ours if row not in theirs),
        changed=tuple(row for row in theirs if row in ours and theirs[row] != ours[row]),
        owed=len(theirs),
    )


def _entries(side: Side, path: str) -> dict[str, Entry]:
    narrow = side.snapshot.narrowed(side.snapshot.below([path]))
    for _, data in side.snapshot.stream(narrow.oids.items()):
        baseline = read.lenient(data)
        return {entry.row: entry for entry in baseline.rows} if baseline else {}
    return {}
