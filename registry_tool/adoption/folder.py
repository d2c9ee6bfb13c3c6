"""A folder in the upstream form, read whole: which files it has, and what they claim together."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from registry_tool.adoption import claims, jsons, merge, page_tables, pages, side_tables
from registry_tool.adoption.columns import Words
from registry_tool.adoption.model import Adoption, Claim, Entry, Place, Remark, Source, Table
from registry_tool.errors import InputError
from registry_tool.records.spec import KernelSpec

INDEX = "supported_kernels.md"
DETAILS = "details"
_PLACES: dict[str, Place] = {".md": "details", ".json": "json"}


def read(
    folder: Path,
    specs: Mapping[str, KernelSpec],
    columns: Mapping[str, str] = MappingProxyType({}),
    without: Collection[str] = (),
) -> Adoption:
    """Everything that the registry in ``folder`` says; nothing is written.

    ``columns`` maps titles of columns to what they hold (``notes``, ``max_abs`` ...), ``without``
    names kernels to leave out. Raises InputError with file and line for what cannot be read
    without guessing.
    """
    reader = _Reader(specs, columns, without)
    sources = _sources(folder, specs, without)
    for source in sources:
        reader.add(source, folder / source.name)
    rows, lost = merge.rows(reader.claims, specs)
    return Adoption(
        folder=folder,
        specs=specs,
        sources=tuple(sources),
        tables=tuple(reader.tables),
        claims=tuple(reader.claims),
        entries=tuple(reader.entries),
        rows=rows,
        defaults=reader.defaults,
        remarks=(*reader.remarks, *lost),
    )


class _Reader:
    """What was read so far, file by file."""

    def __init__(
        self,
        specs: Mapping[str, KernelSpec],
        columns: Mapping[str, str],
        without: Collection[str],
    ) -> None:
        self.specs = {name: spec for name, spec in specs.items() if name not in without}
        self.columns = columns
        self.context = page_tables.Context(self.specs, columns, without)
        self.tables: list[Table] = []
        self.claims: list[Claim] = []
        self.entries: list[Entry] = []
        self.remarks: list[Remark] = []
        self.defaults: dict[str, dict[str, int]] = {}

    def add(self, source: Source, path: Path) -> None:
        """Read one file."""
        if source.place == "json":
            assert source.kernel is not None
            document = jsons.load(source.name, path, source.data)
            for one in jsons.read(document, Words(self.specs[source.kernel], self.columns)):
                if isinstance(one, Claim):
                    self.claims.append(one)
                elif isinstance(one, Entry):
                    self.entries.append(one)
                else:
                    self.remarks.append(one)
            return
        page = pages.load(source.name, path, source.place, source.data)
        for table in page_tables.tables(page, source.kernel, self.context):
            self._add_table(page, table)

    def _add_table(self, page: pages.Page, table: Table) -> None:
        index = len(self.tables)
        self.tables.append(table)
        if table.kernel is None:
            return
        words = Words(self.specs[table.kernel], self.columns)
        if table.kind in ("shapes", "pivot"):
            self.claims.extend(claims.of_table(page, table, index, words))
        elif table.kind == "accuracy":
            claim = side_tables.of_accuracy(table, index, words)
            if claim is not None:
                self.claims.append(claim)
        elif table.kind == "sweep":
            self.claims.extend(side_tables.of_sweep(table, index, words))
        elif table.kind == "parameters":
            known = self.defaults.setdefault(table.kernel, {})
            for name, size in side_tables.defaults(table, words).items():
                known.setdefault(name, size)


def _sources(
    folder: Path, specs: Mapping[str, KernelSpec], without: Collection[str]
) -> list[Source]:
    """The files of a registry: details pages, JSON files, the index."""
    if not folder.is_dir():
        raise InputError("not a folder", path=folder, fix="name the folder of the registry")
    if not (folder / INDEX).is_file():
        raise InputError(
            f"no {INDEX} here: this is no registry in the upstream form",
            path=folder,
            fix=f"name the folder that holds {INDEX} and {DETAILS}/",
        )
    found = []
    unknown: dict[str, Path] = {}
    for path in sorted((folder / DETAILS).glob("*")):
        place = _PLACES.get(path.suffix)
        if place is None or not path.is_file() or path.stem in without:
            continue
        is_family = place == "details" and any(name.startswith(f"{path.stem}_") for name in specs)
        if path.stem not in specs and not is_family:
            unknown.setdefault(path.stem, path)
        found.append(_source(folder, path, place, path.stem))
    if unknown:
        leave_out = " ".join(f"--without {name}" for name in unknown)
        raise InputError(
            f"there is no kernel spec for {', '.join(unknown)}",
            path=next(iter(unknown.values())),
            line=1,
            fix=f"write kernels/KERNEL.yaml for each (docs/guide.md says how), or {leave_out}",
        )
    if not found:
        raise InputError(
            f"no page in {DETAILS}/", path=folder / DETAILS, fix="name the folder of the registry"
        )
    found.sort(key=lambda source: (source.place != "details", source.name))
    return [*found, _source(folder, folder / INDEX, "index", None)]


def _source(folder: Path, path: Path, place: Place, kernel: str | None) -> Source:
    data = path.read_bytes()
    name = path.relative_to(folder).as_posix()
    return Source(name, place, kernel, data, hashlib.sha256(data).hexdigest())
