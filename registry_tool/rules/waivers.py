"""Which findings a row's waivers silence today, and which waivers are findings themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from registry_tool.rules.finding import Finding, Severity
from registry_tool.rules.model import Waivable


class Standing(NamedTuple):
    """A row's waiver, with what its rule allows and what kind of verdict the row has.

    ``number`` is its place among the waivers of the record.
    """

    number: int
    rule: str
    expires: str
    line: int
    path: str
    row: str
    kind: str
    waivable: Waivable | None

    def covers(self, finding: Finding) -> bool:
        """Whether it silences ``finding``, as long as it holds."""
        if finding.rule != self.rule:
            return False
        return {
            "always": True,
            "warnings": finding.severity == "warning",
            "imported": self.kind == "imported",
        }.get(self.waivable or "never", False)


def apply(
    findings: Sequence[Finding],
    waivers: Sequence[Standing],
    today: str,
    owed: Collection[str] = (),
) -> list[Finding]:
    """What stands of one row's findings on ``today`` (YYYY-MM-DD), and what its waivers add.

    Findings of the rules in ``owed`` are the row's debt: they are no findings, but a waiver of one
    that has expired is.
    """
    holding = [waiver for waiver in waivers if waiver.expires >= today]
    kept = [one for one in findings if not any(waiver.covers(one) for waiver in holding)]
    about = []
    for waiver in waivers:
        if waiver.waivable is None:
            about.append(_about(waiver, "error", f"there is no rule {waiver.rule} to waive"))
        elif waiver.waivable == "never":
            about.append(_about(waiver, "error", f"{waiver.rule} cannot be waived"))
        elif waiver.expires < today:
            needed = any(waiver.covers(one) for one in kept)
            about.append(
                _about(
                    waiver,
                    "error" if needed else "warning",
                    f"the waiver of {waiver.rule} ended on {waiver.expires}",
                )
            )
    return [*(one for one in kept if one.rule not in owed), *about]


def _about(waiver: Standing, severity: Severity, message: str) -> Finding:
    return Finding(
        rule=waiver.rule if waiver.waivable is not None else "KR006",
        severity=severity,
        path=waiver.path,
        line=waiver.line,
        pointer=f"/waivers/{waiver.number}",
        record=waiver.row,
        message=message,
        fix="settle the complaint itself, and remove the waiver",
    )
