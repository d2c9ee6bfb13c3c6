"""What absorbing comes to in files: new records and pages, written all together or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from registry_tool.absorb import echo, found, tables
from registry_tool.absorb.bases import Versions
from registry_tool.absorb.compare import Side, compare
from registry_tool.absorb.expected import ExpectedTable
from registry_tool.absorb.model import Outcome, Refusal, Wording
from registry_tool.absorb.overlay import overlay
from registry_tool.adoption.uses import Reader
from registry_tool.errors import UsageError
from registry_tool.records import canonical
from registry_tool.records.layout import Layout, LineLayout
from registry_tool.store.files import write_atomic
from registry_tool.store.registry import Registry
from registry_tool.tables import document, render
from registry_tool.tables.layout_files import file_of, layouts_of
from registry_tool.tables.render import MarkedPage, Page


def absorb(
    registry: Registry, existing: Mapping[str, bytes], wanted: Collection[str], retire: bool
) -> Outcome:
    """What the edited regions of the pages ``wanted`` say; all of them if there are none.

    ``existing`` holds the generated files on disk. With ``retire`` a row whose line was deleted is
    retired, else it is refused. Raises TableError for a page that cannot be read, UsageError for
    one that is not generated.
    """
    made = render.rows_of(registry, registry.records)
    generated = render.pages_of_rows(registry, made)
    by_page: dict[str, list[ExpectedTable]] = {}
    for table in tables.tables(registry, made):
        by_page.setdefault(table.path, []).append(table)
    for path in wanted:
        if path not in by_page:
            known = ", ".join(sorted(by_page))
            raise UsageError(f"{path} is no page with a generated table; they are {known}")
    outcome = Outcome()
    models = {model.model for model in registry.models()}
    models |= {use.model for record in registry.records.values() for use in record.used_by}
    versions = Versions(registry.snapshot)
    reader = Reader(registry.specs)
    for path, expected in by_page.items():
        if path in existing and (path in wanted or not wanted):
            page, data = generated[path], existing[path]
            _absorb_page(registry, expected, page, data, versions, models, reader, outcome)
    echo.follow((one for page in by_page.values() for one in page), registry.records, outcome)
    for place, row in outcome.deleted:
        if retire:
            outcome.records[row] = None
        else:
            message = "its line was deleted"
            fix = "registry-tool absorb --retire removes the row; its verdicts stay"
            outcome.refusals.append(Refusal(place, str(row), message, fix))
    others = {path: page for path, page in generated.items() if wanted and path not in wanted}
    render.refuse_edited(others, existing)
    return outcome


def _absorb_page(
    registry: Registry,
    expected: Sequence[ExpectedTable],
    page: Page,
    data: bytes,
    versions: Versions,
    models: Collection[str],
    reader: Reader,
    outcome: Outcome,
) -> None:
    assert isinstance(page, MarkedPage)
    path = expected[0].path
    found.refuse_conflict(data, path)
    page.on(data, path)  # refuses markers that do not fit
    regions = {region.name: region for region in document.regions(data, path)}
    for table in expected:
        region, body = regions[table.region], page.regions[table.region]
        if not region.edited or region.text == body:
            continue
        current = region.checksum == document.checksum(body)
        bases = [] if current else versions.bases(table, region)
        rows = found.rows_of(data, path, region, table.header)
        if path not in outcome.pages:
            outcome.pages.append(path)
        compare(table, rows, Side(registry.records, models, bases, current, reader), outcome)


def changes(
    registry: Registry, existing: Mapping[str, bytes], outcome: Outcome
) -> dict[str, bytes | None]:
    """Path to new bytes (None for a file that goes) of all that ``outcome`` changes.

    Raises TableError if a page would not show what the records then say.
    """
    from registry_tool.tables.readback import require_reads_back

    files: dict[str, bytes | None] = {}
    for row, record in outcome.records.items():
        files[registry.record_paths[row]] = None if record is None else canonical.encode(record)
    layouts = layouts_of(registry) if outcome.wordings else {}
    for wording in outcome.wordings:
        layouts[wording.page] = _worded(layouts[wording.page], wording)
    for page in {wording.page for wording in outcome.wordings}:
        files[file_of(page)] = canonical.encode(layouts[page])
    after = dataclasses.replace(registry, snapshot=overlay(registry.snapshot, files))
    rendered = render.stale(render.pages(after, after.records), existing)
    require_reads_back(after, rendered)
    return {**files, **rendered}


def _worded(layout: Layout, wording: Wording) -> Layout:
    """A layout in which one cell is worded otherwise."""
    changed = []
    for table in layout.tables:
        if table.region == wording.region:
            lines = [_line(one, wording) if one.row == wording.line else one for one in table.lines]
            table = replace(table, lines=lines)
        changed.append(table)
    return replace(layout, tables=changed)


def _line(line: LineLayout, wording: Wording) -> LineLayout:
    cells = {title: cell for title, cell in line.cells.items() if title != wording.column}
    return replace(line, cells=cells | ({wording.column: wording.cell} if wording.cell else {}))


def write(root: Path, files: Mapping[str, bytes | None]) -> None:
    """Write or remove every file; if one cannot be, those before it are put back."""
    before: dict[Path, bytes | None] = {}
    try:
        for name, data in files.items():
            path = root / name
            old = path.read_bytes() if path.is_file() else None
            _put(path, data)
            before[path] = old
    except BaseException:
        for path, old in before.items():
            with contextlib.suppress(OSError):  # the others are put back all the same
                _put(path, old)
        raise


def _put(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink(missing_ok=True)
    else:
        write_atomic(path, data)
