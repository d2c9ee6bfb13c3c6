"""A folder in the upstream form, read whole: which files it has, and what they claim together."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from registry_tool.adoption import (
    claims,
    jsons,
    merge,
    page_tables,
    pages,
    side_tables,
    truncated,
)
from registry_tool.adoption.columns import Words
from registry_tool.adoption.model import Adoption, Claim, Entry, Place, Remark, Source, Table
from registry_tool.errors import InputError
from registry_tool.records.baseline import PATH as BASELINE
from registry_tool.records.spec import KernelSpec
from registry_tool.store.root import POLICY
from registry_tool.tables import document
from registry_tool.tables.layout_files import file_of

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
    unknown: list[page_tables.Unknown] = []
    for source in sources:
        try:
            reader.add(source, folder / source.name)
        except page_tables.UnknownColumnsError as error:
            unknown += error.places
    if unknown:
        raise page_tables.UnknownColumnsError(unknown)
    truncated.check(folder, sources, reader.tables, reader.claims)
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
    require_regular(folder)
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
        if place is None or path.stem in without:
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


def require_regular(folder: Path) -> None:
    """Raise InputError unless the index, `details` and all that it holds are plain and in place.

    What is beyond a symbolic link belongs to somebody else: it is neither read nor replaced.
    """
    details = folder / DETAILS
    _require(folder / INDEX, "file")
    _require(details, "folder")
    try:
        inside = sorted(details.iterdir()) if details.is_dir() else []
    except OSError as error:
        raise InputError(
            f"the folder cannot be read: {error.strerror or error}",
            path=details,
            fix=f"chmod u+rx {details} (or ask who owns it)",
        ) from None
    for path in inside:
        if path.suffix in _PLACES:
            _require(path, "file")


def _require(path: Path, what: Literal["file", "folder"]) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if (stat.S_ISREG if what == "file" else stat.S_ISDIR)(mode):
        return
    if stat.S_ISLNK(mode):
        found = f"a symbolic link to {path.readlink()}"
    else:
        found = "a folder" if stat.S_ISDIR(mode) else "something else"
    raise InputError(
        f"expected a {what}, found {found}",
        path=path,
        fix=f"put the {what} itself here, or take this away",
    )


def _source(folder: Path, path: Path, place: Place, kernel: str | None) -> Source:
    name = path.relative_to(folder).as_posix()
    data = _read_bytes(path)
    if _is_half_marked(folder, name):
        data = _unmarked(data, name)
    return Source(name, place, kernel, data, hashlib.sha256(data).hexdigest())


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"the file cannot be read: {error.strerror or error}",
            path=path,
            fix=f"chmod u+r {path} (or ask who owns it)",
        ) from None


def _is_half_marked(folder: Path, name: str) -> bool:
    """Whether markers in a page can be those of an import that was cut short.

    It writes the layouts, then the pages, and the list of debt when all else is there.
    """
    return (
        name.endswith(".md")
        and (folder / POLICY).is_file()
        and (folder / file_of(name)).is_file()
        and not (folder / BASELINE).exists()
    )


def _unmarked(data: bytes, name: str) -> bytes:
    """A page without its markers; as it is if a region was edited since it was marked.

    Raises TableError for markers that do not fit.
    """
    found = document.regions(data, name)
    if any(region.edited or region.checksum is None for region in found):
        return data
    markers = {line for region in found for line in (region.start_line, region.end_line)}
    lines = data.split(b"\n")
    return b"\n".join(line for at, line in enumerate(lines, 1) if at not in markers)
