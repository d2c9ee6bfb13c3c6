"""Whether a figure got better or worse, or differs only as two runs of the same code may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from registry_tool.records.record import Record
from registry_tool.review.model import Figure, Trend

# How far two runs of the same code on other machines' arithmetic libraries may be apart, as a
# share. max_rel is a quotient by values near zero: thousands are normal, and nobody judges it.
_ACCURACY = {"mean_rel_L1": 0.005, "max_abs": 0.05}
_GEMV_ABSOLUTE = 1e-5
_SPEED = (("latency_us", "µs"), ("gflops", "GFLOP/s"), ("gbps", "GB/s"))
_LESS_IS_BETTER = ("mean_rel_L1", "max_abs", "latency_us")


def compare(before: Record | None, after: Record | None) -> tuple[Figure, ...]:
    """Every figure that at least one of the two rows has."""
    found = [*_accuracy(before, after), *_speed(before, after)]
    return tuple(one for one in found if one.before is not None or one.after is not None)


def unproven(figures: tuple[Figure, ...]) -> tuple[Figure, ...]:
    """The figures of a row that no new run stands behind: neither better nor worse."""
    moved = ("better", "worse", "within spread", "new", "gone")
    return tuple(replace(one, trend="changed") if one.trend in moved else one for one in figures)


def _accuracy(before: Record | None, after: Record | None) -> Iterator[Figure]:
    row = after or before
    assert row is not None
    for name in ("mean_rel_L1", "max_abs", "max_rel"):
        was, now = getattr(before, name, None), getattr(after, name, None)
        spread = _ACCURACY.get(name)
        if name == "mean_rel_L1" and row.kernel.startswith("GEMV") and was:
            spread = max(_ACCURACY[name], _GEMV_ABSOLUTE / was)
        judged = name in _ACCURACY
        yield Figure(name, "", was, now, spread, trend(name, was, now, spread, judged))


def _speed(before: Record | None, after: Record | None) -> Iterator[Figure]:
    ours = before.performance if before else None
    theirs = after.performance if after else None
    spreads = [part.spread for part in (ours, theirs) if part and part.spread is not None]
    spread = max(spreads) if spreads else None
    for name, unit in _SPEED:
        was, now = getattr(ours, name, None), getattr(theirs, name, None)
        yield Figure(name, unit, was, now, spread, trend(name, was, now, spread))


def trend(
    name: str, was: float | None, now: float | None, spread: float | None, judged: bool = True
) -> Trend:
    """What a step from ``was`` to ``now`` is; without a spread, every step counts."""
    if was is None or now is None:
        return "same" if was is now else "new" if was is None else "gone"
    if was == now:
        return "same"
    if not judged:
        return "changed"
    if spread is not None and abs(now - was) <= spread * abs(was):
        return "within spread"
    return "better" if (now < was) == (name in _LESS_IS_BETTER) else "worse"
