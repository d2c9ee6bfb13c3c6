"""Reading a baseline: from disk for the commands, from bytes for the gate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from registry_tool.baseline import digests
from registry_tool.records import canonical
from registry_tool.records.baseline import PATH, Baseline, Entry
from registry_tool.records.record import Record
from registry_tool.store.registry import Registry, decode


def on_disk(root: Path) -> Baseline | None:
    """The baseline below ``root``, None if there is none; raises InputError if it is broken."""
    try:
        data = (root / PATH).read_bytes()
    except FileNotFoundError:
        return None
    return decode(data, Baseline, PATH)


def lenient(data: bytes) -> Baseline | None:
    """The baseline in ``data``, whatever its formatting; None if it cannot be read."""
    try:
        return canonical.decode_lenient(data, Baseline)
    except (ValueError, RecursionError):
        return None


def records(registry: Registry, baseline: Baseline) -> dict[str, tuple[Entry, Record]]:
    """The entries whose row still stands on its import, with their records."""
    by_name = {str(row): record for row, record in registry.records.items()}
    return {
        entry.row: (entry, by_name[entry.row])
        for entry in baseline.rows
        if entry.row in by_name and digests.is_debt(by_name[entry.row])
    }


def stale(registry: Registry, baseline: Baseline) -> list[str]:
    """The entries whose row is gone, or stands on a verdict of its own."""
    owed: Mapping[str, object] = records(registry, baseline)
    return [entry.row for entry in baseline.rows if entry.row not in owed]


def is_held(entry: Entry, record: Record) -> bool:
    """Whether a row is still what ``entry`` remembers."""
    found = digests.of_record(record), record.verdict.sha256
    return found == (entry.record, entry.artifact)
