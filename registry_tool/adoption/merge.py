"""One row per kernel x shape x variant out of the claims of all places, with every claim kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from registry_tool.adoption.model import PLACES, Claim, Remark, Row, RowKey
from registry_tool.records.spec import KernelSpec


def rows(
    claims: Iterable[Claim], specs: Mapping[str, KernelSpec]
) -> tuple[tuple[Row, ...], tuple[Remark, ...]]:
    """The rows, in the order in which they are first claimed, and the sweep lines of no row."""
    by_key: dict[RowKey, list[Claim]] = {}
    of_shape: list[Claim] = []
    sweeps: list[Claim] = []
    for claim in claims:
        if claim.kind == "row":
            by_key.setdefault(_key(claim), []).append(claim)
        else:
            (sweeps if claim.kind == "sweep" else of_shape).append(claim)
    for claim in of_shape:
        by_key.setdefault(_key(claim), []).append(claim)
    made = [_row(found) for found in by_key.values()]
    placed, lost = _place_sweeps(made, sweeps)
    return tuple(replace(row, sweeps=tuple(placed.get(row.key, ()))) for row in made), lost


def _key(claim: Claim) -> RowKey:
    return claim.kernel, tuple(claim.shape.values()), claim.variant


def _row(claims: Sequence[Claim]) -> Row:
    first = claims[0]
    ordered = sorted(claims, key=lambda one: (PLACES.index(one.place), one.kind != "row", one.line))
    return Row(first.kernel, first.shape, first.variant, tuple(ordered))


def _place_sweeps(
    made: Sequence[Row], sweeps: Sequence[Claim]
) -> tuple[dict[RowKey, list[Claim]], tuple[Remark, ...]]:
    """Which rows each line of a sweep is about."""
    placed: dict[RowKey, list[Claim]] = {}
    lost = []
    tables: dict[tuple[str, int | None], list[Claim]] = {}
    for sweep in sweeps:
        tables.setdefault((sweep.file, sweep.table), []).append(sweep)
    # A table that names no shape goes on with that of the one before it.
    before: dict[str, list[Row]] = {}
    for (file, _), lines in tables.items():
        of_kernel = [row for row in made if row.kernel == lines[0].kernel]
        shared = _by_figures(of_kernel, lines) or before.get(file, [])
        for line in lines:
            found = _by_dims(of_kernel, line) or [row for row in shared if _fits(row, line)]
            before[file] = found
            if not found:
                lost.append(Remark(line.file, line.line, line.kernel, sweep_text(line)))
            for row in found:
                placed.setdefault(row.key, []).append(line)
    return placed, tuple(lost)


def _by_dims(of_kernel: Sequence[Row], line: Claim) -> list[Row]:
    """The rows of the one shape that has the dims that the sweep gives."""
    if not line.shape:
        return []
    fitting = [row for row in of_kernel if _fits(row, line)]
    shapes = {tuple(row.shape.values()) for row in fitting}
    if len(shapes) > 1:
        # Some dims are left open: the figures of the sweep say which shape it is.
        return _by_figures(fitting, [line])
    return fitting


def _fits(row: Row, line: Claim) -> bool:
    return all(row.shape.get(dim) == size for dim, size in line.shape.items())


def _by_figures(of_kernel: Sequence[Row], lines: Sequence[Claim]) -> list[Row]:
    """The rows of the one shape whose own figure stands in a sweep that names no shape."""
    found = [
        row
        for row in of_kernel
        if any(
            mine.low == theirs.low and mine.high == theirs.high and mine.field == theirs.field
            for line in lines
            for theirs in line.quantities
            for claim in row.of("details")
            for mine in claim.quantities
            if mine.field in ("latency_us", "gflops", "gbps")
        )
    ]
    return found if len({tuple(row.shape.values()) for row in found}) == 1 else []


def sweep_text(line: Claim) -> str:
    """A line of a sweep as a note: where it stands, and its cells with their titles."""
    said = ", ".join(f"{title} {cell}" for title, cell in line.cells.items() if cell.strip())
    return f"sweep at {line.where}: {said}"
