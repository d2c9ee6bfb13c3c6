"""Cells that say in words that nothing was measured, of which another place has a figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from registry_tool.adoption.drift.figures import shown
from registry_tool.adoption.drift.finding import Finding, Side
from registry_tool.adoption.drift.naming import PLACE, figure_side, row_name
from registry_tool.adoption.model import Adoption, Claim, Column, Field, Row
from registry_tool.records.spec import KernelSpec

_BADLY = (
    r"hung|hangs?|timed? ?out|crash(?:e[sd])?|fail(?:s|ed)?|aborted"
    r"|did not (?:run|finish|complete)|does not (?:run|place|compile)"
)
# Words of a cell that has no figure.
_WORDS = re.compile(
    rf"\b(?:n\.\s?a\.|n/a|not (?:measured|run|tested|timed|recorded|available)|unmeasured"
    rf"|untested|no result|TBD|to be measured|{_BADLY})(?!\w)",
    re.I,
)
RAN_BADLY = re.compile(rf"\b(?:{_BADLY})(?!\w)", re.I)
_FIELDS: tuple[Field, ...] = (
    "latency_us", "gflops", "gbps", "mean_rel_L1", "max_abs", "max_rel",
)  # fmt: skip


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Row by row, and cell by cell of the lines about it."""
    for row in adoption.rows:
        for claim in row.claims:
            if claim.kind == "row" and claim.table is not None:
                for column in adoption.tables[claim.table].columns:
                    yield from _cell(row, claim, column, specs)


def _cell(
    row: Row, claim: Claim, column: Column, specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    text = claim.cells.get(column.title, "")
    if column.role not in _FIELDS or _WORDS.search(text) is None or re.match(r"\W*\d", text):
        return
    if column.variants and row.variant not in column.variants:
        return
    elsewhere = [
        (other, figure)
        for other, figure in row.quantities(column.role)
        if other.where != claim.where and not figure.shared and not figure.misplaced
    ]
    if not elsewhere:
        return
    other, figure = elsewhere[0]
    yield Finding(
        kind="measured-elsewhere",
        sides=(Side(claim.where, text), figure_side(other, figure)),
        record=row_name(row, specs),
        found=shown(figure),
        expected=text,
        confidence="high",
        message=f"{column.title}: {text!r} in the {PLACE[claim.place]}, {shown(figure)} in the "
        f"{PLACE[other.place]}",
    )
