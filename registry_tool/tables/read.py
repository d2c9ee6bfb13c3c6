"""Tables of a Markdown document as GitHub shows them: cells as displayed text, with their lines.

mistletoe finds the structure, with tokens of our own in place of its table, since mistletoe reads
some tables otherwise than GFM does: it drops empty cells, makes columns of excess ones, ends a
table at a row without a pipe and not at a heading, and misreads ``\\\\|``. Not for the hot path:
importing mistletoe takes longer than judging a thousand rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mistletoe import block_token, span_token

from registry_tool.tables.document import TableError

# mistletoe is not typed: what is called goes through these.
_blocks: Any = block_token
_spans: Any = span_token

_LINE_END = re.compile(r"\r\n|\r|\n")
_DELIMITER = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_PIPE = re.compile(r"\\?\|")
# Text without any of these is shown as it stands.
_MARKUP = re.compile(r"[\\`*_\[\]<>&~!]")
_BREAK = re.compile(r"<br[ \t\r\n]*/?>", re.I)
_BLANK = " \t\r\n\v\f"


@dataclass(frozen=True)
class TableRead:
    """One table; ``line`` is that of its header, and lines count ``\\n`` from 1.

    Each row has as many cells as the header: GitHub drops the excess and fills up with nothing.
    ``sources`` are the cells of ``rows`` before Markdown is read, with escaped pipes unescaped.
    """

    line: int
    header: list[str]
    rows: list[list[str]]
    row_lines: list[int]
    sources: list[list[str]]


def read_tables(data: bytes, path: str | None = None) -> list[TableRead]:
    """Every table of ``data``, in order, tables in quotes and lists included.

    Raises TableError if ``data`` is not UTF-8; ``path`` is only for its message.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"not UTF-8: byte 0x{data[error.start]:02x}", path=path, line=line
        ) from None
    lines, numbers = _lines(text)
    with _tokens():
        tables = list(_find(_blocks.Document(lines)))
    return [
        TableRead(
            line=numbers[table.line_number - 1],
            header=table.cells[0],
            rows=table.cells[1:],
            row_lines=[numbers[at - 1] for at in table.row_numbers[1:]],
            sources=table.sources[1:],
        )
        for table in tables
    ]


def _displayed(source: str) -> str:
    """What a cell shows, without marks of emphasis, code and links; `<br>` is a new line."""
    if _MARKUP.search(source) is None:
        return source
    return "".join(_text(token) for token in _spans.tokenize_inner(source))


def split_row(line: str) -> list[str]:
    """The cell sources of a row, by GFM: a pipe after a backslash never divides."""
    text = line.strip(_BLANK)
    cells = []
    start = 0
    for match in _PIPE.finditer(text):
        if len(match[0]) == 1:
            cells.append(text[start : match.start()])
            start = match.end()
    if start < len(text):
        cells.append(text[start:])
    if text.startswith("|"):
        del cells[0]
    return [cell.strip(_BLANK).replace("\\|", "|") for cell in cells]


def _lines(text: str) -> tuple[list[_Line], list[int]]:
    """Lines as CommonMark divides them, each ending in ``\\n``, and their numbers in an editor.

    mistletoe's own division would also break at form feed, NEL and U+2028.
    """
    lines: list[_Line] = []
    numbers: list[int] = []
    number = 1
    start = 0
    for match in _LINE_END.finditer(text):
        lines.append(_Line(text[start : match.start()] + "\n"))
        numbers.append(number)
        number += match[0].endswith("\n")
        start = match.end()
    if start < len(text):
        lines.append(_Line(text[start:] + "\n"))
        numbers.append(number)
    return lines, numbers


class _Line(str):
    """A whole line of the document.

    mistletoe hands the inside of a quote or an item on as plain text, except for a line that goes
    on lazily, without its mark: that is the whole line. A table does not go on lazily.
    """


