"""Throughput that does not follow from shape and latency, by the work that its page counts.

Attention counts what its page says: half of the products where it is causal. The work is data of
the kernel's spec.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from registry_tool.adoption.drift.figures import interval, like, meet, shown
from registry_tool.adoption.drift.finding import Confidence, Finding, sides
from registry_tool.adoption.drift.naming import row_name
from registry_tool.adoption.model import Adoption, Claim, Quantity, Row
from registry_tool.records.kernel import throughput
from registry_tool.records.spec import KernelSpec

# Above this, rounding and another way to count the bytes of a small operand are no explanation.
_PLAIN = 0.03


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Every latency and throughput of one line that cannot both be true."""
    for row in adoption.rows:
        wrong: dict[tuple[str, str], list[tuple[Claim, Quantity, Quantity]]] = defaultdict(list)
        for claim, latency, rate in contradictions(row, specs[row.kernel]):
            wrong[(shown(latency), shown(rate))].append((claim, latency, rate))
        for found in wrong.values():
            yield _finding(row, found, specs)


def contradictions(row: Row, spec: KernelSpec) -> Iterator[tuple[Claim, Quantity, Quantity]]:
    """The claims about a row whose latency and throughput cannot both be true."""
    for claim in (*row.claims, *row.sweeps):
        latency = claim.quantity("latency_us")
        rate = claim.quantity(spec.metric)
        if latency is None or rate is None or rate.misplaced or latency.misplaced:
            continue
        implied = _implied(spec, row, latency)
        if implied is not None and not meet(implied, interval(rate)):
            yield claim, latency, rate


def _implied(spec: KernelSpec, row: Row, latency: Quantity) -> tuple[float, float] | None:
    shortest, longest = interval(latency)
    if shortest <= 0 or longest == float("inf"):
        return None
    low, high = throughput(spec, row.shape, longest), throughput(spec, row.shape, shortest)
    return None if low is None or high is None else (low, high)


def _finding(
    row: Row, found: list[tuple[Claim, Quantity, Quantity]], specs: Mapping[str, KernelSpec]
) -> Finding:
    spec = specs[row.kernel]
    _, latency, rate = found[0]
    implied = throughput(spec, row.shape, latency.value) or 0.0
    off = abs(rate.value - implied) / implied
    confidence: Confidence = "high" if off > _PLAIN else "low"
    unit = "GFLOP/s" if spec.metric == "gflops" else "GB/s"
    expected = like(implied, rate)
    return Finding(
        kind="throughput-contradicts-latency",
        sides=sides((claim.where, f"{shown(a)}, {shown(b)}") for claim, a, b in found),
        record=row_name(row, specs),
        found=shown(rate),
        expected=expected,
        confidence=confidence,
        message=f"{shown(latency)} of this shape is {expected} {unit}; the row says {shown(rate)}",
    )
