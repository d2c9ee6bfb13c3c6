"""Every generated file of a registry from its records: regions of pages, JSON, shim, schemas.

On the hot path: no Markdown parser here. What is written can be read back by `tables.readback`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from registry_tool.records.keys import RowId
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.store.registry import Registry
from registry_tool.tables import details, document, inline, prose, schemas, shim
from registry_tool.tables.cells import escape, link, row
from registry_tool.tables.columns import EMULATED, NOTHING, UNITS, speed_text
from registry_tool.tables.document import TableError
from registry_tool.tables.inline import Values
from registry_tool.tables.layout_files import is_laid_out, layouts_of, sign_of
from registry_tool.tables.rows import Row, maker, ordered, row_line, rows

if TYPE_CHECKING:
    from registry_tool.records.layout import Layout
    from registry_tool.store.snapshot import Snapshot

__all__ = ["row_line", "rows"]

INDEX = "supported_kernels.md"
README = "README.md"
INDEX_REGION = "kernels"
SHAPES_REGION = "shapes"
SHIM = "registry_lookup.py"
INDEX_TITLES = ("Kernel", "Target", "Rows", "Best measured", "Status")
_DELIMITER = {"left": "---", "right": "---:", "center": ":---:"}


@dataclass(frozen=True)
class WholeFile:
    """A file that is generated as a whole."""

    data: bytes

    def on(self, existing: bytes | None, path: str) -> bytes:
        """The new content, in place of ``existing``; line ends that git made are left alone."""
        if existing is not None and document.normal(existing) == self.data:
            return existing
        return self.data


@dataclass(frozen=True)
class MarkedPage:
    """A page of prose with generated regions; ``template`` is what a new page starts from.

    ``values`` are what the inline values in its prose show, None to leave them alone.
    """

    template: bytes
    regions: Mapping[str, bytes]
    values: Values | None = field(default=None, compare=False)

    def on(self, existing: bytes | None, path: str) -> bytes:
        """The new content, in place of ``existing``; raises TableError for broken markers."""
        before = self.template if existing is None else existing
        return _with_values(document.splice(before, self.regions, path), self.values, path)


@dataclass(frozen=True)
class ProsePage:
    """A page without generated regions that has inline values; it is never made anew."""

    values: Values | None = field(compare=False)

    def on(self, existing: bytes | None, path: str) -> bytes | None:
        """The new content, in place of ``existing``; raises TableError for broken markers."""
        return None if existing is None else _with_values(existing, self.values, path)


Page = WholeFile | MarkedPage | ProsePage
RowsOf = tuple[KernelSpec, Sequence[Row]]
"""A kernel and its rows, in the order of the kernel."""


def _with_values(data: bytes, values: Values | None, path: str) -> bytes:
    if values is None or not inline.mentions(data):
        return data
    return inline.splice(data, values, inline.home_of(path, values.specs, values.targets), path)


@dataclass(frozen=True)
class Summary:
    """One line of the index: a kernel on a target."""

    path: str
    title: str
    target: str
    rows: int
    best: str
    status: str

    @property
    def texts(self) -> list[str]:
        """What the line shows, column by column."""
        return [self.title, self.target, str(self.rows), self.best, self.status]

    @property
    def line(self) -> str:
        """The line of the table."""
        first, *others = self.texts
        return row([link(first, self.path), *map(escape, others)])


def kernel_table(spec: KernelSpec, target_kind: str, records: Iterable[Record]) -> str:
    """The table of a kernel's rows on a target."""
    return assemble(spec, rows(spec, target_kind, records))


def assemble(spec: KernelSpec, made: Sequence[Row]) -> str:
    """The table of rows that are already in order."""
    titles = [column.title for column in spec.columns]
    aligns = [column.align for column in spec.columns]
    return _table(titles, aligns, [row.line for row in made])


def index_table(summaries: Iterable[Summary]) -> str:
    """The table of all kernels."""
    aligns = ["left", "left", "right", "left", "left"]
    return _table(INDEX_TITLES, aligns, [summary.line for summary in summaries])


def _table(titles: Sequence[str], aligns: Sequence[str], lines: Sequence[str]) -> str:
    delimiter = "|" + "|".join(_DELIMITER[align] for align in aligns) + "|"
    return "\n".join([row([escape(title) for title in titles]), delimiter, *lines, ""])


def details_json(
    spec: KernelSpec,
    target: str,
    target_kind: str,
    records: Iterable[Record],
    lookup: str | None = None,
) -> bytes:
    """details/<Kernel>.json in the upstream form, of the records of one target."""
    in_order = rows(spec, target_kind, records)
    return details.encode(spec, target, target_kind, in_order, lookup)


