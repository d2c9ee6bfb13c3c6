"""What a kernel spec answers about a shape, a tile and a herd; nothing is read here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from registry_tool.records import expressions
from registry_tool.records.spec import Constraint, KernelSpec, Tolerance
from registry_tool.records.verdict import Band


@dataclass(frozen=True)
class Violation:
    """A constraint that a configuration breaks; ``hard`` ones are refused."""

    id: str
    hard: bool
    message: str


def tiles_in_flight(herd: Sequence[int]) -> int:
    """Number of compute tiles that work at once."""
    return math.prod(herd)


def names(
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None = None,
    tile: Mapping[str, int] | None = None,
    herd: Sequence[int] = (),
) -> dict[str, expressions.Value]:
    """What the spec's expressions may read: dims, knobs, herd axes, ``tiles``, ``variant``."""
    known: dict[str, expressions.Value] = {**shape, **(tile or {}), "variant": variant}
    if herd:
        known.update(zip(spec.herd, herd, strict=False))
        known["tiles"] = tiles_in_flight(herd)
    return known


def check_shape(spec: KernelSpec, shape: Mapping[str, int]) -> str | None:
    """What is wrong with the dims of ``shape``, or None."""
    if list(shape) != spec.dims:
        return f"the shape of {spec.kernel} has the dims {', '.join(spec.dims)}, in this order"
    for dim, size in shape.items():
        if size < (0 if dim == "causal" else 1):
            return f"{dim} must be at least 1, found {size}"
    return None


def shape_text(spec: KernelSpec, shape: Mapping[str, int]) -> str:
    """The shape as people write it, e.g. ``2048×8192×2048``."""
    return spec.shape_text.format_map(shape)


def precision_of(spec: KernelSpec, variant: str | None) -> str | None:
    """Precision tier of a variant; raises KeyError for one that the spec does not know."""
    if variant is None and not spec.variants:
        return None
    return spec.variants[variant or ""].precision


def tolerance(spec: KernelSpec, precision: str | None) -> Tolerance:
    """The element-wise gate of a tier; raises KeyError if the page has none."""
    return spec.tolerances[precision or "any"]


def variant_order(spec: KernelSpec, shape: Mapping[str, int]) -> list[str | None]:
    """Variants in the order in which they are tried for ``shape``; [None] if there are none."""
    if not spec.variants:
        return [None]
    known = names(spec, shape)
    for preference in spec.preference:
        if preference.when is None or expressions.holds(preference.when, known):
            return list(preference.order)
    return list(spec.variants)


def band(
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None,
    tile: Mapping[str, int],
    herd: Sequence[int],
) -> Band | None:
    """The plausible range of mean_rel_L1, or None if the page gives none."""
    known = names(spec, shape, variant, tile, herd)
    for rule in spec.band:
        if rule.when is None or expressions.holds(rule.when, known):
            low = expressions.number(rule.low, known)
            high = expressions.number(rule.high, known)
            return Band(low=max(0.0, float(low)), high=float(high))
    return None


def output_elements(spec: KernelSpec, shape: Mapping[str, int]) -> list[int]:
    """Number of elements of each output."""
    known = names(spec, shape)
    return [expressions.integer(output.elements, known) for output in spec.outputs]


def throughput(spec: KernelSpec, shape: Mapping[str, int], latency_us: float) -> float | None:
    """What one call of ``latency_us`` gives in the page's unit, GFLOP/s or GB/s; None without.

    The work of a kernel depends on its shape alone.
    """
    work = spec.work.flops if spec.metric == "gflops" else spec.work.bytes
    if work is None or latency_us <= 0.0:
        return None
    return float(expressions.number(work, names(spec, shape))) / latency_us / 1e3


def violations(
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None,
    tile: Mapping[str, int],
    herd: Sequence[int],
) -> list[Violation]:
    """Every constraint and known-bad tiling that the configuration breaks, hard ones first."""
    known = names(spec, shape, variant, tile, herd)
    found = [
        Violation(rule.id, rule.kind == "hard", _broken(rule, known))
        for rule in spec.constraints
        if (rule.when is None or expressions.holds(rule.when, known))
        and not expressions.holds(rule.holds, known)
    ]
    found += [
        Violation("known-bad", True, f"known-bad tiling: {bad.reason}")
        for bad in spec.known_bad
        if expressions.holds(bad.when, known)
    ]
    return sorted(found, key=lambda violation: not violation.hard)


def _broken(rule: Constraint, known: Mapping[str, expressions.Value]) -> str:
    read = sorted(expressions.names_in(rule.holds))
    values = ", ".join(f"{name}={known[name]}" for name in read if name in known)
    return f"{rule.holds} does not hold ({values}): {rule.reason}"
