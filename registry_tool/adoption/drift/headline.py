"""The overview of the index: is the figure that it names as the best the best of all rows?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from registry_tool.adoption import cells
from registry_tool.adoption.drift.figures import disagree, shown
from registry_tool.adoption.drift.finding import Finding, Side
from registry_tool.adoption.drift.naming import figure_side, row_name
from registry_tool.adoption.drift.notes import carried
from registry_tool.adoption.drift.throughput import contradictions
from registry_tool.adoption.model import Adoption, Claim, Quantity, Row, Table, TableRow
from registry_tool.records.kernel import shape_text
from registry_tool.records.spec import KernelSpec

_PAGE = re.compile(r"details/([A-Za-z0-9._-]+)\.(?:md|json)")


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Line by line of the overview."""
    for table in adoption.tables:
        if table.kind != "overview":
            continue
        for line in table.rows:
            spec = _kernel(line, specs)
            figure = _figure(table, line, spec) if spec is not None else None
            if spec is not None and figure is not None:
                yield from _judged(adoption, table, line, spec, figure, specs)


def _kernel(line: TableRow, specs: Mapping[str, KernelSpec]) -> KernelSpec | None:
    """The kernel that a line is about, by the page that it links to."""
    for source in line.sources:
        for match in _PAGE.finditer(source):
            if match[1] in specs:
                return specs[match[1]]
    return None


def _figure(table: Table, line: TableRow, spec: KernelSpec) -> Quantity | None:
    """The first throughput of the line in the unit of the kernel."""
    for column, source, text in zip(table.columns, line.sources, line.cells, strict=False):
        reading = cells.Reading(cells.text_of(source, text))
        for found in cells.take_quantities(reading):
            if found.unit_field == spec.metric:
                return Quantity(
                    field="gflops" if spec.metric == "gflops" else "gbps",
                    written=found.written,
                    low=found.low,
                    high=found.high,
                    half=found.half,
                    column=column.title,
                    line=line.line,
                    sign=found.sign,
                )
    return None


def _judged(
    adoption: Adoption,
    table: Table,
    line: TableRow,
    spec: KernelSpec,
    figure: Quantity,
    specs: Mapping[str, KernelSpec],
) -> Iterator[Finding]:
    rows = [row for row in adoption.rows if row.kernel == spec.kernel]
    measured = list(honest(adoption, rows, specs))
    if not measured:
        return
    # Of equals, the one that the line names.
    named = " ".join(line.cells)
    row, claim, best = max(
        measured, key=lambda one: (one[2].high, shape_text(spec, one[0].shape) in named)
    )
    if not disagree(figure, best) and not figure.is_range:
        return
    if not disagree(figure, best) and _same_range(figure, best):
        return
    touches = abs(figure.value - best.value) <= (figure.half + best.half) * (1 + 1e-9)
    more = figure.value > best.value and disagree(figure, best)
    text = shape_text(spec, row.shape) + (f", {row.variant}" if row.variant else "")
    what = "no row says that" if more else f"{shown(best)} is recorded for {text}"
    yield Finding(
        kind="headline-not-best",
        sides=(Side(f"{table.file}:{line.line}", shown(figure)), figure_side(claim, best)),
        record=row_name(row, specs),
        found=shown(figure),
        expected=shown(best),
        confidence="medium" if touches else "high",
        message=f"{shown(figure)} stands as the best; {what}"
        + (f", the best is {shown(best)} ({text})" if more else ""),
    )


def _same_range(figure: Quantity, best: Quantity) -> bool:
    ends = (replace(figure, low=end, high=end) for end in (figure.low, figure.high))
    others = (replace(best, low=end, high=end) for end in (best.low, best.high))
    return not any(disagree(one, other) for one, other in zip(ends, others, strict=True))


def honest(
    adoption: Adoption, rows: list[Row], specs: Mapping[str, KernelSpec]
) -> Iterator[tuple[Row, Claim, Quantity]]:
    """Every throughput that may stand as the best: measured, and in keeping with its latency."""
    for row in rows:
        spec = specs[row.kernel]
        if any(carried(adoption, row, spec)):
            continue
        wrong = {(claim.where, shown(rate)) for claim, _, rate in contradictions(row, spec)}
        for claim, figure in row.quantities(spec.metric):
            if claim.kind != "row" or figure.misplaced or figure.mark:
                continue
            if (claim.where, shown(figure)) not in wrong:
                yield row, claim, figure
