"""The table of a region as it stands in a page; raises TableError for what is no such table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from registry_tool.absorb.model import DROP
from registry_tool.tables.document import Region, TableError
from registry_tool.tables.read import TableRead, read_tables, split_row

_CONFLICT = re.compile(rb"^(?:<{7}|>{7}|\|{7})(?: .*)?\r?$", re.M)
_DIVIDER = re.compile(rb"={7}\r?")


@dataclass(frozen=True)
class FoundRow:
    """A row as it stands: what each cell shows, and how it is written."""

    line: int
    texts: list[str]
    sources: list[str]


def refuse_conflict(data: bytes, path: str) -> None:
    """Raise TableError for a page in which a merge left its markers."""
    marker = _CONFLICT.search(data)
    if marker is not None:
        raise TableError(
            f"a merge conflict is not resolved here: {marker[0].decode('utf-8', 'replace')!r}",
            path=path,
            line=data.count(b"\n", 0, marker.start()) + 1,
            fix="keep the rows of both sides and one of the two end markers, delete the lines "
            "of <<<<<<<, ======= and >>>>>>>, then registry-tool absorb",
        )


def rows_of(data: bytes, path: str, region: Region, header: Sequence[str]) -> list[FoundRow]:
    """The rows of the one table in ``region``, whose headings must be ``header``.

    Raises TableError, with the line, for another header, more or fewer tables than one, text that
    is no row, and a row with another number of cells.
    """
    inside = [
        table
        for table in read_tables(data, path)
        if region.start_line < table.line < region.end_line
    ]
    lines = data.split(b"\n")
    if len(inside) != 1:
        at = inside[1].line if inside else region.start_line
        raise TableError(
            f"region {region.name!r} holds {len(inside)} tables, and it must hold one",
            path=path,
            line=at,
            fix=f"put the rows under one header, or {DROP}",
        )
    (table,) = inside
    if table.header != list(header):
        raise TableError(
            f"the header is not that of the table: {_headers(table.header, header)}",
            path=path,
            line=table.line,
            fix=f"restore the header; columns come from the kernel's page; {DROP}",
        )
    _refuse_loose_text(lines, path, region, table)
    for line in table.row_lines:
        _refuse_uneven(lines[line - 1], path, line, len(header))
    triples = zip(table.row_lines, table.rows, table.sources, strict=True)
    return [FoundRow(line, texts, sources) for line, texts, sources in triples]


def _headers(found: Sequence[str], wanted: Sequence[str]) -> str:
    for a, b in zip(found, wanted, strict=False):
        if a != b:
            return f"found {a!r} where {b!r} belongs"
    return f"found {len(found)} columns and not {len(wanted)}"


def _refuse_loose_text(lines: Sequence[bytes], path: str, region: Region, table: TableRead) -> None:
    """Text between the markers that is no row would be lost when the table is written again."""
    rows = {table.line, table.line + 1, *table.row_lines}
    for number in range(region.start_line + 1, region.end_line):
        text = lines[number - 1]
        if not text.strip():
            continue
        if number not in rows or _DIVIDER.fullmatch(text):
            raise TableError(
                f"this line inside region {region.name!r} is no row of its table: "
                f"{text.decode('utf-8', 'replace').strip()[:60]!r}",
                path=path,
                line=number,
                fix="move it outside the markers, or make it a row without an empty line before it",
            )


def _refuse_uneven(source: bytes, path: str, line: int, width: int) -> None:
    cells = split_row(source.decode("utf-8-sig"))
    if len(cells) != width:
        more = len(cells) > width
        raise TableError(
            f"the row has {len(cells)} cells where the table has {width}"
            + (": GitHub does not show the last ones" if more else ""),
            path=path,
            line=line,
            fix="write a pipe inside a cell as \\|" if more else "write the missing cells",
        )