def summary(registry: Registry, target: str, spec: KernelSpec, made: Sequence[Row]) -> Summary:
    """The index line of one kernel on one target: its best is the best of its rows."""
    path = page_path(registry, target, spec.kernel, "md")
    passed = [row for row in made if row.passed]
    emulated = registry.target(target).kind != "hardware"
    if not passed:
        best = NOTHING
    elif emulated:
        count = len({row.shape for row in passed})
        best = f"{EMULATED} ({count} shape{'s' if count != 1 else ''})"
    else:
        best = _best_text(spec, passed)
    if not made:
        status = NOTHING
    else:
        clean = all(row.clean for row in made)
        status = (f"{EMULATED} ✔" if clean else f"{EMULATED} ⚠️") if emulated else "⚠️"
        status = "✅" if clean and not emulated else status
    return Summary(path, spec.title, target, len(made), best, status)


def _best_text(spec: KernelSpec, passed: Sequence[Row]) -> str:
    measured = [row for row in passed if row.throughput is not None]
    if not measured:
        return NOTHING
    best = max(measured, key=lambda row: row.throughput or 0.0)
    shape = spec.shape_text.format_map(dict(zip(spec.dims, best.shape, strict=True)))
    tier = "low precision" if best.tier == "low" else None
    where = [best.variant, tier, shape, f"herd {'×'.join(map(str, best.herd))}"]
    how = ", ".join(part for part in where if part)
    return f"{speed_text(best.throughput or 0.0)} {UNITS[spec.metric]} ({how})"


def rows_of(registry: Registry, records: Mapping[RowId, Record]) -> dict[RowId, Row]:
    """The row of each record; raises TableError for one that does not fit its kernel."""
    makers: dict[tuple[str, str], Callable[[Record], Row]] = {}
    made = {}
    for name, record in records.items():
        make = makers.get((name.kernel, name.target))
        if make is None:
            make = maker(registry.spec(name.kernel), registry.target(name.target).kind)
            makers[name.kernel, name.target] = make
        made[name] = make(record)
    return made


def pages(registry: Registry, records: Mapping[RowId, Record]) -> dict[str, Page]:
    """Every generated file of the registry, and every page with values, by path."""
    values = values_of(registry, records)
    found = pages_of_rows(registry, rows_of(registry, records))
    for path in pages_with_values(registry):
        page = found.setdefault(path, ProsePage(values))
        if isinstance(page, MarkedPage):
            found[path] = replace(page, values=values)
    return found


def values_of(registry: Registry, records: Mapping[RowId, Record]) -> Values:
    """What inline values show of ``records``."""
    by_place: dict[inline.Place, list[Record]] = {}
    for name, record in records.items():
        by_place.setdefault((name.target, name.kernel), []).append(record)
    return Values(registry.specs, registry.policy.targets, lambda place: by_place.get(place, []))


def pages_with_values(registry: Registry) -> list[str]:
    """The pages of prose that hold inline values, the README in the registry's folder included."""
    return [path for path, data in prose_pages(registry).items() if inline.mentions(data)]


def prose_pages(registry: Registry) -> dict[str, bytes]:
    """Every page that may hold inline values, by path."""
    snapshot = registry.snapshot
    found = snapshot.read_many(filter(is_prose, snapshot.oids))
    readme = snapshot.root / README
    # A folder that holds other things than the registry has a README all the same.
    if snapshot.kind == "worktree" and README not in found and readme.is_file():
        found[README] = readme.read_bytes()
    return found


def is_prose(path: str) -> bool:
    """Whether a file of this name may hold inline values."""
    if path in (INDEX, README):
        return True
    return path.startswith("details/") and path.endswith(".md") and path.count("/") <= 2


def pages_of_rows(registry: Registry, made: Mapping[RowId, Row]) -> dict[str, Page]:
    """Every generated file of the registry, from rows that are made already."""
    found: dict[str, Page] = {}
    summaries = []
    layouts = layouts_of(registry)
    kernels: dict[str, RowsOf] = {}
    around = registry.snapshot
    for target, spec, in_order in by_page(registry, made):
        found |= kernel_pages(registry, target, spec, in_order)
        path = page_path(registry, target, spec.kernel, "md")
        if path in layouts:
            found[path] = own_page(layouts[path], {spec.kernel: (spec, in_order)}, around)
        if target == registry.first_target:
            kernels[spec.kernel] = (spec, in_order)
        summaries.append(summary(registry, target, spec, in_order))
    laid_out = INDEX in layouts
    index = own_page(layouts[INDEX], kernels, around) if laid_out else index_page(summaries)
    return {**found, INDEX: index, **fixed_files()}


