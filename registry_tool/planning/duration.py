"""How long a run will take, from the runs that are recorded; nothing is guessed without one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec import UNSET

from registry_tool.planning.tiling import distance
from registry_tool.records import expressions, kernel
from registry_tool.records.spec import KernelSpec
from registry_tool.records.verdict import Verdict


@dataclass(frozen=True)
class Recorded:
    """A run of a kernel that passed: its shape, and the seconds of all its starts together."""

    shape: Mapping[str, int]
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """Expected seconds of all starts of one row, and the recorded run that says so."""

    seconds: float
    source: str


def recorded(verdict: Verdict) -> Recorded:
    """What ``verdict`` took: build and compile, the gated run, and the timing runs; no waiting."""
    runs = [*verdict.attempts, *(verdict.profile or ())]
    runs += [] if verdict.compile is UNSET else [verdict.compile]
    return Recorded(verdict.subject.shape, sum(run.seconds for run in runs))


def estimate(
    spec: KernelSpec, shape: Mapping[str, int], runs: Iterable[Recorded]
) -> Estimate | None:
    """The time of the nearest recorded shape, longer in proportion for more work; None without."""
    known = [run for run in runs if list(run.shape) == spec.dims]
    if not known:
        return None
    near = min(known, key=lambda run: (distance(shape, run.shape), list(run.shape.values())))
    ratio = _work(spec, shape) / max(1.0, _work(spec, near.shape))
    source = f"{near.seconds:.1f} s for {kernel.shape_text(spec, near.shape)}"
    if ratio > 1.0:
        source += f", and {ratio:.3g} times the work"
    return Estimate(near.seconds * max(1.0, ratio), source)


def _work(spec: KernelSpec, shape: Mapping[str, int]) -> float:
    """Work of one call in the page's own measure; elements of its outputs where it gives none."""
    measure = spec.work.flops if spec.metric == "gflops" else spec.work.bytes
    if measure is None:
        return float(sum(kernel.output_elements(spec, shape)))
    return float(expressions.number(measure, kernel.names(spec, shape)))
