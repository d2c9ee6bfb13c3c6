"""`import --mark`: markers around the tables of imported pages, and the layouts that fill them.

Nothing but lines with markers is added to a page. What is between them is said by the rows from
then on, in the columns, order and wording that the layout keeps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from registry_tool.adoption import mark_cells, mark_written
from registry_tool.adoption.mark_written import Cell
from registry_tool.adoption.model import Adoption, Claim, Column, Quantity, Table, TableRow
from registry_tool.errors import InputError
from registry_tool.records import canonical
from registry_tool.records.layout import (
    CellLayout,
    ColumnLayout,
    Layout,
    LineLayout,
    TableLayout,
)
from registry_tool.records.record import Record
from registry_tool.tables import document, layout, layout_figures, rows
from registry_tool.tables.layout import Kernel, Line, column_keys, fastest
from registry_tool.tables.layout_files import file_of
from registry_tool.tables.layout_template import literal, place, places
from registry_tool.tables.layout_values import Subject, shape_key, written
from registry_tool.tables.read import split_row

_MARKED = ("shapes", "pivot", "overview")
_LINE = re.compile(rb"[^\n]*(?:\n|\Z)")
_AT_MARGIN = re.compile(rb"(?:\xef\xbb\xbf)? ?(?!\s|>|[-+*] |\d+[.)] )")
_NAME = re.compile(r"[^A-Za-z0-9]+")
_FIGURE = re.compile(r"\d+(?:\.\d+)?(?:\s?[–-]\s?\d+(?:\.\d+)?)?")
_RULE = re.compile(r":?-+:?")
_STATUS = re.compile(r"status", re.I)
_SPEED = "**{speed} {unit}** ({setting})"


@dataclass(frozen=True)
class Marked:
    """Pages with markers and their layouts, as files: path below the registry to bytes."""

    pages: dict[str, bytes]
    layouts: dict[str, bytes]


@dataclass(frozen=True)
class Span:
    """A table to mark: the region's name, its first line and its last, from 1."""

    region: str
    first: int
    last: int


def kernels_of(adoption: Adoption, records: Iterable[Record]) -> dict[str, Kernel]:
    """The rows of the imported records by kernel, as the pages of a hardware target show them."""
    held: dict[str, list[Record]] = {name: [] for name in adoption.specs}
    for record in records:
        held[record.kernel].append(record)
    return {
        name: Kernel(spec, rows.rows(spec, "hardware", held[name]))
        for name, spec in adoption.specs.items()
    }


def mark(adoption: Adoption, records: Iterable[Record]) -> Marked:
    """Every page that has tables of rows, marked, with the layout of each.

    A table of a kernel none of whose lines makes a record stays as it is: nothing could write it.
    ``records`` are what was made of the adoption. Raises InputError for a page that has markers.
    """
    records = list(records)
    kernels = kernels_of(adoption, records)
    with_rows = {record.kernel for record in records}
    pages: dict[str, bytes] = {}
    layouts: dict[str, bytes] = {}
    for source in adoption.sources:
        tables = [
            (at, table)
            for at, table in enumerate(adoption.tables)
            if table.file == source.name and table.kind in _MARKED and table.rows
            if table.kernel is None or table.kernel in with_rows
        ]
        if not tables:
            continue
        names = _region_names([table for _, table in tables])
        made = _page(adoption, source.name, source.data, tables, names, kernels)
        spans = [
            Span(name, table.line, max(row.line for row in table.rows))
            for name, (_, table) in zip(names, tables, strict=True)
        ]
        pages[source.name] = marked(source.data, spans, source.name)
        layouts[file_of(source.name)] = canonical.encode(made)
    return Marked(pages, layouts)


# --- markers -----------------------------------------------------------------------------------


