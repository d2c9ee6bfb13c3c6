"""Making a baseline of the rows that an import has just written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from registry_tool.baseline import digests
from registry_tool.errors import RegistryError
from registry_tool.records import canonical
from registry_tool.records.baseline import Baseline, Entry
from registry_tool.records.keys import RowId
from registry_tool.records.record import Record
from registry_tool.store.registry import decode


class Imported(NamedTuple):
    """A row with its record and the bytes of the imported artifact that it cites."""

    row: RowId
    record: Record
    artifact: bytes


def make(rows: Iterable[Imported]) -> bytes:
    """The bytes of the baseline that holds ``rows``, in the order of their names.

    Raises RegistryError for a row that is no import, that comes twice, or whose record cites
    another artifact than the one given.
    """
    entries: dict[str, Entry] = {}
    for row, record, artifact in rows:
        _require_import(row, record, artifact)
        name = str(row)
        if name in entries:
            raise RegistryError(f"{name} was imported twice", path=row.record_path)
        entries[name] = Entry(
            row=name, record=digests.of_record(record), artifact=digests.of_bytes(artifact)
        )
    return encode(entries.values())


def of_disk(root: Path, rows: Iterable[RowId]) -> bytes:
    """`make` of records and artifacts as they stand below ``root``.

    Raises InputError for a record that is not canonical, OSError for a file that is not there.
    """
    return make(_imported(root, row) for row in rows)


def encode(entries: Iterable[Entry]) -> bytes:
    """The bytes of a baseline with ``entries``."""
    return canonical.encode(Baseline(rows=sorted(entries, key=lambda entry: entry.row)))


def _imported(root: Path, row: RowId) -> Imported:
    record = decode((root / row.record_path).read_bytes(), Record, row.record_path)
    return Imported(row, record, (root / record.verdict.artifact).read_bytes())


def _require_import(row: RowId, record: Record, artifact: bytes) -> None:
    link = record.verdict
    if not digests.is_debt(record):
        raise RegistryError(
            f"{row} stands on a verdict of the kind {link.kind!r} with the status {link.status!r}; "
            "a baseline holds only imported rows that nobody verified",
            path=row.record_path,
        )
    if digests.of_bytes(artifact) != link.sha256:
        raise RegistryError(
            f"{row} cites another artifact than {link.artifact} is", path=row.record_path
        )
