"""The judge of arrays against np.isclose and a plain L1, on a 67M-element f32 output."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry_tool.emulator.compare import compare

F32 = NDArray[np.float32]

SIDE = 8192
RTOL, ATOL = 1.6e-2, 1.5e-3


@dataclass(frozen=True)
class Result:
    """One measured figure beside its budget."""

    work: str
    measured: float
    budget: float
    unit: str
    at_most: bool

    @property
    def kept(self) -> bool:
        return (self.measured <= self.budget) == self.at_most or self.measured == self.budget


def show(results: list[Result]) -> None:
    """Print the table."""
    print(f"{'work':84} {'measured':>10} {'budget':>12}")
    for result in results:
        sign = "<=" if result.at_most else ">="
        budget = f"{sign} {result.budget:g}"
        kept = "" if result.kept else "   MISSED"
        print(f"{result.work:84} {result.measured:10.4g} {budget:>12} {result.unit}{kept}")


def fastest(*calls: Callable[[], object], rounds: int = 3) -> list[float]:
    """Seconds of the fastest run of each call, taken in turns so that all meet the same machine."""
    times = [[_seconds(call) for call in calls] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _plain(out: F32, ref: F32) -> tuple[bool, float]:
    close = bool(np.isclose(out, ref, rtol=RTOL, atol=ATOL).all())
    l1 = np.abs(out - ref).sum(dtype=np.float64) / np.abs(ref).sum(dtype=np.float64)
    return close, float(l1)


def run() -> list[Result]:
    rng = np.random.default_rng(0)
    ref = rng.standard_normal((SIDE, SIDE), dtype=np.float32)
    out = rng.random((SIDE, SIDE), dtype=np.float32)
    # In tolerance, yet in every strip too large for rtol alone and for atol alone.
    np.multiply(out, np.float32(1e-2) * np.abs(ref) + np.float32(1.2e-3), out=out)
    out += ref
    results = [_ratio("errors that need both tolerances", out, ref)]
    np.multiply(ref, np.float32(1.01), out=out)  # as in a kernel without near-zero outputs
    results.append(_ratio("errors of 1 % everywhere", out, ref))
    tracemalloc.start()
    compare(out, ref, RTOL, ATOL)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return [
        *results,
        Result("judge 67M elements: memory beyond the inputs", peak / 1e6, 8, "MB", True),
    ]


def _ratio(what: str, out: F32, ref: F32) -> Result:
    plain, judged = fastest(
        lambda: _plain(out, ref), lambda: compare(out, ref, RTOL, ATOL), rounds=5
    )
    name = f"judge 67M elements, {what}: np.isclose + L1 takes"
    return Result(name, plain / judged, 5, "times as long", False)


if __name__ == "__main__":
    show(run())
