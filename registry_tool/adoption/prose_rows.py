"""What the rows say that prose may speak of: values with the width that their rounding hides.

From records or from an adopted registry alike; which sentence is right is not its affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from registry_tool.adoption import imported
from registry_tool.adoption.model import Adoption, Row
from registry_tool.adoption.prose_figures import half_unit
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.tables import inline

FIELDS = ("throughput", "latency", "mean_rel_L1", "max_abs", "max_rel")
_FIELD = {"latency_us": "latency", "gflops": "throughput", "gbps": "throughput"}


@dataclass(frozen=True)
class Span:
    """One value as it was written: its ends, and half a unit of the last digit."""

    low: float
    high: float
    half: float


@dataclass(frozen=True)
class Known:
    """A row: its record, and every value that some place gives for it.

    The first value of a field is the one that the record holds. ``sweeps`` are values of other
    tiles of the same shape.
    """

    record: Record
    values: Mapping[str, Sequence[Span]]
    sweeps: Mapping[str, Sequence[Span]]

    @property
    def name(self) -> str:
        """The row as people write it: shape and variant."""
        sizes = "×".join(map(str, self.record.shape.values()))
        return f"{sizes} {self.record.variant}" if self.record.variant else sizes


def known(source: Adoption | Iterable[Record], specs: Mapping[str, KernelSpec]) -> list[Known]:
    """The rows of a source, in its order; those of kernels without a spec are left out."""
    if isinstance(source, Adoption):
        # Neither target nor moment shows in a figure.
        made, _ = imported.make(source, "npu2", datetime(2000, 1, 1, tzinfo=timezone.utc))
        rows = {row.key: row for row in source.rows}
        return [
            _adopted(one.record, rows[_key(one.record)], specs[one.record.kernel]) for one in made
        ]
    return [_recorded(record, specs[record.kernel]) for record in source if record.kernel in specs]


def _key(record: Record) -> tuple[str, tuple[int, ...], str | None]:
    return record.kernel, tuple(record.shape.values()), record.variant


def _recorded(record: Record, spec: KernelSpec) -> Known:
    return Known(record, {field: [span] for field, span in _own(record, spec).items()}, {})


def _own(record: Record, spec: KernelSpec) -> dict[str, Span]:
    """What the record itself says, as exactly as its numbers are written."""
    found = {}
    for field in FIELDS:
        value = inline.figure(field, record, spec)
        if value is not None:
            found[field] = _span(value, value, half_unit(repr(value).removesuffix(".0")))
    return found


def _span(low: float, high: float, half: float) -> Span:
    # `0.0` stands for no error at all, not for anything below 0.05.
    return Span(low, high, half if high else 0.0)


def _adopted(record: Record, row: Row, spec: KernelSpec) -> Known:
    values: dict[str, list[Span]] = {}
    sweeps: dict[str, list[Span]] = {}
    for claims, into in ((row.claims, values), (row.sweeps, sweeps)):
        for claim in claims:
            for one in claim.quantities:
                field = _FIELD.get(one.field, one.field)
                into.setdefault(field, []).append(_span(one.low, one.high, one.half))
    # A speed that a record computes from the shape is no statement of anybody.
    for field, own in _own(record, spec).items():
        said = values.get(field)
        if said and said[0].low <= own.low <= said[0].high:
            continue
        if said:
            said.insert(0, own)
    return Known(record, values, sweeps)
