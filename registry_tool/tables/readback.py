"""The one oracle of the tables: what is read from a page is what its records show.

For product, tests and fuzzing alike; it parses Markdown, so it is not for the hot path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from registry_tool.records.layout import Layout
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.store.registry import Registry
from registry_tool.tables import document, render
from registry_tool.tables.cells import row
from registry_tool.tables.columns import texts
from registry_tool.tables.document import TableError
from registry_tool.tables.layout import Kernel, assembled, cell_source
from registry_tool.tables.layout_files import layouts_of, sign_of
from registry_tool.tables.layout_values import INHERITED
from registry_tool.tables.read import TableRead, read_tables
from registry_tool.tables.rows import maker

Shown = list[list[str]]


def project(spec: KernelSpec, target_kind: str, records: Iterable[Record]) -> Shown:
    """Headings and rows of a kernel's table as displayed, in its order."""
    make = maker(spec, target_kind)
    in_order = sorted(records, key=lambda record: make(record).order)
    return [
        [column.title for column in spec.columns],
        *[texts(spec, target_kind, record) for record in in_order],
    ]


def shown(table: TableRead) -> Shown:
    """Headings and rows of a table that was read."""
    return [table.header, *table.rows]


def require_reads_back(registry: Registry, rendered: Mapping[str, bytes]) -> None:
    """Raise TableError if a page in ``rendered`` does not show what the records say."""
    for path, expected in _expected(registry).items():
        if path not in rendered:
            continue
        tables = read_tables(rendered[path], path)
        for region in document.regions(rendered[path], path):
            inside = [
                shown(table) for table in tables if region.start_line < table.line < region.end_line
            ]
            wanted = expected.get(region.name, [])
            if inside != [wanted]:
                raise TableError(
                    f"region {region.name!r} would not be shown on GitHub as the records say: "
                    + _difference(inside, wanted),
                    path=path,
                    line=region.start_line,
                    fix="move the markers to a place where a table can stand, at the left margin "
                    "after an empty line",
                )


def _expected(registry: Registry) -> dict[str, dict[str, Shown]]:
    """What each region of each page should show, by path and name."""
    found: dict[str, dict[str, Shown]] = {}
    by_page: dict[tuple[str, str], list[Record]] = {}
    for name, record in registry.records.items():
        by_page.setdefault((name.target, name.kernel), []).append(record)
    index: Shown = [list(render.INDEX_TITLES)]
    made = render.rows_of(registry, registry.records)
    layouts = layouts_of(registry)
    kernels: dict[str, Kernel] = {}
    for target, spec, in_order in render.by_page(registry, made):
        records = by_page.get((target, spec.kernel), [])
        kind = registry.target(target).kind
        path = render.page_path(registry, target, spec.kernel, "md")
        own = Kernel(spec, in_order)
        if path in layouts:
            sign = sign_of(registry.snapshot, path)
            found[path] = project_layout(layouts[path], {spec.kernel: own}, sign)
        else:
            found[path] = {render.SHAPES_REGION: project(spec, kind, records)}
        if target == registry.first_target:
            kernels[spec.kernel] = own
        index.append(render.summary(registry, target, spec, in_order).texts)
    if render.INDEX in layouts:
        sign = sign_of(registry.snapshot, render.INDEX)
        found[render.INDEX] = project_layout(layouts[render.INDEX], kernels, sign)
    else:
        found[render.INDEX] = {render.INDEX_REGION: index}
    return found


def project_layout(
    found: Layout, kernels: Mapping[str, Kernel], sign: str = INHERITED
) -> dict[str, Shown]:
    """Headings and rows of each region of a page in columns of its own, as displayed.

    ``sign`` stands behind a figure that is another row's, see `layout_files.sign_of`.
    Each cell is read by itself, so that none can lean on its neighbours.
    """
    shown_by_region = {}
    for table in found.tables:
        made = assembled(table, kernels, sign)
        cells = [made.titles, *made.cells]
        flat = iter(_displayed([cell for line in cells for cell in line]))
        shown_by_region[table.region] = [[next(flat) for _ in line] for line in cells]
    return shown_by_region


def _displayed(sources: list[str]) -> list[str]:
    lines = "".join(f"{row([cell_source(source)])}\n" for source in sources)
    [table] = read_tables(f"| cell |\n|---|\n{lines}".encode()) if sources else []
    return [cells[0] for cells in table.rows]


def _difference(inside: list[Shown], expected: Shown) -> str:
    if len(inside) != 1:
        return f"it holds {len(inside)} tables"
    for number, (found, wanted) in enumerate(zip(inside[0], expected, strict=False)):
        if found != wanted:
            return f"row {number} shows {found!r} and not {wanted!r}"
    return f"it shows {len(inside[0]) - 1} rows and not {len(expected) - 1}"
