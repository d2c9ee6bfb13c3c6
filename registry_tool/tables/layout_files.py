"""Where the layouts of a registry live: layouts/<page>.json, one file per page that has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from registry_tool.errors import InputError
from registry_tool.store.registry import Registry, decode
from registry_tool.store.snapshot import Snapshot
from registry_tool.tables import document

if TYPE_CHECKING:
    from registry_tool.records.layout import Layout, TableLayout

FOLDER = "layouts"
_INDEX = "supported_kernels"


def file_of(page: str) -> str:
    """The file that holds the layout of a page, e.g. ``layouts/GEMV_bf16.json``."""
    return f"{FOLDER}/{page.removeprefix('details/').removesuffix('.md')}.json"


def page_of(path: str) -> str:
    """The page whose layout stands at ``path``."""
    name = path.removeprefix(f"{FOLDER}/").removesuffix(".json")
    return f"{name}.md" if name == _INDEX else f"details/{name}.md"


def is_layout(path: str) -> bool:
    """Whether a path is where a layout stands."""
    return path.startswith(f"{FOLDER}/") and path.endswith(".json") and path.count("/") <= 2


def is_laid_out(snapshot: Snapshot) -> bool:
    """Whether pages of a state have layouts, as those of an adopted registry do."""
    return any(map(is_layout, snapshot.oids))


def sign_of(snapshot: Snapshot, page: str) -> str:
    """How a page marks a figure that is another row's: † only where its own text explains it."""
    # Imported here: most registries have no layouts.
    from registry_tool.tables.layout_values import INHERITED, INHERITED_IN_WORDS

    data = snapshot.read(page) if page in snapshot.oids else b""
    sign = INHERITED.encode()
    if sign not in data:
        return INHERITED_IN_WORDS
    try:
        inside = sum(region.body.count(sign) for region in document.regions(data))
    except document.TableError:
        # Its markers are reported by those who write between them.
        return INHERITED
    return INHERITED if data.count(sign) > inside else INHERITED_IN_WORDS


def layouts_of(registry: Registry) -> dict[str, Layout]:
    """Page to layout; raises InputError for a file that is not a layout, or not its page's."""
    found, problems = read_apart(registry.snapshot)
    for error in problems.values():
        raise error
    return found


def read_apart(snapshot: Snapshot) -> tuple[dict[str, Layout], dict[str, InputError]]:
    """The layouts of a state by page, and what is wrong with those that cannot be used."""
    found: dict[str, Layout] = {}
    problems: dict[str, InputError] = {}
    paths = sorted(filter(is_layout, snapshot.oids))
    if not paths:
        return found, problems
    # Imported here and below: most registries have none.
    from registry_tool.records.layout import Layout

    for path, data in snapshot.read_many(paths).items():
        try:
            layout = decode(data, Layout, path)
            require_right(layout, path)
        except InputError as error:
            problems[page_of(path)] = error
        else:
            found[layout.page] = layout
    return found, problems


def require_right(layout: Layout, path: str) -> None:
    """Raises InputError for a layout that cannot be used, as what stands at ``path``."""
    from registry_tool.tables.layout import column_keys

    if file_of(layout.page) != path:
        raise InputError(
            f"the layout of {layout.page} is {file_of(layout.page)}",
            path=path,
            fix=f"git mv {path} {file_of(layout.page)}, or correct its page",
        )
    seen: set[str] = set()
    for table in layout.tables:
        if table.region in seen:
            raise InputError(f"the region {table.region!r} is here twice", path=path)
        seen.add(table.region)
        titles = column_keys([column.title for column in table.columns])
        for line in table.lines:
            unknown = [title for title in line.cells if title not in titles]
            if unknown:
                raise InputError(
                    f"the line {line.row!r} of region {table.region!r} has a cell for the column "
                    f"{unknown[0]!r}, which the table does not have",
                    path=path,
                    fix=f"use one of: {', '.join(titles)}",
                )
        _require_true(table, titles, path)


def _require_true(table: TableLayout, titles: Sequence[str], path: str) -> None:
    """Raises InputError for a cell that could show a figure which no record says."""
    from registry_tool.tables import layout_figures

    columns = dict(zip(titles, table.columns, strict=True))
    for title, column in columns.items():
        problem = layout_figures.of_column(column)
        if problem is not None:
            raise InputError(
                f"the template {column.cell!r} of column {title!r} in region {table.region!r} "
                f"{problem}",
                path=path,
                fix="write a place such as {latency_us:.0f} where the figure stands",
            )
    for line in table.lines:
        # A line of words shows no row.
        for title, wording in line.cells.items() if line.row is not None else ():
            problem = layout_figures.of_wording(columns[title], wording)
            if problem is not None:
                raise InputError(
                    f"the wording {wording.text!r} of line {line.row!r}, column {title!r} in "
                    f"region {table.region!r} {problem}",
                    path=path,
                    fix="write a place such as {gflops:.0f}, or remove the wording of the cell",
                )
