"""Cells that say in words that nothing was measured, of which another place has a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from registry_tool.adoption.cells import says_no_result
from registry_tool.adoption.drift.figures import shown
from registry_tool.adoption.drift.finding import Finding, Side
from registry_tool.adoption.drift.naming import PLACE, figure_side, row_name
from registry_tool.adoption.model import Adoption, Claim, Column, Field, Row
from registry_tool.records.spec import KernelSpec

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
    if column.role not in _FIELDS or not says_no_result(text):
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
