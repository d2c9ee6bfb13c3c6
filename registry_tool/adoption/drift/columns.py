"""Cells that hold something other than their heading says, and columns that a table lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from registry_tool.adoption.cells import is_nothing, says_no_result
from registry_tool.adoption.drift.figures import shown
from registry_tool.adoption.drift.finding import Finding, Side
from registry_tool.adoption.drift.naming import figure_side, row_name, side
from registry_tool.adoption.drift.stray import stray_figure
from registry_tool.adoption.model import Adoption, Claim, Row, Table
from registry_tool.records.spec import KernelSpec

# Fields whose figures have no unit that would say which one they are.
_NAMED = frozenset(("mean_rel_L1", "max_abs", "max_rel", "correlation"))
_LETTER = re.compile(r"[A-Za-z]")
_NUMBER_FIRST = re.compile(r"\W*\d")
_DASH_FIRST = re.compile(r"\s*[-\u2010-\u2015\u2212]+(?:\s|\Z)")


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Values in the wrong column, row by row; lacking columns, table by table."""
    siblings: dict[tuple[str, tuple[int, ...]], list[Row]] = {}
    for row in adoption.rows:
        siblings.setdefault(row.key[:2], []).append(row)
    seen: set[tuple[str, str]] = set()
    for row in adoption.rows:
        for finding in _wrong(adoption, row, siblings[row.key[:2]], specs):
            key = (finding.sides[0].where, finding.found)
            if key not in seen:
                seen.add(key)
                yield finding
    for table in adoption.tables:
        yield from _lacking(table, specs)


def _wrong(
    adoption: Adoption, row: Row, shape: list[Row], specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    yield from _misplaced(row, specs)
    yield from _stray(row, shape, specs)
    yield from _words(adoption, row, specs)


def _misplaced(row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Figures whose own words or unit name another field than their column."""
    for claim in row.claims:
        for figure in claim.quantities:
            if not figure.misplaced:
                continue
            found = shown(figure)
            if figure.field in _NAMED and figure.field not in found:
                found = f"{figure.field} {found}"
            yield Finding(
                kind="value-in-wrong-column",
                sides=(Side(f"{claim.file}:{figure.line}", found),),
                record=row_name(row, specs),
                found=found,
                expected=figure.column,
                confidence="high",
                message=f"{found} stands in the column {figure.column!r}",
            )


def _stray(row: Row, shape: list[Row], specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    found = stray_figure(row, shape, specs[row.kernel].metric)
    if found is None:
        return
    claim, figure, other = found
    there, right = next(
        (one, value)
        for one, value in other.quantities(specs[row.kernel].metric)
        if (value.low, value.high) == (figure.low, figure.high)
    )
    yield Finding(
        kind="value-in-wrong-column",
        sides=(
            figure_side(claim, figure),
            Side(f"{there.file}:{right.line}", f"{other.variant} {shown(right)}"),
        ),
        record=row_name(other, specs),
        found=f"{shown(figure)} as {row.variant}",
        expected=f"{shown(figure)} as {other.variant}",
        confidence="high",
        message=f"{shown(figure)} stands in the column {figure.column!r}; it is the figure of "
        f"{other.variant}, and no other place has {row.variant} for this shape",
    )


def _words(adoption: Adoption, row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """A column of throughputs whose cell holds a tile or a name, and no throughput."""
    metric = specs[row.kernel].metric
    for claim in row.claims:
        if claim.kind != "row" or claim.table is None:
            continue
        if any(one.field == metric and not one.shared for one in claim.quantities):
            continue
        for title in _metric_columns(adoption.tables[claim.table], row, metric):
            text = claim.cells.get(title, "")
            if not _LETTER.search(text) or is_nothing(text):
                continue
            if says_no_result(text):
                continue
            if _NUMBER_FIRST.match(text) or _DASH_FIRST.match(text):
                continue
            yield _words_for_a_figure(claim, title, text, row, specs)


def _metric_columns(table: Table, row: Row, metric: str) -> list[str]:
    return [
        column.title
        for column in table.columns
        if column.role in (metric, "metric", "variant")
        and (
            column.variants == (row.variant,) or (not column.variants and column.role != "variant")
        )
    ]


def _words_for_a_figure(
    claim: Claim, title: str, text: str, row: Row, specs: Mapping[str, KernelSpec]
) -> Finding:
    metric = specs[row.kernel].metric
    known = [(one, value) for one, value in row.quantities(metric) if one is not claim]
    expected = shown(known[0][1]) if known else "a throughput"
    return Finding(
        kind="value-in-wrong-column",
        sides=(side(claim, text), *(figure_side(one, value) for one, value in known[:1])),
        record=row_name(row, specs),
        found=text,
        expected=expected,
        confidence="high",
        message=f"{text!r} stands in the column {title!r}, which holds throughputs"
        + (f"; elsewhere it is {expected}" if known else ""),
    )


def _lacking(table: Table, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """What every record must say and a table of rows has no column for.

    A variant may be the subject of the whole table, and the fields of the index may stay on the
    page that it points to: only detail tables are held to all of them.
    """
    if table.kind != "shapes" or table.place != "details" or table.kernel is None:
        return
    spec = specs[table.kernel]
    lacking = [title for title, has in _required(table, spec) if not has]
    if not lacking:
        return
    what = ", ".join(lacking)
    titles = " | ".join(column.title for column in table.columns)
    yield Finding(
        kind="column-missing",
        sides=(Side(f"{table.file}:{table.line}", titles),),
        record=None,
        found=titles,
        expected=what,
        # What the page itself calls meaningless may be left out on purpose.
        confidence="medium" if lacking == ["max_rel"] else "high",
        message=f"a record says {what}, and this table of {spec.kernel} has no column for it",
    )


def _required(table: Table, spec: KernelSpec) -> Iterator[tuple[str, bool]]:
    """The columns of a record's table, each with whether this one has it in some column.

    The largest relative error may be null in a record, so it is asked for only where the kernel's
    own table shows it; notes may be empty, so no column is asked for.
    """
    roles = {column.role for column in table.columns}
    names = {name for column in table.columns for name in column.names}
    shown = {column.cell for column in spec.columns}
    if spec.variants:
        yield "variant", table.variant is not None or "variant" in roles
    if spec.tile:
        yield "tile", any(name.startswith("tile.") for name in names)
    yield "herd", any(name.startswith("herd.") for name in names) or "tiles" in roles
    yield "latency", "latency_us" in roles
    yield "throughput", bool(roles & {"metric", spec.metric})
    for field in ("mean_rel_L1", "max_abs"):
        yield field, field in roles
    if "max_rel" in shown:
        yield "max_rel", "max_rel" in roles
    yield "used by", "used_by" in roles
    yield "status", "status" in roles