def marked(data: bytes, spans: Sequence[Span], path: str) -> bytes:
    """``data`` with a line before and after each table, outside the empty lines around it.

    Raises InputError for a page that has regions, and for a table that is not at the margin.
    """
    if document.regions(data, path):
        raise InputError(
            "the page has generated regions already",
            path=path,
            fix="import from the pages as they were, or leave --mark away",
        )
    lines = _LINE.findall(data)
    if lines and not lines[-1]:
        lines.pop()
    newline = b"\r\n" if data.count(b"\r\n") * 2 > data.count(b"\n") else b"\n"
    for span in sorted(spans, key=lambda one: one.first, reverse=True):
        first, last = span.first - 1, span.last
        if _AT_MARGIN.match(lines[first]) is None:
            raise _misplaced(path, span)
        # The empty lines around a table belong to the region, as every region has them.
        if first > 0 and not lines[first - 1].strip():
            first -= 1
        if last < len(lines) and not lines[last].strip():
            last += 1
        body = b"".join(lines[first:last])
        if not body.endswith(b"\n"):
            body += newline
        end = f"<!-- registry:end {document.checksum(body)} -->".encode() + newline
        begin = f"<!-- registry:begin {span.region} -->".encode() + newline
        lines[first:last] = [begin, body, end]
    made = b"".join(lines)
    found = [region.name for region in document.regions(made, path)]
    if found != [span.region for span in sorted(spans, key=lambda one: one.first)]:
        raise _misplaced(path, next(span for span in spans if span.region not in found))
    return made


def _misplaced(path: str, span: Span) -> InputError:
    return InputError(
        "a marker cannot stand around this table (it is in a quote, a list or a comment)",
        path=path,
        line=span.first,
        fix="move the table to the left margin, or import without --mark",
    )


def _region_names(tables: Sequence[Table]) -> list[str]:
    """A name for each table of a page: what it is of, as far as the page has others."""
    names: list[str] = []
    of_kernels = {table.kernel for table in tables if table.kernel}
    for table in tables:
        if table.kind == "overview" or table.kernel is None:
            name = "kernels"
        else:
            parts = [table.kernel if len(of_kernels) > 1 else "shapes", table.variant or ""]
            name = "-".join(part for part in parts if part)
        name = _NAME.sub("-", name).strip("-").lower()
        count = sum(one == name or one.startswith(f"{name}.") for one in names)
        names.append(name if not count else f"{name}.{count + 1}")
    return names


# --- layouts -----------------------------------------------------------------------------------


def _page(
    adoption: Adoption,
    name: str,
    data: bytes,
    tables: Sequence[tuple[int, Table]],
    names: Sequence[str],
    kernels: Mapping[str, Kernel],
) -> Layout:
    lines = data.decode("utf-8-sig").split("\n")
    made: list[TableLayout] = []
    agrees = partial(_agrees, adoption)
    for region, (index, table) in zip(names, tables, strict=True):
        head = split_row(lines[table.line - 1])
        rules = split_row(lines[table.line])
        titles = head if len(head) == len(table.columns) else [c.title for c in table.columns]
        rules = rules if len(rules) == len(titles) else ["---"] * len(titles)
        if table.kind == "overview" or table.kernel is None:
            made.append(_overview(table, region, titles, rules, kernels))
        else:
            claims = [one for one in adoption.claims if one.table == index and one.kind == "row"]
            made.append(_rows(table, region, titles, rules, claims, kernels, agrees))
    return Layout(page=name, tables=_with_new_lines(made))


def _with_new_lines(tables: Sequence[TableLayout]) -> list[TableLayout]:
    """Rows that no line names go into the longest of the tables that they fit."""
    found = []
    for table in tables:
        rivals = [
            other
            for other in tables
            if other.kernel == table.kernel
            and (
                not other.variants
                or not table.variants
                or set(other.variants) & set(table.variants)
            )
        ]
        longest = max(rivals, key=lambda one: len(one.lines))
        found.append(_replaced(table, new_lines=longest is table))
    return found


def _replaced(table: TableLayout, *, new_lines: bool) -> TableLayout:
    return TableLayout(
        region=table.region,
        lines_of=table.lines_of,
        kernel=table.kernel,
        variants=table.variants,
        new_lines=new_lines,
        columns=table.columns,
        lines=table.lines,
    )


