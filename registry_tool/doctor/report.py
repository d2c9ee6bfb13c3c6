"""Checks as lines for a person, grouped, or as an object for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from registry_tool.doctor.check import Check, Status


def as_json(checks: Sequence[Check]) -> dict[str, Any]:
    """The stable form: ``{"checks": [{"topic", "name", "status", "message", "fix"}]}``."""
    return {
        "checks": [
            {
                "topic": check.topic,
                "name": check.name,
                "status": check.status,
                "message": check.message,
                "fix": check.fix,
            }
            for check in checks
        ]
    }


def as_text(checks: Sequence[Check], quiet: bool = False) -> str:
    """One line per check below its topic, and a summary; ``quiet`` leaves out what is ok."""
    shown = [check for check in checks if not quiet or check.status != "ok"]
    lines = []
    for topic, group in groupby(shown, key=lambda check: check.topic):
        lines.append(topic)
        lines += _lines(group)
    if not quiet:
        lines.append(_summary(checks))
    return "\n".join(lines)


def _lines(checks: Iterator[Check]) -> Iterator[str]:
    for check in checks:
        fix = f"; next: {check.fix}" if check.fix else ""
        yield f"  {check.status:<7}  {check.name}: {check.message}{fix}"


def _summary(checks: Sequence[Check]) -> str:
    count = Counter(check.status for check in checks)
    parts = [f"{count['ok']} ok"]
    parts += [f"{count[s]} {s}{'s' if count[s] > 1 else ''}" for s in _WORSE if count[s]]
    return ", ".join(parts)


_WORSE: tuple[Status, ...] = ("warning", "problem")
