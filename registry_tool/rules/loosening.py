"""Whether one version of a kernel's page allows something that another one refuses.

Expressions cannot be compared in general. So constraints are compared as they are written (adding
one is the way to tighten), and figures are computed over real rows and over sample shapes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from registry_tool.records import expressions, kernel
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec, Target
from registry_tool.records.verdict import Band

_SIZES = (64, 256, 1024, 4096, 8192)
_MOST_SAMPLES = 200
_NONE = -1.0
_MEANING = ("dims", "metric", "bound", "emulator")


@dataclass(frozen=True)
class _Case:
    """One configuration of the kernel to compute figures for."""

    shape: Mapping[str, int]
    variant: str | None
    tile: Mapping[str, int]
    herd: Sequence[int]

    def text(self, spec: KernelSpec) -> str:
        variant = f" {self.variant}" if self.variant else ""
        return f"{kernel.shape_text(spec, self.shape)}{variant}"


def loosenings(before: KernelSpec, after: KernelSpec, rows: Iterable[Record] = ()) -> list[str]:
    """What ``after`` allows that ``before`` does not, in words; empty if nothing."""
    found = [
        *_meaning(before, after),
        *_tolerances(before, after),
        *_tiles_target(before, after),
        *_constraints(before, after),
        *_harness(before, after),
    ]
    # A page whose variables differ cannot be computed side by side.
    if before.dims == after.dims and before.herd.keys() == after.herd.keys():
        found += _figures(before, after, [*map(_case, rows), *_samples(before)])
    return found


def loose_figures(before: KernelSpec, after: KernelSpec, row: Record) -> list[str]:
    """The same for the figures at one row."""
    return list(_figures(before, after, [_case(row)]))


def _choices(spec: KernelSpec) -> dict[str, list[int]]:
    knobs = {name: knob.choices for name, knob in spec.tile.items()}
    return knobs | {name: axis.choices for name, axis in spec.herd.items()}


def extensions(before: KernelSpec, after: KernelSpec) -> list[str]:
    """What ``after`` adds that ``before`` says nothing about, so that it is not held to it."""
    new = [f"the variant {name}" for name in after.variants if name not in before.variants]
    new += [f"a tolerance for {tier}" for tier in after.tolerances if tier not in before.tolerances]
    return [f"{what} is new" for what in new]


def _meaning(before: KernelSpec, after: KernelSpec) -> Iterator[str]:
    for name in _MEANING:
        was, now = getattr(before, name), getattr(after, name)
        if was != now:
            yield f"{name} was {was!r} and is {now!r}"
    if list(before.tile) != list(after.tile) or list(before.herd) != list(after.herd):
        yield "its tile knobs or herd axes are other ones"
    for axis, sizes in _choices(before).items():
        kept = _choices(after).get(axis, sizes)
        gone = [size for size in sizes if size not in kept]
        if gone:
            # Fewer herds to choose from would excuse a smaller one.
            yield f"{axis} may not be {', '.join(map(str, gone))} any more"
    if [o.name for o in before.outputs] != [o.name for o in after.outputs]:
        yield "its outputs are other ones"
    for name, variant in before.variants.items():
        other = after.variants.get(name)
        if other is not None and other.precision != variant.precision:
            yield (
                f"the tier of {name} was {variant.precision or 'none'} and is "
                f"{other.precision or 'none'}"
            )


def _tolerances(before: KernelSpec, after: KernelSpec) -> Iterator[str]:
    for tier, limit in before.tolerances.items():
        other = after.tolerances.get(tier)
        if other is None:
            continue  # no gate at all: every row of the tier is refused
        for name in ("rtol", "atol"):
            was, now = getattr(limit, name), getattr(other, name)
            if not now <= was:
                yield f"{name} of the tier {tier} was {was:g} and is {now:g}"


def _tiles_target(before: KernelSpec, after: KernelSpec) -> Iterator[str]:
    if after.tiles_target < before.tiles_target:
        yield f"tiles_target was {before.tiles_target} and is {after.tiles_target}"


def _constraints(before: KernelSpec, after: KernelSpec) -> Iterator[str]:
    kept = {(rule.when, rule.holds) for rule in after.constraints if rule.kind == "hard"}
    for rule in before.constraints:
        if rule.kind == "hard" and (rule.when, rule.holds) not in kept:
            yield f"the hard constraint {rule.id} ({rule.holds}) is gone, or not the same"
    still_bad = {bad.when for bad in after.known_bad}
    for bad in before.known_bad:
        if bad.when not in still_bad:
            yield f"the known-bad tiling {bad.when} is not listed any more"


def _harness(before: KernelSpec, after: KernelSpec) -> Iterator[str]:
    for target, harness in before.harness.items():
        other = after.harness.get(target)
        if other is None:
            yield f"the harness for {target} is gone: the diagnosis of a model would do"
        elif other.stateful and not harness.stateful:
            yield f"what a timing run prints of its outputs on {target} is not judged any more"
    for cover in after.covers:
        if cover not in before.covers:
            yield f"its rows meet needs of {cover.kernel}, or other ones than before"


def harness_changes(before: KernelSpec, after: KernelSpec) -> list[str]:
    """How ``after`` runs the kernel on hardware otherwise: nobody can compare two commands."""
    found = []
    for target, harness in before.harness.items():
        other = after.harness.get(target)
        if other is None or other == harness:
            continue
        names = [n for n in harness.__struct_fields__ if getattr(harness, n) != getattr(other, n)]
        found.append(f"the harness for {target} is another one ({', '.join(names)})")
    return found


def loosened_target(name: str, before: Target, after: Target) -> list[str]:
    """What registry.yaml allows on a target that it did not before, in words."""
    found = []
    if after.timing_runs < before.timing_runs:
        runs = f"was {before.timing_runs} and is {after.timing_runs}"
        found.append(f"timing_runs of {name} {runs}")
    for metric in ("gflops", "gbps"):
        was, now = getattr(before.limits, metric, None), getattr(after.limits, metric, None)
        if was != now and (was is None or now is None or now > was):
            shown = [f"{one:g}" if one is not None else "not set" for one in (was, now)]
            found.append(f"the limit of {metric} of {name} was {shown[0]} and is {shown[1]}")
    return found


def _case(row: Record) -> _Case:
    return _Case(row.shape, row.variant, row.tile, row.herd)


def _samples(spec: KernelSpec) -> Iterator[_Case]:
    tile = {name: knob.choices[0] for name, knob in spec.tile.items()}
    variants: list[str | None] = list(spec.variants) or [None]
    sizes = itertools.product(_SIZES, repeat=min(len(spec.dims), 3))
    samples = itertools.product(sizes, variants)
    step = 1 + len(_SIZES) ** 3 * len(variants) // _MOST_SAMPLES
    for some, variant in itertools.islice(samples, 0, None, step):
        shape = {dim: some[at % len(some)] for at, dim in enumerate(spec.dims)}
        shape |= {"causal": 1} if "causal" in shape else {}
        yield _Case(shape, variant, tile, spec.default_herd)


def _figures(before: KernelSpec, after: KernelSpec, cases: Iterable[_Case]) -> Iterator[str]:
    told: set[str] = set()
    for case in cases:
        for what, words in _compare(before, after, case):
            if what not in told:
                told.add(what)
                yield f"{words} (at {case.text(before)})"


def _compare(before: KernelSpec, after: KernelSpec, case: _Case) -> Iterator[tuple[str, str]]:
    was, now = _band(before, case), _band(after, case)
    if was is not None:
        if now is None:
            yield "band", f"the band was {was.low:g} to {was.high:g} and is gone"
        elif not (now.low >= was.low and now.high <= was.high):
            yield (
                "band",
                f"the band was {was.low:g} to {was.high:g} and is {now.low:g} to {now.high:g}",
            )
    outputs = zip(before.outputs, after.outputs, strict=False)
    for what, ours, theirs in (
        ("flops", before.work.flops, after.work.flops),
        ("bytes", before.work.bytes, after.work.bytes),
        *((f"elements of {one.name}", one.elements, other.elements) for one, other in outputs),
    ):
        figure, other_figure = _number(ours, before, case), _number(theirs, after, case)
        if figure != other_figure:
            yield what, f"the {what} were {figure:g} and are {other_figure:g}"


def _band(spec: KernelSpec, case: _Case) -> Band | None:
    try:
        return kernel.band(spec, case.shape, case.variant, case.tile, case.herd)
    except expressions.ExpressionError:
        return None


def _number(text: str | None, spec: KernelSpec, case: _Case) -> float:
    known = kernel.names(spec, case.shape, case.variant, case.tile, case.herd)
    try:
        return expressions.number(text, known) if text is not None else _NONE
    except expressions.ExpressionError:
        return _NONE
