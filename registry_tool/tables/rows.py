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

from registry_tool import registry_lookup
from registry_tool.records import expressions, kernel, keys
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.tables import cells, columns
from registry_tool.tables.document import TableError

ANY_TIER = "any"
ONLY_METHOD = "default"
_GOOD = ("✅", "✔", "✓", "☑", "🟢")

SortKey = tuple[int | float | str, ...]


class Facts(Struct, frozen=True, array_like=True):
    """What a page in columns of its own may show of one record besides; see `layout`.

    ``status`` is the text of the status column, and ``failed`` says that a run disproved the row.
    An ``imported`` row stands on what a page claimed, ``claim`` is the mark that it had there, and
    ``doubted`` says that no page called it good, ``contested`` that some page did and another did
    not. ``inherited`` names the fields that nobody
    measured for this row, ``caveats`` what its provenance holds against it since its import.
    """

    tile: dict[str, int]
    mean_rel_L1: float | None
    max_abs: float | None
    max_rel: float | None
    latency_us: float | None
    gflops: float | None
    gbps: float | None
    spread: float | None
    status: str
    imported: bool
    claim: str | None
    doubted: bool
    contested: bool
    waived: bool
    failed: bool
    inherited: tuple[str, ...]
    caveats: tuple[str, ...]


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
    facts: Facts


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
        facts=_facts(spec, target_kind, record),
    )


def _facts(spec: KernelSpec, target_kind: str, record: Record) -> Facts:
    speed = record.performance if target_kind == "hardware" else None
    said = record.provenance
    # A latency that was computed from a throughput is no measurement to show.
    computed = said.get("performance.latency_us", "").startswith("computed")
    marks = said.get("status", "") if record.verdict.kind == "imported" else ""
    return Facts(
        tile=record.tile,
        mean_rel_L1=record.mean_rel_L1,
        max_abs=record.max_abs,
        max_rel=record.max_rel,
        latency_us=speed.latency_us if speed and not computed else None,
        gflops=speed.gflops if speed else None,
        gbps=speed.gbps if speed else None,
        spread=speed.spread if speed else None,
        status=columns.CELLS["status"](record, spec, target_kind, None),
        imported=record.verdict.kind == "imported",
        claim=marks.split()[0] if marks else None,
        doubted=bool(marks) and not is_good(marks),
        contested=is_good(marks) and not all(map(is_good, marks.split("; "))),
        waived=bool(record.waivers),
        failed=record.verdict.status not in ("pass", "unverified"),
        inherited=tuple(
            name
            for name, text in said.items()
            if text.startswith("inherited") and name != "caveats"
        ),
        caveats=tuple(registry_lookup.import_caveats(said)),
    )


def is_good(marks: str) -> bool:
    """Whether one of some status glyphs calls a row good."""
    return any(mark in marks for mark in _GOOD)


def marks(spec: KernelSpec, row: Row) -> dict[str, Any]:
    """What says of an imported row that it is one, and what is known against it; else nothing."""
    if not row.facts.imported:
        return {}
    return registry_lookup.imported_marks(
        row.notes,
        row.variant,
        row.tier,
        list(spec.variants),
        speed=row.throughput,
        accuracy=row.facts.mean_rel_L1,
        at_import=row.facts.caveats,
        waived=row.facts.waived,
        failed=row.facts.failed,
    )


def caveats(spec: KernelSpec, row: Row) -> list[str]:
    """The keys of `registry_lookup.CAVEATS` that hold for an imported row; none for others."""
    return list(marks(spec, row).get("caveats", ()))


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
