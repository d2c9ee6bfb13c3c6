"""Timing lines in bounded memory: the first ones, and of the rest those that are worse."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from registry_tool.verifier.logs.facts import Mark, Timing

_Measure = Callable[[Timing], float | None]


def _odd(timing: Timing) -> float | None:
    latency = timing.latency_us
    return 1.0 if latency is not None and not _real(latency) else None


def _real(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0.0


# Of each figure the largest counts: the slowest, the least throughput, one that is no measurement,
# and a number that is unlikely as it stands, whatever its unit.
_MEASURES: dict[str, _Measure] = {
    "latency": lambda timing: timing.latency_us if _real(timing.latency_us) else None,
    "gflops": lambda timing: -timing.gflops if timing.gflops and _real(timing.gflops) else None,
    "gbps": lambda timing: -timing.gbps if timing.gbps and _real(timing.gbps) else None,
    "odd": _odd,
    "printed": lambda timing: timing.printed if _real(timing.printed) else None,
}


class WorstTimings:
    """Takes every timing line of a log; no line that decides a judgement is let go."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._first: list[tuple[Mark, Timing]] = []
        self._worse: dict[str, tuple[Mark, Timing]] = {}
        self._extremes: dict[str, float] = {}

    def add(self, mark: Mark, timing: Timing) -> None:
        """Note a line; lines come in the order of the log."""
        if len(self._first) < self._most:
            self._first.append((mark, timing))
        for name, measure in _MEASURES.items():
            value = measure(timing)
            if value is None or value <= self._extremes.get(name, -math.inf):
                continue
            self._extremes[name] = value
            if self._first[-1][1] is not timing:
                self._worse[name] = mark, timing

    def kept(self) -> Iterator[tuple[Mark, Timing]]:
        """The lines that matter, in the order of the log."""
        yield from self._first
        yield from sorted(
            {mark.start: (mark, timing) for mark, timing in self._worse.values()}.values(),
            key=lambda found: found[0].start,
        )
