"""The review of a change: the two states compared, and the later one judged by the gate."""

from __future__ import annotations

import time
from pathlib import Path

from registry_tool.review import answers, judged, ledgers, measures, needs, rows, sides, stale
from registry_tool.review.model import Placed, Review, RowChange
from registry_tool.review.span import Span
from registry_tool.store import git, snapshot
from registry_tool.store.snapshot import Snapshot


def of_span(root: Path, span: Span) -> Review:
    """The review of one commit against another; raises GitError for objects that are not here."""
    repository = git.require_repository(root)
    after = sides.after(root, repository, span.base, span.head)
    return _review(after, span.base, span.head, span.title)


def of_index(root: Path) -> Review:
    """The review of what `git commit` would take, against HEAD."""
    return _of_local(snapshot.of_index(root), "staged")


def of_worktree(root: Path) -> Review:
    """The review of the files on disk, against HEAD."""
    git.require_repository(root)
    return _of_local(snapshot.of_worktree(root), "worktree")


def _of_local(after: Snapshot, title: str) -> Review:
    return _review(after, after.base, after.kind, title)


def _review(after_state: Snapshot, base: str | None, head: str, title: str) -> Review:
    today = time.strftime("%Y-%m-%d", time.gmtime())
    before, after = sides.of(sides.before(after_state, base)), sides.of(after_state)
    changes = after_state.changes
    pairs = rows.pairs(before, after, changes)
    needed = needs.compare(before, after, pairs)
    changed = tuple(
        rows.change(pair, before, after, _serves(pair, needed), today) for pair in pairs
    )
    touched = {change.path for change in changes}
    names = {row.row for row in changed}
    report = judged.of(after_state, names)
    placed = [
        Placed(finding, finding.path in touched or finding.record in names)
        for finding in report.findings
    ]
    return Review(
        base=base,
        head=head,
        title=title,
        rows=tuple(sorted(changed, key=_order)),
        needs=needed.moves,
        answers=answers.compare(before, after, changed),
        measures=measures.measures(before, after, changes),
        models=measures.models(before, after, changes),
        verdicts=ledgers.verdicts(after, changes),
        debt=ledgers.debt(before, after, changes),
        waivers=tuple(waiver for row in changed for waiver in row.waivers),
        stale=stale.compare(before, after, changed, changes),
        findings=tuple(sorted(placed, key=_weight)),
        records=report.records,
        unjudged=report.unjudged,
    )


def _serves(pair: rows.Pair, needed: needs.Needs) -> list[str]:
    found = needed.serves.get(pair.row) if pair.after else needed.served.get(pair.row)
    return list(found or ())


_KINDS = (
    "unreadable", "edited", "removed", "re-measured", "added", "renamed", "re-noted", "reformatted",
)  # fmt: skip


def _order(row: RowChange) -> tuple[bool, int, str]:
    # What a reviewer must not overlook stands first.
    return not row.worse, _KINDS.index(row.kind), row.row


def _weight(placed: Placed) -> tuple[bool, bool]:
    return placed.finding.severity != "error", not placed.touched
