"""What an export is made of: the rows that are asked for, and files as names and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from registry_tool.errors import ToolError
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec


class ExportError(ToolError):
    """The rows cannot be written in the form that was asked for, or a file of it cannot be read."""


@dataclass(frozen=True)
class File:
    """One exported file; ``path`` is relative to the folder of the export."""

    path: str
    data: bytes
    rows: int


@dataclass(frozen=True)
class Source:
    """What is exported: rows in the order of their ids, specs, and the kind of each target.

    ``backed`` are the rows whose passing verdict is there, byte for byte.
    """

    records: Mapping[RowId, Record]
    backed: frozenset[RowId]
    specs: Mapping[str, KernelSpec]
    kinds: Mapping[str, str]

    def groups(self) -> list[tuple[str, str, list[Record]]]:
        """Target, kernel and records of every pair that has some."""
        found: dict[tuple[str, str], list[Record]] = {}
        for row, record in self.records.items():
            found.setdefault((row.target, row.kernel), []).append(record)
        return [(target, kernel, records) for (target, kernel), records in sorted(found.items())]


def label(target: str, kind: str) -> str:
    """A target in a file's name: one that is no hardware says so."""
    return target if kind == "hardware" else f"{target}.{kind}"


def identity(record: Record) -> RowId:
    """The row that a record is."""
    dims = list(record.shape)
    return row_id(record.target, record.kernel, dims, record.shape, record.variant)


def in_order(records: Iterable[Record]) -> list[Record]:
    """Records in the order of their row ids, as text."""
    return sorted(records, key=lambda record: str(identity(record)))
