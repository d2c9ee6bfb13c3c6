"""Markdown documents from tables, cut to what a code host takes as one comment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

COMMENT_BYTES = 65_536
"""What a comment may hold on GitHub. It counts characters; bytes are never fewer."""


@dataclass(frozen=True)
class Section:
    """A heading with rows of a table (or, without ``columns``, items of a list).

    Rows hold finished Markdown. ``folded`` ones are behind a click; ``more`` says where rows that
    were cut are.
    """

    title: str
    rows: Sequence[Sequence[str]]
    columns: Sequence[str] = ()
    folded: bool = False
    more: str = "`--format json` has all of them"


def document(head: str, sections: Sequence[Section], limit: int = COMMENT_BYTES) -> str:
    """``head`` and the sections that have rows, in at most ``limit`` bytes.

    Where they do not fit, every section keeps as many of its first rows as all can.
    """
    wanted = [section for section in sections if section.rows]
    most = max((len(section.rows) for section in wanted), default=0)
    text = _written(head, wanted, most)
    if _size(text) <= limit:
        return text
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if _size(_written(head, wanted, middle)) <= limit:
            low = middle
        else:
            high = middle
    return _written(head, wanted, low)


def _size(text: str) -> int:
    return len(text.encode())


def _written(head: str, sections: Sequence[Section], most: int) -> str:
    return "\n".join([head, *(_section(section, most) for section in sections)])


def _section(section: Section, most: int) -> str:
    number = len(section.rows)
    shown = section.rows[:most]
    lines = [""]
    if section.folded:
        lines += [f"<details><summary>{section.title} ({number:,})</summary>", ""]
    else:
        lines += [f"#### {section.title} ({number:,})", ""]
    if section.columns and shown:
        lines += [_row(section.columns), _row(["---"] * len(section.columns))]
    lines += [_row(cells) if section.columns else f"- {cells[0]}" for cells in shown]
    if len(shown) < number:
        lines += ["", f"… and {number - len(shown):,} more; {section.more}."]
    if section.folded:
        lines += ["", "</details>"]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