class _Table(block_token.BlockToken):
    """A table as GFM has it; cells are read here, and mistletoe's rows are not used."""

    def __init__(self, match: tuple[list[str], int]) -> None:
        lines, self.line_number = match
        width = len(split_row(lines[0]))
        del lines[1]
        first = self.line_number
        self.row_numbers = [first, *range(first + 2, first + 1 + len(lines))]
        self.sources = [_fitted(split_row(line), width) for line in lines]
        self.cells = [[_displayed(source) for source in row] for row in self.sources]
        self.children = []

    @staticmethod
    def start(line: str) -> bool:
        return bool(line.strip(_BLANK))

    @classmethod
    def check_interrupts_paragraph(cls, lines: Any) -> bool:
        # Only a paragraph is interrupted: what a quote or an item goes on with lazily is not.
        return _Paragraph.reading and cls.heads(lines)

    @classmethod
    def heads(cls, lines: Any) -> bool:
        """Whether a table begins at the next line."""
        anchor = lines.get_pos()
        if _is_lazy(lines):
            return False
        header = next(lines)
        heads = not _is_lazy(lines) and _heads_table(header, lines.peek())
        lines.set_pos(anchor)
        return heads

    @classmethod
    def read(cls, lines: Any) -> tuple[list[str], int] | None:
        if not cls.heads(lines):
            return None
        header = next(lines)
        first = lines.line_number()
        read = [header, next(lines)]
        while not _is_lazy(lines) and not _ends_table(lines):
            read.append(next(lines))
        return read, first


class _Paragraph(block_token.Paragraph):
    """A paragraph, which says while it is read that a table may interrupt it."""

    reading = False

    @classmethod
    def read(cls, lines: Any) -> Any:
        read: Any = super().read
        cls.reading = True
        try:
            return read(lines)
        finally:
            cls.reading = False


def _is_lazy(lines: Any) -> bool:
    """Whether the next line is missing, or belongs to a quote or item without its mark."""
    line = lines.peek()
    return line is None or (type(line) is _Line and type(lines.lines[0]) is not _Line)


def _heads_table(header: str, delimiter: str) -> bool:
    text = delimiter.strip(_BLANK)
    if ("|" not in text and ":" not in text) or _DELIMITER.fullmatch(text) is None:
        return False
    if _indented(header) or _indented(delimiter) or _blocks.List.start(delimiter):
        return False
    return len(split_row(header)) == len(split_row(delimiter))


def _ends_table(lines: Any) -> bool:
    line = lines.peek()
    if not line.strip(_BLANK) or _indented(line):
        return True
    # What may not interrupt a paragraph (an item that starts with 2, a lone tag) ends a table.
    if _blocks.List.start(line) or _blocks.HtmlBlock.start(line):
        return True
    return any(
        block.check_interrupts_paragraph(lines)
        for block in (_blocks.Heading, _blocks.Quote, _blocks.CodeFence)
    ) or bool(_blocks.ThematicBreak.start(line))


def _indented(line: str) -> bool:
    return bool(_blocks.BlockCode.start(line))


def _fitted(cells: list[str], width: int) -> list[str]:
    return [*cells[:width], *[""] * (width - len(cells))]


@contextmanager
def _tokens() -> Iterator[None]:
    """mistletoe's tokens, which are global to it, with HTML and with our table."""
    blocks, spans = _blocks._token_types, _spans._token_types
    try:
        _blocks.reset_tokens()
        _spans.reset_tokens()
        ours = {_blocks.Table: _Table, _blocks.Paragraph: _Paragraph}
        _blocks._token_types = [ours.get(one, one) for one in _blocks._token_types]
        _blocks.add_token(_blocks.HtmlBlock)
        _spans.add_token(_spans.HtmlSpan)
        yield
    finally:
        _blocks._token_types, _spans._token_types = blocks, spans


def _find(token: Any) -> Iterator[_Table]:
    if isinstance(token, _Table):
        yield token
    elif isinstance(token, _blocks.BlockToken):
        for child in token.children or ():
            yield from _find(child)


def _text(token: Any) -> str:
    if isinstance(token, _spans.HtmlSpan):
        return "\n" if _BREAK.fullmatch(token.content) else ""
    if isinstance(token, _spans.LineBreak):
        return "\n"
    if token.children is not None:
        return "".join(_text(child) for child in token.children)
    return str(token.content)