def own_page(found: Layout, kernels: Mapping[str, RowsOf], around: Snapshot) -> MarkedPage:
    """A page in columns of its own; raises RegistryError for a layout that does not fit.

    ``around`` holds the text of the page.
    """
    # Imported here: most registries have no such page.
    from registry_tool.tables import layout

    rows_of_each = {name: layout.Kernel(spec, made) for name, (spec, made) in kernels.items()}
    sign = sign_of(around, found.page)
    return MarkedPage(layout.blank(found), layout.page(found, rows_of_each, sign))


def index_page(summaries: Iterable[Summary]) -> MarkedPage:
    """supported_kernels.md, from the index lines of the kernel pages in order."""
    body = _body(index_table(summaries))
    return MarkedPage(prose.index(INDEX_REGION), {INDEX_REGION: body})


def fixed_files() -> dict[str, Page]:
    """The files that are the same in every registry, by path."""
    copies = {f"schemas/{name}": data for name, data in schemas.shipped().items()}
    copies[SHIM] = shim.source()
    return {path: WholeFile(data) for path, data in copies.items()}


def by_page(
    registry: Registry, made: Mapping[RowId, Row]
) -> Iterator[tuple[str, KernelSpec, list[Row]]]:
    """Target, kernel and rows in the order of the table, of every kernel page."""
    held: dict[tuple[str, str], list[Row]] = {}
    for name, one in made.items():
        held.setdefault((name.target, name.kernel), []).append(one)
    for target, spec in places(registry, held):
        yield target, spec, ordered(held.get((target, spec.kernel), []))


def places(
    registry: Registry, held: Collection[tuple[str, str]]
) -> Iterator[tuple[str, KernelSpec]]:
    """Target and kernel of every kernel page; ``held`` are those that have rows.

    Every kernel has one on the first target; an adopted registry has one of those kernels only
    that it speaks of itself. Further targets have one where they have rows, or had some.
    """
    oids = registry.snapshot.oids
    adopted = is_laid_out(registry.snapshot)
    for spec in registry.specs.values():
        own = not adopted or f"kernels/{spec.kernel}.yaml" in oids
        for target in registry.policy.targets:
            expected = target == registry.first_target and own
            path = page_path(registry, target, spec.kernel, "md")
            if expected or (target, spec.kernel) in held or path in oids:
                yield target, spec


def page_path(registry: Registry, target: str, kernel: str, suffix: str) -> str:
    """Where the page (`md`) or the JSON (`json`) of a kernel on a target stands."""
    folder = "details" if target == registry.first_target else f"details/{target}"
    return f"{folder}/{kernel}.{suffix}"


def kernel_pages(
    registry: Registry, target: str, spec: KernelSpec, in_order: Sequence[Row]
) -> dict[str, Page]:
    """Page and JSON of one kernel on one target, from rows in the order of the table."""
    kind = registry.target(target).kind
    up = "../" if target == registry.first_target else "../../"
    return {
        page_path(registry, target, spec.kernel, "md"): MarkedPage(
            prose.kernel(spec, target, kind, up + INDEX, SHAPES_REGION),
            {SHAPES_REGION: _body(assemble(spec, in_order))},
        ),
        page_path(registry, target, spec.kernel, "json"): WholeFile(
            details.encode(spec, target, kind, in_order, registry.policy.lookup)
        ),
    }


def _body(table: str) -> bytes:
    # Blank lines around it: not every Markdown reader ends a comment or a table as GitHub does.
    return f"\n{table}\n".encode()


def render(registry: Registry, existing: Mapping[str, bytes]) -> dict[str, bytes]:
    """Path to new bytes of the generated files that differ from ``existing``.

    Raises TableError for regions that were edited by hand, and for broken markers.
    """
    generated = pages(registry, registry.records)
    refuse_edited(generated, existing)
    return stale(generated, existing)


def stale(generated: Mapping[str, Page], existing: Mapping[str, bytes]) -> dict[str, bytes]:
    """Path to new bytes of the files that differ; edits inside regions are overwritten."""
    found = {}
    for path, page in generated.items():
        before = existing.get(path)
        after = page.on(before, path)
        if after is not None and after != before:
            found[path] = after
    return found


def refuse_edited(generated: Mapping[str, Page], existing: Mapping[str, bytes]) -> None:
    """Raise TableError if a region was edited by hand and holds something else than it should."""
    edited = []
    for path, page in generated.items():
        if isinstance(page, MarkedPage) and path in existing:
            for region in document.regions(existing[path], path):
                if region.edited and region.text != page.regions.get(region.name):
                    edited.append((path, region))
    if edited:
        path, region = edited[0]
        others = "".join(f"\n  also {path}:{more.start_line}" for path, more in edited[1:])
        raise TableError(
            f"region {region.name!r} was edited by hand, and it is generated{others}",
            path=path,
            line=region.start_line,
            fix="registry-tool absorb carries Used by and Notes cells into the row; registry-tool "
            "render --force drops the edit",
        )
