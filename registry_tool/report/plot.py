"""A small line plot for a terminal, in braille or in plain ASCII; knows nothing of rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

_LEAST, _MOST, _WITHOUT_TERMINAL = 40, 120, 80
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bit of each of the 4 x 2 dots of a braille character."""
_BRAILLE = 0x2800


class Axes(NamedTuple):
    """What stands around the curve: a title with the unit, and the ends of the horizontal axis."""

    title: str
    first: str
    last: str


def width() -> int:
    """Columns to draw in: COLUMNS, else the terminal's, else 80; never fewer than 40."""
    columns = shutil.get_terminal_size((_WITHOUT_TERMINAL, 24)).columns
    return max(_LEAST, min(columns, _MOST))


def draws_unicode(encoding: str | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether braille can be shown: the stream can hold it, and the locale is no plain one."""
    locale = next(
        filter(None, (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))), ""
    )
    if locale in ("C", "POSIX") or environment.get("TERM") in ("dumb", "linux"):
        return False
    try:
        chr(_BRAILLE).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def plot(values: Sequence[float], axes: Axes, columns: int, rows: int, unicode: bool) -> list[str]:
    """``values`` from left to right as lines of at most ``columns`` characters.

    The vertical axis runs from the least value to the greatest.
    """
    low, high = min(values), max(values)
    if low == high:
        margin = abs(low) * 0.05 or 1.0
        low, high = low - margin, high + margin
    labels = [number(high), *[""] * (rows - 2), number(low)]
    labels[rows // 2] = number((low + high) / 2)
    edge = max(map(len, labels))
    across = columns - edge - 2
    drawer = _braille if unicode else _ascii
    curve = drawer(lambda x, y: _path(values, low, high, x, y), across, rows)
    wall, corner, floor = ("│", "└", "─") if unicode else ("|", "+", "-")
    lines = [
        f"{label:>{edge}} {wall}{text}".rstrip() for label, text in zip(labels, curve, strict=True)
    ]
    ends = axes.first + axes.last.rjust(max(across - len(axes.first), len(axes.last) + 1))
    if axes.first == axes.last:
        ends = axes.first
    return [axes.title, *lines, f"{'':>{edge}} {corner}{floor * across}", f"{'':>{edge}}  {ends}"]


def number(value: float) -> str:
    """Four significant digits, as short as they can be."""
    return f"{value:.4g}"


Dots = list[tuple[int, int]]


def _path(values: Sequence[float], low: float, high: float, across: int, down: int) -> Dots:
    """The dots of the curve on a grid of ``across`` x ``down``, the origin at the top left."""
    last = max(len(values) - 1, 1)
    corners = [
        (
            round(at * (across - 1) / last),
            round((high - value) / (high - low) * (down - 1)),
        )
        for at, value in enumerate(values)
    ]
    dots = corners[:1]
    for (x0, y0), (x1, y1) in pairwise(corners):
        count = max(abs(x1 - x0), abs(y1 - y0), 1)
        dots += [
            (x0 + round((x1 - x0) * at / count), y0 + round((y1 - y0) * at / count))
            for at in range(1, count + 1)
        ]
    return dots


def _braille(path: Callable[[int, int], Dots], columns: int, rows: int) -> list[str]:
    grid = [[0] * columns for _ in range(rows)]
    for x, y in path(columns * 2, rows * 4):
        grid[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
    return ["".join(chr(_BRAILLE + cell) if cell else " " for cell in line) for line in grid]


def _ascii(path: Callable[[int, int], Dots], columns: int, rows: int) -> list[str]:
    grid = [[" "] * columns for _ in range(rows)]
    for x, y in path(columns, rows):
        grid[y][x] = "*"
    return ["".join(line) for line in grid]
