"""Sweeps that contradict themselves or the rows: the best that is not, other figures, speedups.

A line of a sweep is called the best by its own words or by a bold figure; a column may be headed by
a setting (``tile_n=128``), and a column of speedups follows from the others of its table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from registry_tool.adoption import cells
from registry_tool.adoption.cells import Reading
from registry_tool.adoption.columns import Words
from registry_tool.adoption.drift.cells import SWEEP_NOISE
from registry_tool.adoption.drift.figures import disagree, interval, meet, shown
from registry_tool.adoption.drift.finding import Confidence, Finding, Side
from registry_tool.adoption.drift.naming import figure_side, row_name
from registry_tool.adoption.model import (
    Adoption,
    Claim,
    Column,
    Field,
    Quantity,
    Row,
    Table,
    TableRow,
)
from registry_tool.adoption.side_tables import shape_in
from registry_tool.records.spec import KernelSpec

_BEST = re.compile(r"\bbest\b", re.I)
_PASSES = frozenset("✅☑✔✓🟢")
_SETTING = re.compile(r"`?(?P<name>[A-Za-z_]\w*)`?\s*=\s*(?P<size>\d+)`?")
_SPEEDUP = re.compile(r"speed-?up\b", re.I)
_RATIO = re.compile(r"\s*(?P<ratio>\d+(?:\.\d+)?)\s*[×x]\s*\Z")


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Table by table."""
    lines: dict[int, list[Claim]] = {}
    for claim in adoption.claims:
        if claim.kind == "sweep" and claim.table is not None:
            lines.setdefault(claim.table, []).append(claim)
    for index, table in enumerate(adoption.tables):
        if table.kernel is None or table.kernel not in specs:
            continue
        spec = specs[table.kernel]
        words = Words(spec)
        headed = [(one, to) for one in table.columns if (to := _setting(one, words)) is not None]
        if headed and table.kind in ("sweep", "other"):
            yield from _by_setting(adoption, table, headed, specs)
        elif index in lines:
            yield from _beaten(lines[index], spec)
            yield from _speedups(table, lines[index])


def _beaten(lines: Sequence[Claim], spec: KernelSpec) -> Iterator[Finding]:
    """A line that its own words call the best, and another one that passes and is faster."""
    field: Field = spec.metric
    if not any(line.quantity(field) for line in lines):
        field = "latency_us"
    for line in lines:
        own = line.quantity(field)
        said = [cell for cell in line.cells.values() if _BEST.search(cell)]
        if own is None or not said:
            continue
        others = [
            (other, figure)
            for other in lines
            if other is not line
            and (other.glyph is None or other.glyph[:1] in _PASSES)
            and (figure := other.quantity(field)) is not None
            and disagree(own, figure)
            and (figure.high < own.low if field == "latency_us" else figure.low > own.high)
        ]
        if not others:
            continue
        other, figure = (min if field == "latency_us" else max)(others, key=lambda one: one[1].high)
        far = abs(figure.value - own.value) > SWEEP_NOISE * own.value
        yield Finding(
            kind="sweep-best-beaten",
            sides=(figure_side(line, own), figure_side(other, figure)),
            record=None,
            found=shown(own),
            expected=shown(figure),
            confidence="high" if far else "low",
            message=f"{shown(own)} is called the best of the sweep; another line of it has "
            f"{shown(figure)}",
        )


def _speedups(table: Table, lines: Sequence[Claim]) -> Iterator[Finding]:
    """Speedups over the first line that do not follow from the table's latencies or speeds."""
    column = next((one for one in table.columns if _SPEEDUP.match(one.title)), None)
    if column is None or not lines:
        return
    base = lines[0]
    for line in lines:
        match = _RATIO.match(line.cells.get(column.title, ""))
        if match is None:
            continue
        for field in ("latency_us", "gflops", "gbps"):
            first, own = base.quantity(field), line.quantity(field)
            if first is None or own is None:
                continue
            pair = (first, own) if field == "latency_us" else (own, first)
            finding = _ratio(line.where, match["ratio"], pair, (base, line))
            if finding is not None:
                yield finding
            break


def _ratio(
    where: str, written: str, pair: tuple[Quantity, Quantity], lines: Sequence[Claim]
) -> Finding | None:
    low, high = _quotient(*pair)
    half = cells.half_of(written)
    if meet((low, high), (float(written) - half, float(written) + half)):
        return None
    digits = len(written.partition(".")[2])
    right = f"{pair[0].value / pair[1].value:.{digits}f}"
    return Finding(
        kind="ratio-contradicted",
        sides=(Side(where, f"{written}×"), *(Side(one.where, "") for one in lines[:1])),
        record=None,
        found=f"{written}×",
        expected=f"{right}×",
        confidence="high",
        message=f"a speedup of {written}× stands beside {shown(pair[0])} and {shown(pair[1])}, "
        f"which is {right}×",
    )


