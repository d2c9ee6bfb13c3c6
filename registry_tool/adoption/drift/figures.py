"""When two figures disagree: by the intervals that their written digits leave open."""

from __future__ import annotations

import re
from collections.abc import Iterable

from registry_tool.adoption.model import Quantity

# A figure written with "about" may be this far from an exact one.
_ABOUT = 0.05
_APPROXIMATE = frozenset("~≈")
_AT_MOST = frozenset("<≤")
_AT_LEAST = frozenset(">≥")

Interval = tuple[float, float]


def interval(figure: Quantity) -> Interval:
    """What ``figure`` can stand for: half a unit of its last digit on both sides."""
    low, high = figure.low - figure.half, figure.high + figure.half
    sign = figure.sign[:1]
    if sign in _AT_MOST:
        return float("-inf"), high
    if sign in _AT_LEAST:
        return low, float("inf")
    if sign in _APPROXIMATE:
        return low - abs(low) * _ABOUT, high + abs(high) * _ABOUT
    return low, high


def meet(first: Interval, second: Interval) -> bool:
    """Whether two intervals have more than an end in common.

    32.6 and 32.7 touch at 32.65, but no value is displayed as both.
    """
    scale = max(abs(end) for end in (*first, *second) if abs(end) != float("inf"))
    slack = 1e-9 * scale
    if min(first[1], second[1]) - max(first[0], second[0]) > slack:
        return True
    return first == second


def disagree(first: Quantity, second: Quantity) -> bool:
    """Whether no value can be displayed as both."""
    if (first.low, first.high) == (second.low, second.high):
        return False
    return not meet(interval(first), interval(second))


def shown(figure: Quantity) -> str:
    """The figure as written, without emphasis or marks."""
    return figure.written.strip("* ")


def like(value: float, figure: Quantity) -> str:
    """``value``, in the unit of ``figure``'s field, with as many decimals as ``figure`` has."""
    match = re.search(r"\.(\d+)", figure.written)
    return f"{value:.{len(match[1]) if match else 0}f}"


def best(figures: Iterable[Quantity]) -> Quantity | None:
    """The figure that says the most, by the upper end of a range; None of none."""
    return max(figures, key=lambda figure: figure.high, default=None)
