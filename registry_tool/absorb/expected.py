"""What a table of a page should show, with the rows and the owner of each cell: types only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from registry_tool.records.keys import RowId
from registry_tool.records.layout import ColumnLayout, Value
from registry_tool.records.spec import KernelSpec

HUMAN = ("used_by", "notes")
"""Cell formats that show what people own."""
NAME = "name"
IDENTITY = ("shape", "dim", "template", "yes_no", "variant", NAME)
"""Cell formats that say which row it is."""


TIMES = re.compile(r"[×x*✕⨯]", re.I)
SPACE = re.compile(r"\s+")

Key = tuple[str, ...]
"""The cells that name a row, however people space them and write ×."""


def normal_key(texts: Sequence[str]) -> Key:
    """The key that cells make, as displayed."""
    return tuple(TIMES.sub("×", SPACE.sub("", text)).casefold() for text in texts)


@dataclass(frozen=True)
class Column:
    """A column of a table: heading, cell format and its argument."""

    title: str
    cell: str
    argument: str | None = None


@dataclass(frozen=True)
class Worded:
    """A cell in a page's own wording: what it says and where the wording is kept.

    ``cell`` is the human-owned field whose ``words`` it shows, or None where the words are the
    page's alone. ``prefix`` is what stands before them and is computed, ``lead`` its template.
    ``line`` and ``column`` name the cell in the layout; ``line`` is None if the layout does not
    name the line. ``of`` is what the wording was written for, ``layout`` the column as it
    is where nothing is worded.
    """

    cell: str | None
    words: Sequence[str]
    prefix: str
    lead: str
    line: str | None
    column: str
    of: Mapping[str, Value]
    layout: ColumnLayout


@dataclass(frozen=True)
class ExpectedRow:
    """A line as displayed, cell by cell, and the rows that it shows, the foremost first.

    There are none where it is computed from a whole page. ``worded`` are the cells, by column,
    that a page words itself.
    """

    rows: tuple[RowId, ...]
    texts: list[str]
    worded: Mapping[int, Worded] = field(default_factory=dict)

    @property
    def row(self) -> RowId | None:
        """The foremost of its rows."""
        return self.rows[0] if self.rows else None


@dataclass(frozen=True)
class ExpectedTable:
    """The one table of a page's region; ``spec`` and ``target`` are None for the index.

    ``variant`` is the one that all its rows have, where no column says so.
    """

    path: str
    region: str
    target: str | None
    spec: KernelSpec | None
    columns: Sequence[Column]
    rows: Sequence[ExpectedRow]
    variant: str | None = None

    @property
    def header(self) -> list[str]:
        """The headings as displayed."""
        return [column.title for column in self.columns]

    @property
    def identity(self) -> list[int]:
        """The columns that say which row it is; the first one where none does."""
        found = [at for at, column in enumerate(self.columns) if column.cell in IDENTITY]
        return found or [0]

    def key(self, texts: Sequence[str]) -> Key:
        """What names a row of the table, from its cells as displayed."""
        return normal_key([texts[at] for at in self.identity])

    def named(self, texts: Sequence[str]) -> str:
        """The cells that name a row, for people."""
        words = " ".join(texts[at] for at in self.identity).replace("\n", " ")
        return words.strip() or "(a row without a name)"