def _rows(
    table: Table,
    region: str,
    titles: Sequence[str],
    rules: Sequence[str],
    claims: Sequence[Claim],
    kernels: Mapping[str, Kernel],
    agrees: Callable[[Quantity, Subject], bool],
) -> TableLayout:
    assert table.kernel is not None
    kernel = kernels[table.kernel]
    by_line: dict[int, list[Claim]] = {}
    for claim in claims:
        by_line.setdefault(claim.line, []).append(claim)
    pivoted = table.kind == "pivot" or any(len(own) > 1 for own in by_line.values())
    bare = TableLayout(
        region=region,
        lines_of="shape" if pivoted else "row",
        kernel=table.kernel,
        variants=[table.variant] if table.variant and not pivoted else [],
        new_lines=True,
        columns=[ColumnLayout(title="-", cell="")],
        lines=[],
    )
    known = {line.key: line for line in layout.lines_of(bare, kernels)}
    lines: list[tuple[TableRow, Line | None]] = []
    for row in table.rows:
        key = _key(by_line.get(row.line, []), pivoted)
        # A second line of a row, and one that says nothing of any, stay words.
        lines.append((row, known.pop(key, None) if key else None))
    return _assembled(bare, table, titles, rules, lines, by_line, kernel, kernels, agrees)


def _key(claims: Sequence[Claim], pivoted: bool) -> str | None:
    if not claims:
        return None
    sizes = shape_key(list(claims[0].shape.values()))
    return sizes if pivoted or not claims[0].variant else f"{sizes}+{claims[0].variant}"


def _assembled(
    bare: TableLayout,
    table: Table,
    titles: Sequence[str],
    rules: Sequence[str],
    lines: Sequence[tuple[TableRow, Line | None]],
    by_line: Mapping[int, Sequence[Claim]],
    kernel: Kernel,
    kernels: Mapping[str, Kernel],
    agrees: Callable[[Quantity, Subject], bool],
) -> TableLayout:
    shown = [(row, line) for row, line in lines if line is not None]
    keys = column_keys(titles)
    has_users = table.column("used_by") is not None
    has_herd = any(name.startswith("herd.") for one in table.columns for name in one.names)
    columns: list[ColumnLayout] = []
    wordings: dict[int, dict[str, CellLayout]] = {}
    for column, title, key, rule in zip(table.columns, titles, keys, rules, strict=True):
        seen = [
            Cell(
                row.sources[column.index] if column.index < len(row.sources) else "",
                line,
                tuple(
                    one
                    for claim in by_line.get(row.line, ())
                    for one in claim.quantities
                    if one.column == column.title
                ),
                agrees,
            )
            for row, line in shown
        ]
        made, own = mark_cells.column(
            kernel.spec, column, title, _rule(rule), seen, kernels, has_users, has_herd
        )
        columns.append(made)
        for (row, _), wording in zip(shown, own, strict=True):
            if wording is not None:
                wordings.setdefault(row.line, {})[key] = wording
    return TableLayout(
        region=bare.region,
        lines_of=bare.lines_of,
        kernel=bare.kernel,
        variants=bare.variants,
        new_lines=bare.new_lines,
        columns=columns,
        lines=[
            LineLayout(row=line.key, cells=wordings.get(row.line, {}))
            if line is not None
            else LineLayout(row=None, cells=_words(row, keys))
            for row, line in lines
        ],
    )


def _agrees(adoption: Adoption, quantity: Quantity, subject: Subject) -> bool:
    """Whether a figure and the one that a record took over can be roundings of one value."""
    row = adoption.row(subject.spec.kernel, subject.row.shape, subject.row.variant)
    value = subject.value(quantity.field)
    if row is None or not isinstance(value, int | float):
        return False
    believed = [two for _, two in row.quantities(quantity.field) if value in (two.value, two.high)]
    return any(quantity.agrees(one) for one in believed)


def _rule(text: str) -> str:
    return text if _RULE.fullmatch(text) else "---"


def _words(row: TableRow, keys: Sequence[str]) -> dict[str, CellLayout]:
    return {
        key: CellLayout(text=literal(source))
        for key, source in zip(keys, row.sources, strict=False)
        if source
    }


# --- the table of kernels ----------------------------------------------------------------------


