"""One thing that an audit found; knows nothing of how it was found, nor how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from registry_tool.store.git_history import Commit

Kind = Literal[
    "edited-without-verdict",
    "evidence-edited",
    "evidence-deleted",
    "evidence-came-and-went",
    "evidence-lost-in-merge",
    "cites-uncommitted",
    "waiver-extended",
    "fails-rules",
]

MEANING: Mapping[Kind, str] = {
    "edited-without-verdict": "a row's measured field changed while it stood on the same verdict",
    "evidence-edited": "a verdict or log is not what was committed first",
    "evidence-deleted": "a verdict or log was deleted, and no tombstone says why",
    "evidence-came-and-went": "a verdict or log was added and deleted again in the range",
    "evidence-lost-in-merge": "a verdict or log of one side is not in the merge's result",
    "cites-uncommitted": "a row cites a verdict that its commit does not hold",
    "waiver-extended": "a waiver was prolonged again and again",
    "fails-rules": "a commit's rows fail the rules of today",
}


class Found(NamedTuple):
    """What is wrong, in which commit and row (``target/kernel/key``, or None), and what to type.

    ``also`` are further commits that belong to it.
    """

    kind: Kind
    commit: Commit
    record: str | None
    path: str
    message: str
    fix: str
    also: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The stable form for programs."""
        return {
            "kind": self.kind,
            "commit": self.commit.oid,
            "date": self.commit.date,
            "author": self.commit.author,
            "record": self.record,
            "path": self.path,
            "message": self.message,
            "fix": self.fix,
            "also": list(self.also),
        }
