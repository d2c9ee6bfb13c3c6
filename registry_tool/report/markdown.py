"""Markdown documents from tables, cut to what a code host takes as one comment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

COMMENT_BYTES = 65_536
"""What a comment may hold on GitHub. It counts characters; bytes are never fewer."""


@dataclass(frozen=True)
class Section:
    """A heading with rows of a table (or, without ``columns``, items of a list).

    Rows hold finished Markdown; ``number`` is how many there are, where only the first are given.
    ``folded`` sections are behind a click; ``more`` says where rows that were cut are.
    """

    title: str
    rows: Sequence[Sequence[str]]
    columns: Sequence[str] = ()
    folded: bool = False
    number: int = 0
    more: str = "`--format json` has all of them"


_MOST = COMMENT_BYTES // 32
"""Rows of which no more fit into a comment, however short they are."""


def section(
    title: str,
    items: Iterable[T],
    row: Callable[[T], Sequence[str]],
    columns: Sequence[str] = (),
    folded: bool = False,
) -> Section:
    """The section of ``items``; ``row`` is called for as many of them as could ever be shown."""
    found = list(items)
    return Section(title, [row(one) for one in found[:_MOST]], columns, folded, len(found))


def document(head: str, sections: Sequence[Section], limit: int = COMMENT_BYTES) -> str:
    """``head`` and the sections that have rows, in at most ``limit`` bytes.

    Where they do not fit, those behind a click are cut first, to as many of their first rows as
    all of them can have, and the others only if that is not enough.
    """
    wanted = [part for part in sections if part.rows]
    most = max((len(part.rows) for part in wanted), default=0)

    def fits(shown: int, folded: int) -> bool:
        return _size(_written(head, wanted, shown, folded)) <= limit

    if fits(most, most):
        return _written(head, wanted, most, most)
    if fits(most, 0):
        return _written(head, wanted, most, _greatest(lambda rows: fits(most, rows), most))
    return _written(head, wanted, _greatest(lambda rows: fits(rows, 0), most), 0)


def _greatest(fits: Callable[[int], bool], most: int) -> int:
    """The greatest number below ``most`` that ``fits``, or 0."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def _size(text: str) -> int:
    return len(text.encode())


def _written(head: str, sections: Sequence[Section], most: int, folded: int) -> str:
    return "\n".join([head, *(_part(part, folded if part.folded else most) for part in sections)])


def _part(part: Section, most: int) -> str:
    number = max(part.number, len(part.rows))
    shown = part.rows[:most]
    lines = [""]
    if part.folded:
        lines += [f"<details><summary>{part.title} ({number:,})</summary>", ""]
    else:
        lines += [f"#### {part.title} ({number:,})", ""]
    if part.columns and shown:
        lines += [_row(part.columns), _row(["---"] * len(part.columns))]
    lines += [_row(cells) if part.columns else f"- {cells[0]}" for cells in shown]
    if len(shown) < number:
        lines += ["", f"… and {number - len(shown):,} more; {part.more}."]
    if part.folded:
        lines += ["", "</details>"]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
