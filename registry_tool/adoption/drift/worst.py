"""Tables that name the worst error of a group of rows, held against the rows of that group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from registry_tool.adoption import cells
from registry_tool.adoption.cells import Reading, name_of
from registry_tool.adoption.drift.figures import interval, shown
from registry_tool.adoption.drift.finding import Finding, Side
from registry_tool.adoption.drift.naming import figure_side, row_name
from registry_tool.adoption.drift.notes import named_variants
from registry_tool.adoption.model import Adoption, Column, Field, Quantity, Table, TableRow
from registry_tool.records.spec import KernelSpec

_WORST = re.compile(r"(?:worst|largest|max(?:imum)?)(?:[- ]case)?\s+(?P<name>.+)", re.I)
_ERRORS: Mapping[str, Field] = {"abs_err": "max_abs", "rel_err": "max_rel"}
# A worst case written with "about" may be exceeded by this much.
_ABOUT = 0.1


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Each line of such a table with a row that is worse."""
    for table in adoption.tables:
        if table.kind != "other" or table.kernel is None:
            continue
        spec = specs[table.kernel]
        for column in table.columns:
            field = _field(column)
            for line in table.rows if field is not None else ():
                yield from _exceeded(adoption, table, line, column, field, spec, specs)


def _field(column: Column) -> Field | None:
    match = _WORST.fullmatch(column.title.replace("`", "").strip())
    if match is None:
        return None
    name = _ERRORS.get(match["name"].strip()) or name_of(match["name"])
    return name if name in ("max_abs", "max_rel", "mean_rel_L1") else None  # type: ignore[return-value]


def _exceeded(
    adoption: Adoption,
    table: Table,
    line: TableRow,
    column: Column,
    field: Field | None,
    spec: KernelSpec,
    specs: Mapping[str, KernelSpec],
) -> Iterator[Finding]:
    assert field is not None
    reading = Reading(cells.text_of(line.sources[column.index], line.cells[column.index]))
    said = cells.take_quantities(reading)
    if not said:
        return
    # The first cell may be a switch alone; the others say which methods it stands for.
    named = set(named_variants(" ".join(line.cells), spec))
    if spec.variants and not named:
        return
    bound = said[0].high + said[0].half
    bound *= 1 + (_ABOUT if said[0].sign else 0.0)
    worse = [
        (row, claim, figure)
        for row in adoption.rows
        if row.kernel == spec.kernel and (not spec.variants or row.variant in named)
        for claim, figure in row.quantities(field)
        if not figure.shared and not figure.misplaced and interval(figure)[0] >= bound
    ]
    if not worse:
        return
    row, claim, figure = max(worse, key=lambda one: one[2].high)
    count = len({one[0].key for one in worse})
    yield Finding(
        kind="worst-exceeded",
        sides=(
            Side(f"{table.file}:{line.line}", said[0].written),
            figure_side(claim, figure),
            *(figure_side(one, value) for _, one, value in worse if value is not figure),
        ),
        record=row_name(row, specs) if count == 1 else None,
        found=said[0].written,
        expected=_shown(figure),
        confidence="high",
        message=f"{said[0].written} is called the {column.title}; {count} "
        f"row{'s' * (count > 1)} exceed{'s' * (count == 1)} it, up to {_shown(figure)} "
        f"({row_name(row, specs).partition('/')[2]})",
    )


def _shown(figure: Quantity) -> str:
    return shown(figure).removeprefix("max_abs").strip(" =")
