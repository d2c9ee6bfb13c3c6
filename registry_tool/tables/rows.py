"""A record as the tables need it: its line, its place, and its part of the JSON.

Making one is what rendering costs; a `Row` survives msgspec's JSON, so that a caller may keep it
under the record's blob id and the spec's digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import Any

from msgspec import Struct

from registry_tool.records import expressions, kernel, keys
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.tables import cells, columns
from registry_tool.tables.document import TableError

ANY_TIER = "any"
ONLY_METHOD = "default"

SortKey = tuple[int | float | str, ...]


class Row(Struct, frozen=True, array_like=True):
    """What the pages and the JSON show of one record."""

    order: SortKey
    line: str
    shape: tuple[int, ...]
    variant: str | None
    tier: str
    method: dict[str, Any]
    throughput: float | None
    herd: tuple[int, ...]
    used_by: tuple[str, ...]
    notes: tuple[str, ...]
    passed: bool
    clean: bool


def maker(spec: KernelSpec, target_kind: str) -> Callable[[Record], Row]:
    """A function that makes the row of a record of ``spec``; raises TableError if it does not fit.

    Raises RegistryError for a spec whose columns cannot be filled.
    """
    shown = columns.cells_of(spec)
    try:
        order = [expressions.parse(text) for text in spec.order]
        read = frozenset[str]().union(*map(expressions.names_in, spec.order))
    except expressions.ExpressionError as error:
        raise TableError(str(error), path=f"kernels/{spec.kernel}.yaml") from None
    # Most tables are in the order of their dims, and need no other name.
    names = _shape_only if read <= set(spec.dims) else partial(_all_names, spec)
    return partial(_row, spec, target_kind, shown, names, order)


def rows(spec: KernelSpec, target_kind: str, records: Iterable[Record]) -> list[Row]:
    """The rows of ``records`` in the order of the table."""
    return ordered(map(maker(spec, target_kind), records))


def ordered(made: Iterable[Row]) -> list[Row]:
    """Rows in the order of their table: the spec's, then by size and variant."""
    try:
        return sorted(made, key=attrgetter("order"))
    except TypeError as error:
        raise TableError(f"the order of the table compares numbers with text: {error}") from None


def row_line(spec: KernelSpec, target_kind: str, record: Record) -> str:
    """The line of one record in the table of its kernel."""
    return maker(spec, target_kind)(record).line


def _row(
    spec: KernelSpec,
    target_kind: str,
    shown: list[tuple[columns.Cell, str | None, bool]],
    names: Callable[[Record], expressions.Names],
    order: list[Callable[[expressions.Names], expressions.Value]],
    record: Record,
) -> Row:
    if list(record.shape) != spec.dims:
        raise _misfit(record, f"its dims are not {', '.join(spec.dims)}")
    known = names(record)
    try:
        place = [_comparable(expression(known)) for expression in order]
    except (KeyError, ArithmeticError, TypeError, ValueError) as error:
        raise _misfit(record, f"its place in the table cannot be computed: {error}") from None
    sources = []
    for cell, argument, plain in shown:
        text = cell(record, spec, target_kind, argument)
        sources.append(text if plain else cells.escape(text))
    speed = columns.throughput(record, spec, target_kind)
    method: dict[str, Any] = {
        "tile": record.tile,
        spec.metric: speed,
        "mean_rel_L1": record.mean_rel_L1,
        "tier": record.precision or ANY_TIER,
    }
    if record.herd != spec.default_herd:
        method["herd"] = record.herd
    return Row(
        order=(*place, *record.shape.values(), record.variant or ""),
        line=cells.row(sources),
        shape=tuple(record.shape.values()),
        variant=record.variant,
        tier=record.precision or ANY_TIER,
        method=method,
        throughput=speed,
        herd=tuple(record.herd),
        used_by=tuple([f"{use.model} {use.site}" for use in record.used_by]),
        notes=tuple(record.notes),
        # The diagnosis of a model measures no configuration that could be looked up.
        passed=record.verdict.status == "pass" and record.verdict.kind != "diagnosis",
        clean=columns.is_clean(record),
    )


def _shape_only(record: Record) -> expressions.Names:
    return record.shape


def _all_names(spec: KernelSpec, record: Record) -> expressions.Names:
    return kernel.names(spec, record.shape, record.variant, record.tile, record.herd)


def _comparable(value: expressions.Value) -> int | float | str:
    if value is None:
        raise ValueError("an order expression gives nothing")
    return value


def _misfit(record: Record, reason: str) -> TableError:
    row = keys.row_id(
        record.target, record.kernel, list(record.shape), record.shape, record.variant
    )
    return TableError(
        f"the row does not fit its kernel: {reason}",
        path=row.record_path,
        fix="registry-tool check",
    )
