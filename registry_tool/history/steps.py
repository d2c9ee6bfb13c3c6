"""Steps in a row's figures: what got worse, or better, by more than its measurements scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from registry_tool.history.series import METRICS, Point, points
from registry_tool.history.versions import Version

Kind = Literal["regression", "improvement"]

PERFORMANCE_SPREAD = 0.05
"""What a latency may scatter by where its run recorded no spread: a share of it."""
ACCURACY_SPREAD = 0.005
"""What mean_rel_L1 may differ by between two runs of the same inputs: a share of it."""
WATCHED = ("latency", "mean_rel_L1")
"""Throughput is work by latency, and tells nothing more."""
_ROUNDING = 1e-9
_GEMV_ABSOLUTE = 1e-5
"""What a GEMV's mean_rel_L1 may differ by at the least: it sums few products."""
_FIRST = 3
"""Runs after a step by whose median it is told that later ones crept away from them."""


class Step(NamedTuple):
    """A change that stayed.

    ``before`` is the last run at the old level (the median of the runs since the step before it),
    ``after`` the first at the new one. ``allowed`` is the share that it had to exceed.
    ``confirmed`` tells whether a later run saw it too, ``undone`` which run got back. ``start`` is
    there where no single run departed and all of them together did: the level is then that of the
    first runs, and ``start`` the first of them.
    """

    row: str
    metric: str
    kind: Kind
    level: float
    before: Point
    after: Point
    allowed: float
    by_default: bool
    confirmed: bool
    undone: Point | None = None
    start: Point | None = None

    @property
    def share(self) -> float | None:
        """How much it changed by: +0.25 is a quarter more; None where the level was zero."""
        return (self.after.value - self.level) / self.level if self.level else None


class Allowed(NamedTuple):
    """The shares that stand in where no spread was recorded."""

    performance: float = PERFORMANCE_SPREAD
    accuracy: float = ACCURACY_SPREAD


_DEFAULTS = Allowed()


def steps(row: str, versions: Sequence[Version], allowed: Allowed = _DEFAULTS) -> list[Step]:
    """Every step of the row's latency and accuracy, oldest first; ``versions`` are too."""
    found = []
    for metric in WATCHED:
        default = allowed.accuracy if metric == "mean_rel_L1" else allowed.performance
        is_small = metric == "mean_rel_L1" and row.split("/")[1:2] == ["GEMV_bf16"]
        at_least = _GEMV_ABSOLUTE if is_small else 0.0
        found += in_points(row, metric, points(versions, metric), default, at_least)
    return found


def in_points(
    row: str, metric: str, found: Sequence[Point], default: float, at_least: float = 0.0
) -> list[Step]:
    """The steps in one figure. A run that departs alone, and the next is back, is none.

    ``default`` is the share that is allowed where no spread was recorded, ``at_least`` what is
    allowed anyhow, in the figure's unit.
    """
    noise = _Noise(default, at_least)
    more_is_better = METRICS[metric][2]
    steps: list[Step] = []
    segment = list(found[:1])
    for at in range(1, len(found)):
        point, later = found[at], found[at + 1] if at + 1 < len(found) else None
        before, level, start = segment[-1], _median([one.value for one in segment]), None
        side = noise.side(before, point, level)
        if side == 0 and later is not None and len(segment) > _FIRST:
            # Each run is near the ones before it, and all of them may have left the first ones.
            level, start = _median([one.value for one in segment[:_FIRST]]), segment[0]
            side = noise.side(before, point, level)
        is_alone = later is not None and noise.side(before, later, level) != side
        if side == 0 or is_alone:
            if side == 0 or start is not None:
                segment.append(point)
            continue
        kind: Kind = "improvement" if (side > 0) == more_is_better else "regression"
        share, by_default = noise.allowed(before, point)
        confirmed = later is not None
        steps.append(
            Step(row, metric, kind, level, before, point, share, by_default, confirmed, start=start)
        )
        segment = [point]
    return [_judged(step, found, more_is_better, noise) for step in steps]


def _median(values: Sequence[float]) -> float:
    # The module of that name takes as long to import as all of this package.
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


class _Noise(NamedTuple):
    """What runs may differ by: ``default`` is a share, ``at_least`` in the figure's unit."""

    default: float
    at_least: float

    def allowed(self, before: Point, after: Point) -> tuple[float, bool]:
        """The share by which two runs may differ, and whether it is the default."""
        known = [spread for spread in (before.spread, after.spread) if spread is not None]
        return (max(known), False) if known else (self.default, True)

    def side(self, before: Point, point: Point, level: float) -> int:
        """1 for a run above ``level``, -1 for one below, 0 for one that is at it."""
        share, _ = self.allowed(before, point)
        margin = max(abs(level) * (share + _ROUNDING), self.at_least)
        difference = point.value - level
        return 0 if abs(difference) <= margin else 1 if difference > 0 else -1


def _judged(step: Step, found: Sequence[Point], more_is_better: bool, noise: _Noise) -> Step:
    """A regression with the first later run that was no worse than before it."""
    if step.kind == "improvement":
        return step
    start = found.index(step.after) + 1
    for at in range(start, len(found)):
        rest = found[at : at + 2]
        sides = [noise.side(step.before, point, step.level) for point in rest]
        if all(side == 0 or (side > 0) == more_is_better for side in sides):
            return step._replace(undone=found[at])
    return step