def _overview(
    table: Table,
    region: str,
    titles: Sequence[str],
    rules: Sequence[str],
    kernels: Mapping[str, Kernel],
) -> TableLayout:
    lines: list[LineLayout] = []
    keys = column_keys(titles)
    defaults = [_overview_default(column) for column in table.columns]
    columns = [
        ColumnLayout(
            title=title, cell=default, rule=_rule(rule), measures=layout_figures.measures(default)
        )
        for title, default, rule in zip(titles, defaults, rules, strict=True)
    ]
    taken: set[str] = set()
    for row in table.rows:
        name = _kernel_named(row, kernels, taken)
        if name is None:
            lines.append(LineLayout(row=None, cells=_words(row, keys)))
            continue
        taken.add(name)
        kernel = kernels[name]
        line = Line(name, kernel.spec, tuple(kernel.subjects), fastest(kernel.subjects))
        cells: dict[str, CellLayout] = {}
        for source, key, column in zip(row.sources, keys, columns, strict=False):
            wording = _overview_cell(source, column.cell, line)
            if wording is not None and layout_figures.of_wording(column, wording) is None:
                cells[key] = wording
        lines.append(LineLayout(row=name, cells=cells))
    return TableLayout(
        region=region,
        lines_of="kernel",
        kernel=None,
        variants=[],
        new_lines=True,
        columns=columns,
        lines=lines,
    )


def _kernel_named(row: TableRow, kernels: Mapping[str, Kernel], taken: set[str]) -> str | None:
    """The kernel that a line of the overview is about, by its link or name."""
    text = " ".join(row.sources)
    found = [
        name
        for name, kernel in kernels.items()
        if kernel.rows
        and name not in taken
        and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
    ]
    return max(found, key=len, default=None)


def _overview_default(column: Column) -> str:
    title = column.title.lower()
    if _STATUS.search(title):
        return "{status}"
    if re.search(r"best|throughput|performance|gflop|gb/s|bandwidth", title):
        return _SPEED
    if re.search(r"detail|page|link|doc", title):
        return "[`details/{kernel}.md`](details/{kernel}.md)"
    return "{title}" if column.index == 0 else "—"


def _overview_cell(source: str, default: str, line: Line) -> CellLayout | None:
    if default == _SPEED:
        return _best_cell(source, line)
    if "status" in default:
        return CellLayout(text=mark_written.status_template(source))
    shown = default
    for one in places(default):
        shown = shown.replace(place(one.name), written(line.value(one), None))
    return None if shown == source else CellLayout(text=literal(source))


def _best_cell(source: str, line: Line) -> CellLayout | None:
    """The best figure of a kernel: its place, and those of what else the fastest row explains.

    The words around it hold for the row that they were written for.
    """
    pick = line.pick
    match = _FIGURE.search(source)
    if pick is None or match is None:
        return CellLayout(text=literal(source))
    form = mark_written.form_of(match[0])
    claimed = _claimed(source, match, form, line)
    if claimed is None or form is None:
        return None
    parts = literal(source[: match.start()]) + place("speed", form)
    rest = literal(source[match.end() :])
    for name in ("shape", "variant", "herd"):
        value = claimed.value(name)
        if value is not None and str(value) in rest:
            rest = rest.replace(str(value), place(name), 1)
    # What is spelled out besides holds for this row and its tile only.
    spelled = re.search(r"\d", re.sub(r"\{[^}]*\}", "", rest))
    names = ("shape", "variant", "tile") if spelled else ("variant",)
    return CellLayout(text=parts + rest, of={name: claimed.value(name) for name in names})


def _claimed(source: str, match: re.Match[str], form: str | None, line: Line) -> Subject | None:
    """The row that an overview cell speaks of: the one whose shape, variant and figure it gives."""
    found = [one for one in line.subjects if str(one.value("shape")) in source]
    if form is not None:
        exact = [
            one
            for one in line.subjects
            if one.row.throughput is not None
            and mark_written.figure_text(one.row.throughput, form) == match[0]
        ]
        both = [one for one in exact if one in found]
        found = both or found or exact
    named = [one for one in found if one.row.variant and one.row.variant in source]
    return fastest(named or found)
