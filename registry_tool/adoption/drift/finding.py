"""One inconsistency of an existing registry, as data; how it is found and shown is elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Confidence = Literal["high", "medium", "low"]

_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Side:
    """One place that takes part in it: ``file:line``, and what stands there (as displayed)."""

    where: str
    value: str


@dataclass(frozen=True)
class Finding:
    """An inconsistency.

    ``kind`` is a key of `kinds.KINDS`; ``record`` the row ``Kernel/key`` that it is about, without
    a variant where it is about a whole shape, or None. ``found`` is what is judged wrong and
    ``expected`` what the other sides, or a computation, say; both as displayed. ``sides`` starts
    with the place to look at first.
    """

    kind: str
    sides: tuple[Side, ...]
    record: str | None
    found: str
    expected: str
    confidence: Confidence
    message: str

    @property
    def where(self) -> list[str]:
        """``file:line`` of every side, each once."""
        return list(dict.fromkeys(side.where for side in self.sides))

    def as_json(self) -> dict[str, object]:
        """The finding in the stable form of the report."""
        return {
            "kind": self.kind,
            "where": self.where,
            "record": self.record,
            "found": self.found,
            "expected": self.expected,
            "confidence": self.confidence,
            "message": self.message,
            "values": [{"where": side.where, "value": side.value} for side in self.sides],
        }


def sides(pairs: Iterable[tuple[str, str]]) -> tuple[Side, ...]:
    """Sides of (``file:line``, value), each once."""
    return tuple(Side(where, value) for where, value in dict.fromkeys(pairs))


def reading_order(finding: Finding) -> tuple[object, ...]:
    """Sort key: by file and line of its first side, numbers by size."""
    first = finding.sides[0].where if finding.sides else ""
    parts = _NUMBER.split(first)
    return tuple(int(part) if part.isdigit() else part for part in parts), finding.record or ""
