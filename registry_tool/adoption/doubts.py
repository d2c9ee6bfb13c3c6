"""What the drift report holds against single rows, as caveats that a `sound` lookup refuses.

Only findings about a row's own figures, run or tiling count, and only those that are certain: a
place that disagrees with another one may be the one that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from registry_tool.adoption.cells import says_ran_badly
from registry_tool.adoption.drift import Finding
from registry_tool.adoption.drift.naming import row_name
from registry_tool.adoption.model import Adoption

# A finding of a row to the key of `registry_lookup.CAVEATS` that says so.
_CAVEATS: Mapping[str, str] = {
    "throughput-contradicts-latency": "contradicted",
    "constraint-broken": "contradicted",
    "verdict-failing": "failing",
    "measured-elsewhere": "contradicted",
    "verdict-inherited": "inherited",
}
_LONGEST = 300


@dataclass(frozen=True)
class Doubt:
    """``caveat`` is a key of `registry_lookup.CAVEATS`, ``reason`` what the report says."""

    caveat: str
    reason: str


def of_rows(adoption: Adoption, findings: Iterable[Finding]) -> dict[str, tuple[Doubt, ...]]:
    """The doubts about each row, by its name ``Kernel/key``; rows without any are left out."""
    lines = {
        row_name(row, adoption.specs): {claim.where for claim in row.claims if claim.kind == "row"}
        | {f"{claim.file}:{one.line}" for claim in row.claims for one in claim.quantities}
        for row in adoption.rows
    }
    found: dict[str, list[Doubt]] = {}
    for one in findings:
        caveat = _CAVEATS.get(one.kind)
        if caveat is None or one.confidence != "high" or one.record not in lines:
            continue
        # A line of a sweep says nothing of the row's own tiling.
        if one.sides[0].where not in lines[one.record]:
            continue
        if one.kind == "measured-elsewhere" and not says_ran_badly(one.expected):
            continue
        reason = f"{one.kind} at {one.sides[0].where}: {one.message}"
        found.setdefault(one.record, []).append(Doubt(caveat, _short(reason)))
    return {name: tuple(dict.fromkeys(doubts)) for name, doubts in found.items()}


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
