"""What the generated files should hold, made again only for the kernels whose rows changed.

The only module of the gate that renders; rows that were made before are kept under the git
directory, one file per kernel and target.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec

from registry_tool.errors import ToolError
from registry_tool.records import canonical
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.rules.finding import Finding
from registry_tool.rules.judging import complain, judge_page
from registry_tool.rules.layout import kind_of
from registry_tool.rules.model import Complaint
from registry_tool.rules.tables import page_view
from registry_tool.rules.views import Context
from registry_tool.store.cache import Cache
from registry_tool.store.registry import Registry
from registry_tool.store.snapshot import Snapshot
from registry_tool.tables import document, inline, layout_files, prose, render, schemas, shim
from registry_tool.tables.document import TableError
from registry_tool.tables.inline import Values
from registry_tool.tables.render import MarkedPage, Page, ProsePage, RowsOf, Summary, WholeFile
from registry_tool.tables.rows import Row, maker, ordered

_VALUES = "values.json"
_KEY_CELLS = ("shape", "dim", "template", "yes_no", "variant", "precision")

Place = tuple[str, str]
"""Target and kernel."""


@dataclass
class Shown:
    """What the generated files were found to show; kept from check to check.

    ``pages`` are the findings by path, ``summaries`` the index lines by ``target/kernel``, and
    ``unshown`` the places with a row that cannot be shown, whose pages are not judged.
    """

    pages: dict[str, list[Finding]] = field(default_factory=dict)
    summaries: dict[str, dict[str, Any]] = field(default_factory=dict)
    unshown: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Source:
    """Where the records of a kernel come from.

    ``paths`` gives path and blob id of every record of a place, ``read`` the bytes of such;
    ``judged`` holds the rows of records that were judged just now, None for one that cannot be
    shown.
    """

    paths: Callable[[Place], Mapping[str, str]]
    judged: Mapping[str, Row | None]
    read: Callable[[Iterable[tuple[str, str]]], Mapping[str, bytes]]


class _Kept(msgspec.Struct):
    """Rows that were made before, by the blob id of their record."""

    key: str
    rows: dict[str, Row]


class Pages:
    """The generated files of one state."""

    def __init__(self, context: Context, around: Snapshot, cache: Cache, tool: str) -> None:
        """``around`` is the state without records and verdicts."""
        self._registry = Registry(around, context.policy, context.specs)
        self._cache = cache
        self._tool = tool
        self._values: Values | None = None
        self._layouts, self._unlaid = layout_files.read_apart(around)

    def update(
        self,
        shown: Shown,
        held: Collection[Place],
        changed: Collection[Place] | None,
        touched: AbstractSet[str],
        source: Source,
    ) -> None:
        """Judge again what depends on the rows of ``changed`` (None: all) or is ``touched``.

        ``held`` are the places that have rows.
        """
        expected = dict(self._expected(held))
        self._forget(shown, expected)
        self._values = self._values_of(source)
        lagging = self._lagging(changed)
        redone = changed is None or render.INDEX in touched | lagging
        apart = touched | lagging
        for place, paths in expected.items():
            new = "/".join(place) not in shown.summaries
            if changed is None or new or place in changed or not apart.isdisjoint(paths):
                self._kernel(shown, place, source)
                redone = True
        if redone:
            self._index(shown, expected, source)
        whole = self._whole_files()
        if changed is None or not touched.isdisjoint(whole):
            for path, page in whole.items():
                self._page(shown, path, page)
        known = {render.INDEX, *whole, *(path for paths in expected.values() for path in paths)}
        for path in apart - known:
            self._stranger(shown, path)

    def _values_of(self, source: Source) -> Values:
        """What the inline values of pages are made of; records are read where one asks for them."""
        read: dict[Place, list[Record] | None] = {}

        def records_of(place: Place) -> list[Record] | None:
            if place not in read:
                entries = source.paths(place).items()
                contents = source.read(entries).values() if entries else ()
                found = [_decoded(data) for data in contents]
                whole = [record for record in found if record is not None]
                read[place] = whole if len(whole) == len(found) else None
            return read[place]

        return Values(self._registry.specs, self._registry.policy.targets, records_of)

    def _lagging(self, changed: Collection[Place] | None) -> set[str]:
        """The pages whose prose has a value of ``changed`` rows (None: all)."""
        return {
            path
            for path, places in self._mentioned().items()
            if places and (changed is None or not places.isdisjoint(changed))
        }

    def _mentioned(self) -> dict[str, set[Place]]:
        """Every page of prose, and the places whose rows its values show."""
        around = self._registry.snapshot
        targets, specs = list(self._registry.policy.targets), list(self._registry.specs)
        stamp = zlib.crc32(msgspec.json.encode((self._tool, targets, specs)))
        kept = self._cache.load(_VALUES)
        known = kept["pages"] if isinstance(kept, dict) and kept.get("key") == stamp else {}
        oids = {path: around.oids[path] for path in around.oids if render.is_prose(path)}
        unread = [path for path, oid in oids.items() if known.get(path, [None])[0] != oid]
        for path, data in around.read_many(unread).items():
            home = inline.home_of(path, specs, targets)
            known[path] = [oids[path], sorted(inline.places(data, home, path))]
        known = {path: known[path] for path in oids}
        if unread or (kept is not None and kept.get("pages") != known):
            self._cache.save(_VALUES, {"key": stamp, "pages": known})
        return {
            path: {(target, kernel) for target, kernel in some} for path, (_, some) in known.items()
        }

    def _expected(self, held: Collection[Place]) -> Iterator[tuple[Place, tuple[str, str]]]:
        """Every place that has a page, as `render.by_page` sees it, with its page and JSON."""
        registry = self._registry
        for target, spec in render.places(registry, held):
            page, data = (
                render.page_path(registry, target, spec.kernel, end) for end in ("md", "json")
            )
            yield (target, spec.kernel), (page, data)

    def _forget(self, shown: Shown, expected: Collection[Place]) -> None:
        for name in [*shown.summaries, *shown.unshown]:
            target, _, kernel = name.partition("/")
            if (target, kernel) not in expected:
                shown.summaries.pop(name, None)
                shown.unshown.discard(name)

    def _kernel(self, shown: Shown, place: Place, source: Source) -> None:
        target, kernel = place
        name = "/".join(place)
        spec = self._registry.specs[kernel]
        kind = self._registry.policy.targets[target].kind
        shown.summaries.pop(name, None)
        shown.unshown.discard(name)
        paths = [render.page_path(self._registry, target, kernel, s) for s in ("md", "json")]
        for path in paths:
            shown.pages.pop(path, None)
        try:
            made = self._rows(place, spec, kind, source)
            if made is None:
                shown.unshown.add(name)
                return
            in_order = ordered(made)
            summary = render.summary(self._registry, target, spec, in_order)
            pages = render.kernel_pages(self._registry, target, spec, in_order)
        except ToolError as error:
            shown.unshown.add(name)
            complaint = Complaint(f"its rows cannot be shown: {error.message}", line=1)
            path = f"kernels/{kernel}.yaml"
            shown.pages[paths[0]] = [complain("KR004", complaint, path)]
            return
        shown.summaries[name] = asdict(summary)
        keys = [at for at, column in enumerate(spec.columns) if column.cell in _KEY_CELLS]
        for path, page in pages.items():
            if path in self._layouts or path in self._unlaid:
                continue
            if isinstance(page, MarkedPage):
                page = replace(page, values=self._values)
            self._page(shown, path, page, keys)
        self._own_page(shown, paths[0], lambda: {kernel: (spec, in_order)})

    def _own_page(
        self, shown: Shown, path: str, kernels: Callable[[], Mapping[str, RowsOf]]
    ) -> bool:
        """Judge a page by its layout, if it has one; whether it has."""
        layout = self._layouts.get(path)
        error: ToolError | None = self._unlaid.get(path)
        if layout is not None:
            try:
                page = render.own_page(layout, kernels(), self._registry.snapshot)
            except ToolError as problem:
                error = problem
            else:
                shared = min(len(table.columns) for table in layout.tables)
                self._page(shown, path, replace(page, values=self._values), range(shared))
        if error is not None:
            complaint = Complaint(f"its page cannot be shown: {error.message}", line=1)
            where = str(error.path or layout_files.file_of(path))
            shown.pages[path] = [complain("KR004", complaint, where)]
        return layout is not None or error is not None

    def _kernels(self, source: Source) -> dict[str, RowsOf]:
        """The rows of the target that the pages show, for the index."""
        registry = self._registry
        target = registry.first_target
        kind = registry.policy.targets[target].kind
        return {
            kernel: (spec, ordered(self._rows((target, kernel), spec, kind, source) or []))
            for kernel, spec in registry.specs.items()
        }

    def _rows(self, place: Place, spec: KernelSpec, kind: str, source: Source) -> list[Row] | None:
        """The rows of a place; None if one of its records cannot be shown."""
        make = maker(spec, kind)
        paths = source.paths(place)
        file = f"rows-{zlib.crc32('/'.join(place).encode()):08x}"
        stamp = zlib.crc32(msgspec.json.encode((place, spec, kind)))
        key = f"{self._tool}-{stamp:08x}"
        kept = {} if paths.keys() <= source.judged.keys() else self._kept(file, key)
        made: dict[str, Row | None] = {}
        unread = []
        for path, oid in paths.items():
            if path in source.judged:
                made[oid] = source.judged[path]
            elif oid in kept:
                made[oid] = kept[oid]
            else:
                unread.append((path, oid))
        for path, data in source.read(unread).items() if unread else ():
            record = _decoded(data)
            made[paths[path]] = None if record is None else make(record)
        shown = {oid: row for oid, row in made.items() if row is not None}
        if len(shown) < len(made):
            return None
        if shown.keys() != kept.keys():
            self._cache.save_bytes(file, msgspec.json.encode(_Kept(key, shown)))
        return list(shown.values())

    def _kept(self, file: str, key: str) -> dict[str, Row]:
        data = self._cache.load_bytes(file)
        if data is None:
            return {}
        try:
            kept = msgspec.json.decode(data, type=_Kept)
        except msgspec.DecodeError:
            return {}
        return kept.rows if kept.key == key else {}

    def _index(self, shown: Shown, expected: Iterable[Place], source: Source) -> None:
        shown.pages.pop(render.INDEX, None)
        if shown.unshown:
            return
        if self._own_page(shown, render.INDEX, lambda: self._kernels(source)):
            return
        summaries = [Summary(**shown.summaries["/".join(place)]) for place in expected]
        body = f"\n{render.index_table(summaries)}\n".encode()
        page = MarkedPage(
            prose.index(render.INDEX_REGION), {render.INDEX_REGION: body}, self._values
        )
        self._page(shown, render.INDEX, page, (0, 1))

    def _whole_files(self) -> dict[str, Page]:
        found: dict[str, Page] = {render.SHIM: WholeFile(shim.source())}
        for name, data in schemas.shipped().items():
            found[f"schemas/{name}"] = WholeFile(data)
        return found

    def _page(self, shown: Shown, path: str, page: Page, keys: Collection[int] = (0,)) -> None:
        around = self._registry.snapshot
        existing = around.read(path) if path in around.oids else None
        findings = judge_page(page_view(path, existing, page, list(keys)))
        shown.pages.pop(path, None)
        if findings:
            shown.pages[path] = findings

    def _stranger(self, shown: Shown, path: str) -> None:
        """Judge the values of a page of prose, and note what no kernel stands behind."""
        shown.pages.pop(path, None)
        around = self._registry.snapshot
        if path not in around.oids:
            return
        if render.is_prose(path):
            page = ProsePage(self._values)
            findings = judge_page(page_view(path, around.read(path), page))
            if findings:
                shown.pages[path] = findings
        if not path.startswith("details/"):
            return
        if kind_of(path) == "generated":
            complaint = Complaint("no kernel of this registry renders this file", line=1)
            shown.pages[path] = [complain("KR301", complaint, path)]
        elif kind_of(path) == "page":
            try:
                regions = document.regions(around.read(path))
            except TableError as error:
                shown.pages[path] = [
                    complain("KR303", Complaint(error.message, line=error.line), path)
                ]
                return
            if regions:
                complaint = Complaint(
                    "no kernel of this registry renders this region", line=regions[0].start_line
                )
                found = [complain("KR301", complaint, path)]
                shown.pages[path] = [*found, *shown.pages.get(path, [])]


def _decoded(data: bytes) -> Record | None:
    try:
        return canonical.decode_lenient(data, Record)
    except ValueError:
        return None