def _quotient(one: Quantity, other: Quantity) -> tuple[float, float]:
    low, high = interval(one)
    least, most = interval(other)
    return low / most, high / max(least, 1e-12)


@dataclass(frozen=True)
class _Cell:
    """A figure under a column headed by a setting, with the whole setting of its line."""

    column: Column
    figure: Quantity
    tile: Mapping[str, int]


def _by_setting(
    adoption: Adoption,
    table: Table,
    headed: Sequence[tuple[Column, tuple[str, int]]],
    specs: Mapping[str, KernelSpec],
) -> Iterator[Finding]:
    """A table whose columns are settings: its figures against the rows with the same tile."""
    assert table.kernel is not None
    spec = specs[table.kernel]
    rows = [row for row in adoption.rows if row.kernel == spec.kernel]
    speedup = next((one for one in table.columns if _SPEEDUP.match(one.title)), None)
    for line in table.rows:
        meant = _rows_of(line, rows, spec)
        found = list(_cells_of(table, line, headed, spec))
        for cell in found:
            same = [row for row in meant if cell.tile.items() <= row.tile().items()]
            yield from _other_figure(table, line, cell, same, spec, specs)
        ratio = _RATIO.match(line.cells[speedup.index]) if speedup is not None else None
        if ratio is not None and len(found) == 2:
            pair = (found[1].figure, found[0].figure)
            finding = _ratio(f"{table.file}:{line.line}", ratio["ratio"], pair, ())
            if finding is not None:
                yield finding


def _setting(column: Column, words: Words) -> tuple[str, int] | None:
    match = _SETTING.fullmatch(column.title.strip())
    resolved = words.resolve(match["name"]) if match else None
    if match is None or resolved is None or resolved[0] != "tile":
        return None
    return resolved[1], int(match["size"])


def _rows_of(line: TableRow, rows: Sequence[Row], spec: KernelSpec) -> list[Row]:
    """The rows of the one shape that the first cell of a line names, by all or some of its dims."""
    given = shape_in(line.cells[0], spec)
    if not given:
        return []
    fits = [row for row in rows if given.items() <= row.shape.items()]
    return fits if len({row.key[:2] for row in fits}) == 1 else []


def _cells_of(
    table: Table, line: TableRow, headed: Sequence[tuple[Column, tuple[str, int]]], spec: KernelSpec
) -> Iterator[_Cell]:
    tile: dict[str, int] = {}
    for column in table.columns:
        knobs = [name.partition(".") for name in column.names]
        if column.role == "config" and all(kind == "tile" for kind, _, _ in knobs):
            reading = Reading(cells.text_of(line.sources[column.index], line.cells[column.index]))
            numbers = cells.take_numbers(reading, len(knobs))
            if numbers is not None:
                tile |= {name: size for (_, _, name), size in zip(knobs, numbers, strict=True)}
    for column, (knob, size) in headed:
        reading = Reading(cells.text_of(line.sources[column.index], line.cells[column.index]))
        for found in cells.take_quantities(reading):
            if found.unit_field not in (None, spec.metric):
                continue
            figure = Quantity(
                field=spec.metric,
                written=found.written,
                low=found.low,
                high=found.high,
                half=found.half,
                column=column.title,
                line=line.line,
            )
            yield _Cell(column, figure, {**tile, knob: size})


def _other_figure(
    table: Table,
    line: TableRow,
    cell: _Cell,
    rows: Sequence[Row],
    spec: KernelSpec,
    specs: Mapping[str, KernelSpec],
) -> Iterator[Finding]:
    """The figure of a setting that is a row's own, where no method of the shape has it."""
    there = [
        (row, claim, figure)
        for row in rows
        for claim, figure in list(row.quantities(spec.metric))[:1]
        if not figure.misplaced
    ]
    if not there or not all(disagree(cell.figure, figure) for _, _, figure in there):
        return
    row, claim, figure = min(there, key=lambda one: abs(one[2].value - cell.figure.value))
    far = abs(cell.figure.value - figure.value) > SWEEP_NOISE * figure.value
    confidence: Confidence = "medium" if far else "low"
    yield Finding(
        kind="cells-disagree",
        sides=(Side(f"{table.file}:{line.line}", shown(cell.figure)), figure_side(claim, figure)),
        record=row_name(row, specs),
        found=shown(cell.figure),
        expected=shown(figure),
        confidence=confidence,
        message=f"{shown(cell.figure)} under {cell.column.title} in a table of settings, "
        f"{shown(figure)} in the row with the same tile",
    )
