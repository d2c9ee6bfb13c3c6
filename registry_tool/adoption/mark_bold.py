"""Which rule the bold figures of an existing column follow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from registry_tool.adoption.mark_written import Cell
from registry_tool.records.layout import Bold, ColumnLayout
from registry_tool.tables import layout
from registry_tool.tables.layout import Kernel
from registry_tool.tables.layout_template import places

# A bold figure, with its unit.
_STRONG = re.compile(r"\*\*(\s*[~≈]?\d[^*]*)\*\*")
_MARKED = re.compile(r"\A\*\*[^*]+\*\*|\*\*\s*[~≈]?\d")


def rule_of(
    column: ColumnLayout, seen: Sequence[Cell], kernels: Mapping[str, Kernel]
) -> Bold | None:
    """The rule that the bold figures of a column follow best, None where none is bold.

    A rule has to explain most of what it speaks of; one bold figure alone marks a best.
    """
    marked = [_is_marked(cell) for cell in seen]
    if not any(marked):
        return None
    scores: list[tuple[int, int, Bold]] = []
    rules: tuple[Bold, ...] = ("column", "siblings")
    if _metric_of_line(column):
        rules = (*rules, "line")
    for at, rule in enumerate(rules):
        told = layout.bold(replace(column, bold=rule), [cell.line for cell in seen], kernels)
        if rule == "siblings" and all(one is None for one in told):
            continue
        wrong = sum(one is not None and one != mark for one, mark in zip(told, marked, strict=True))
        right = sum(bool(one) and mark for one, mark in zip(told, marked, strict=True))
        if right:
            scores.append((wrong - right, at, rule))
    if scores and min(scores)[0] <= 0:
        return min(scores)[2]
    # One bold figure alone means the best, whichever it is.
    return "column" if sum(marked) == 1 else None


def _metric_of_line(column: ColumnLayout) -> bool:
    """Whether a column is about one of the rows of its lines."""
    return any(one.subject is not None for one in places(column.cell))


def _is_marked(cell: Cell) -> bool:
    return _MARKED.search(cell.source) is not None


def is_ruled(column: ColumnLayout, cell: Cell, kernels: Mapping[str, Kernel]) -> bool:
    """Whether the column's rule says if the figure of a cell is bold; ``column`` has a template."""
    if column.bold is None or column.bold == "column":
        return column.bold is not None
    return layout.bold(column, [cell.line], kernels)[0] is not None


def without(source: str) -> str:
    """A cell without the bold of its first figure."""
    return _STRONG.sub(r"\1", source, count=1)
