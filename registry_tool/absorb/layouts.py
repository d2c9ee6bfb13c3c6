"""The tables of a page in columns of its own, as `expected` describes them: which cell is whose."""

from __future__ import annotations

from collections.abc import Mapping

from registry_tool.absorb.expected import (
    HUMAN,
    NAME,
    Column,
    ExpectedRow,
    ExpectedTable,
    Worded,
)
from registry_tool.records.keys import RowId
from registry_tool.records.layout import CellLayout, ColumnLayout, Layout, TableLayout
from registry_tool.records.spec import KernelSpec
from registry_tool.tables import layout, layout_template
from registry_tool.tables.layout import Kernel, Line
from registry_tool.tables.layout_template import Place
from registry_tool.tables.readback import project_layout

WORDS = "words"
"""A column of the page's own words."""
CONFIGURATION = "configuration"
"""A column of tile knobs and herd axes."""
_OTHER_HERD = "other_herd"
COMPUTED = "computed"
"""A column that only runs change; its argument is the variant that it is about, if it is of one."""


def tables(
    page: Layout, kernels: Mapping[str, Kernel], names: Mapping[int, RowId], target: str, sign: str
) -> list[ExpectedTable]:
    """The regions of a page; ``names`` gives the row of each `Row` object by its id.

    ``sign`` stands behind a figure that is another row's.
    """
    shown = project_layout(page, kernels, sign)
    return [
        _table(page.page, one, kernels, names, target, shown[one.region]) for one in page.tables
    ]


def _table(
    path: str,
    table: TableLayout,
    kernels: Mapping[str, Kernel],
    names: Mapping[int, RowId],
    target: str,
    shown: list[list[str]],
) -> ExpectedTable:
    spec = kernels[table.kernel].spec if table.kernel else None
    columns = [
        _column(spec, one, title) for one, title in zip(table.columns, shown[0], strict=True)
    ]
    if spec is None:
        columns[0] = Column(columns[0].title, NAME)
    wordings = {line.row: line.cells for line in table.lines if line.row is not None}
    keys = layout.column_keys([one.title for one in table.columns])
    rows = []
    for line, texts in zip(layout.lines_of(table, kernels), shown[1:], strict=True):
        own = wordings.get(line.key)
        worded = {
            at: cell
            for at, (one, key) in enumerate(zip(table.columns, keys, strict=True))
            if (cell := _worded(one, key, line, own)) is not None
        }
        rows.append(ExpectedRow(_rows(table, line, names), texts, worded))
    variant = table.variants[0] if len(table.variants) == 1 else None
    return ExpectedTable(path, table.region, target, spec, columns, rows, variant)


def _rows(table: TableLayout, line: Line, names: Mapping[int, RowId]) -> tuple[RowId, ...]:
    """The rows of a line, the one that it shows first; a line of a whole kernel has none."""
    if table.lines_of == "kernel":
        return ()
    found = [names[id(one.row)] for one in line.subjects]
    pick = names[id(line.pick.row)] if line.pick is not None else None
    return tuple(sorted(found, key=lambda row: row != pick))


def _column(spec: KernelSpec | None, column: ColumnLayout, title: str) -> Column:
    """What a column is about, by the values that its cells show."""
    parts = layout_template.parse(column.cell)
    places = [part for part in parts if isinstance(part, Place)]
    # What stands there for some rows only; `identity.configuration` reads it beside a tile.
    shown = {place.name for place in places} - {_OTHER_HERD}
    if not places:
        return Column(title, WORDS)
    subjects = {place.subject for place in places}
    if spec is None or subjects != {None}:
        variant = subjects.pop() if len(subjects) == 1 else None
        return Column(title, COMPUTED, variant)
    if shown == {"variant"}:
        return Column(title, "variant")
    if len(places) == 1 and places[0].name in HUMAN:
        return Column(title, places[0].name)
    if len(places) == 1 and places[0].name in spec.dims and "|" in (places[0].form or ""):
        return Column(title, "yes_no", places[0].name)
    argument = _sizes_template(spec, column.cell)
    if shown <= {*spec.dims, "shape"}:
        return Column(title, "template", argument)
    if shown <= {*spec.tile, *spec.herd}:
        return Column(title, CONFIGURATION, argument)
    if len(places) == 1 and shown <= {"tile", "herd"}:
        return Column(title, places[0].name)
    return Column(title, COMPUTED)


def _sizes_template(spec: KernelSpec, template: str) -> str:
    text = ""
    for part in layout_template.parse(template):
        if not isinstance(part, Place):
            text += layout_template.literal(part)
        elif part.name != _OTHER_HERD:
            text += spec.shape_text if part.name == "shape" else f"{{{part.name}}}"
    return text


def _worded(
    column: ColumnLayout, key: str, line: Line, own: Mapping[str, CellLayout] | None
) -> Worded | None:
    """The cell of a line if people word it: its words, after a status at most."""
    wording = None if own is None else own.get(key)
    if wording is not None and not layout.holds(wording, line):
        wording = None
    places = layout_template.places(column.cell)
    fields = [place.name for place in places if place.name in HUMAN]
    others = [place for place in places if place.name not in HUMAN]
    if len(fields) > 1 or any(place.name != "status" for place in others):
        return None
    template = wording.text if wording is not None else column.cell
    lead = _lead(template) if others else ""
    if others and lead is None:
        return None
    if not fields and others:
        return None
    words = line.words(fields[0]) if fields else ()
    prefix = _shown(layout_template.places(lead or ""), line)
    of = wording.of if wording is not None else {}
    return Worded(
        fields[0] if fields else None,
        words,
        prefix,
        lead or "",
        line.key if own is not None else None,
        key,
        of,
        column,
    )


def _lead(template: str) -> str | None:
    """The place of the status at the head of a template; None if it is elsewhere."""
    parts = layout_template.parse(template)
    if not parts or not isinstance(parts[0], Place) or parts[0].name != "status":
        return None
    return layout_template.place(parts[0].name, parts[0].form, parts[0].subject)


def _shown(places: list[Place], line: Line) -> str:
    return "".join(str(line.value(place) or "") for place in places)
