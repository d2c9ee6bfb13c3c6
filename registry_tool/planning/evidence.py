"""The verdicts that the rows of a target stand on, where a run passed."""

from __future__ import annotations

from registry_tool.records import canonical
from registry_tool.records.keys import RowId
from registry_tool.records.record import Record
from registry_tool.records.verdict import Verdict
from registry_tool.store.registry import Registry


def cited(registry: Registry, target: str) -> dict[RowId, Verdict]:
    """The verdict that each row of ``target`` cites, where it passed and can be read.

    Imported rows are left out: nothing ran. Raises InputError for a record that is not canonical.
    """
    rows = {
        row: record.verdict.artifact
        for row, record in registry.records.items()
        if _counts(registry, row, record, target)
    }
    contents = registry.snapshot.read_many(rows.values())
    found = {}
    for row, path in rows.items():
        try:
            found[row] = canonical.decode_lenient(contents[path], Verdict)
        except ValueError:
            continue  # the gate complains of it
    return found


def _counts(registry: Registry, row: RowId, record: Record, target: str) -> bool:
    link = record.verdict
    return (
        row.target == target
        and row.kernel in registry.specs
        and link.status == "pass"
        and link.kind != "imported"
        and link.artifact in registry.snapshot.oids
    )
