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


class Step(NamedTuple):
    """A change that stayed.

    ``before`` is the last run at the old level (the median of the runs since the step before it),
    ``after`` the first at the new one. ``allowed`` is the share that it had to exceed.
    ``confirmed`` tells whether a later run saw it too, ``undone`` which run got back.
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

    @property
    def share(self) -> float:
        """How much it changed by: +0.25 is a quarter more."""
        return (self.after.value - self.level) / self.level if self.level else float("inf")


class Allowed(NamedTuple):
    """The shares that stand in where no spread was recorded."""

    performance: float = PERFORMANCE_SPREAD
    accuracy: float = ACCURACY_SPREAD


_DEFAULTS = Allowed()


def steps(row: str, versions: Sequence[Version], allowed: Allowed = _DEFAULTS) -> list[Step]:
    """Every step of the row's latency and accuracy, oldest first; ``versions`` are too."""
    return [
        step
        for metric in WATCHED
        for step in in_points(
            row,
            metric,
            points(versions, metric),
            allowed.accuracy if metric == "mean_rel_L1" else allowed.performance,
        )
    ]


def in_points(row: str, metric: str, found: Sequence[Point], default: float) -> list[Step]:
    """The steps in one figure. A run that departs alone, and the next is back, is none."""
    more_is_better = METRICS[metric][2]
    steps: list[Step] = []
    segment = list(found[:1])
    for at in range(1, len(found)):
        point, level = found[at], _median([one.value for one in segment])
        share, by_default = _allowed(segment[-1], point, default)
        side = _side(point.value, level, share)
        if side == 0:
            segment.append(point)
            continue
        later = found[at + 1] if at + 1 < len(found) else None
        if later is not None:
            later_share, _ = _allowed(segment[-1], later, default)
            if _side(later.value, level, later_share) != side:
                continue
        kind: Kind = "improvement" if (side > 0) == more_is_better else "regression"
        steps.append(
            Step(row, metric, kind, level, segment[-1], point, share, by_default, later is not None)
        )
        segment = [point]
    return [_judged(step, found, more_is_better, default) for step in steps]


def _median(values: Sequence[float]) -> float:
    # The module of that name takes as long to import as all of this package.
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _allowed(before: Point, after: Point, default: float) -> tuple[float, bool]:
    known = [spread for spread in (before.spread, after.spread) if spread is not None]
    return (max(known), False) if known else (default, True)


def _side(value: float, level: float, share: float) -> int:
    margin = abs(level) * (share + _ROUNDING)
    return 0 if abs(value - level) <= margin else 1 if value > level else -1


def _judged(step: Step, found: Sequence[Point], more_is_better: bool, default: float) -> Step:
    """A regression with the first later run that was no worse than before it."""
    if step.kind == "improvement":
        return step
    start = found.index(step.after) + 1
    for at in range(start, len(found)):
        rest = found[at : at + 2]
        if all(_is_back(step, point, more_is_better, default) for point in rest):
            return step._replace(undone=found[at])
    return step


def _is_back(step: Step, point: Point, more_is_better: bool, default: float) -> bool:
    share, _ = _allowed(step.before, point, default)
    side = _side(point.value, step.level, share)
    return side == 0 or (side > 0) == more_is_better
