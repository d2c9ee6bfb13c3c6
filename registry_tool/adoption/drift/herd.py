"""Rows that use fewer compute tiles than their kernel could, and have no note that says why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from registry_tool.adoption.drift import notes
from registry_tool.adoption.drift.finding import Finding, sides
from registry_tool.adoption.drift.naming import row_name
from registry_tool.adoption.model import Adoption, Claim, Row
from registry_tool.records.kernel import tiles_in_flight
from registry_tool.records.spec import KernelSpec

# Any word on the herd, its axes or the tiles at work counts as a reason; it is a person's to judge.
_REASON = re.compile(
    r"\bherd|\bcompute tiles|\b\d+ (?:of \d+ )?tiles\b|\btiles in flight|\barray\b|\bcolumns?\b"
    r"|\bfull[- ]chip|\bhalf[- ]chip|\bheads_per_unroll",
    re.I,
)


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Row by row."""
    for row in adoption.rows:
        spec = specs[row.kernel]
        herd = row.herd()
        if herd is None or tiles_in_flight(herd) >= spec.tiles_target:
            continue
        if any(_REASON.search(text) for text in _said(adoption, row, spec)):
            continue
        yield _finding(row, herd, spec, specs)


def _said(adoption: Adoption, row: Row, spec: KernelSpec) -> Iterator[str]:
    for claim in row.claims:
        if claim.kind == "row":
            yield from notes.words(claim)
    entry = adoption.entry(row.kernel, row.shape)
    if entry is not None:
        yield from (entry.note, entry.used_by)


def _finding(
    row: Row, herd: tuple[int, ...], spec: KernelSpec, specs: Mapping[str, KernelSpec]
) -> Finding:
    tiles = tiles_in_flight(herd)
    text = "×".join(map(str, herd))
    own: list[Claim] = [claim for claim in row.claims if claim.herd == herd]
    return Finding(
        kind="herd-below-target",
        sides=sides((claim.where, text) for claim in own),
        record=row_name(row, specs),
        found=f"{text} ({tiles} tiles)",
        expected=f"{spec.tiles_target} tiles, or a note that says why",
        confidence="high",
        message=f"a herd of {text} is {tiles} tiles of {spec.tiles_target}, and nothing on the row "
        "says why; prose beside the table is not read by who looks the row up",
    )
