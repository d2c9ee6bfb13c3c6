"""Lookup answers that a change alters, each with the row's change that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from registry_tool.review.model import Answer, RowChange
from registry_tool.review.sides import Side, is_emulated
from registry_tool.store.registry import Registry
from registry_tool.store.snapshot import Snapshot
from registry_tool.tables import answers


def compare(before: Side, after: Side, rows: Sequence[RowChange]) -> tuple[Answer, ...]:
    """Every answer that is another one, once for all questions that have it.

    None if a state has no policy that can be read.
    """
    theirs = _registry(after)
    if theirs is None:
        return ()
    # Without a policy of its own, it said what its details say all the same.
    ours = _registry(before) or replace(theirs, snapshot=_details(before))
    causes = {_place(row.row): row.kind for row in rows}
    causes |= {_place(row.was): row.kind for row in rows if row.was}
    found: dict[tuple[str | None, ...], Answer] = {}
    for target in dict.fromkeys((*theirs.policy.targets, *ours.policy.targets)):
        for change in answers.changes(ours, theirs, target):
            sizes = "x".join(map(str, change.shape.values()))
            was, now = _said(change.before, change.after), _said(change.after, change.before)
            key = (target, change.kernel, sizes, was, now)
            known = found[key].asked if key in found else ()
            found[key] = Answer(
                kernel=change.kernel,
                target=target,
                emulated=is_emulated(target, after, before),
                shape=sizes.replace("x", "×"),
                asked=(*known, str(change.asked)),
                before=was,
                after=now,
                cause=causes.get((target, change.kernel, sizes)),
            )
    return tuple(found.values())


def _said(answer: answers.Answer | None, other: answers.Answer | None) -> str | None:
    return None if answer is None else answers.said(answer, other)


def _registry(side: Side) -> Registry | None:
    if side.context is None:
        return None
    return Registry(_details(side), side.context.policy, side.context.specs)


def _details(side: Side) -> Snapshot:
    return side.snapshot.narrowed(side.snapshot.below(["details"]))


def _place(row: str) -> tuple[str, str, str]:
    """Target, kernel and sizes of a row's name."""
    target, kernel, key = row.split("/")
    return target, kernel, key.partition("+")[0]
