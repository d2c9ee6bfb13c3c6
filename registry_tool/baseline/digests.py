"""What a baseline remembers of a row: digests of what was imported, not of what people add."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.records.record import Record


def is_debt(record: Record) -> bool:
    """Whether the row stands on an import that claims no pass, so that a baseline may hold it."""
    return record.verdict.kind == "imported" and record.verdict.status != "pass"


def of_record(record: Record) -> str:
    """SHA-256 of ``record`` without its human-owned fields, in canonical form."""
    return of_bytes(canonical.encode(replace(record, used_by=[], notes=[], waivers=[])))


def of_bytes(data: bytes) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()
