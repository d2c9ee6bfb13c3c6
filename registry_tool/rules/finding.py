"""A finding: a rule's complaint about one place, as every reporter and command sees it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Severity = Literal["error", "warning"]


class RuleFacts(NamedTuple):
    """What rules may know of one another: a title, and whether a policy may lower it."""

    title: str
    lowers: str


class Finding(NamedTuple):
    """A rule's complaint, placed: ``path`` is relative to the registry's root."""

    rule: str
    severity: Severity
    path: str
    line: int
    pointer: str
    record: str | None
    message: str
    fix: str

    def as_json(self) -> dict[str, Any]:
        """The finding in the stable JSON form."""
        return self._asdict()
