"""JSON Lines: one record on each line, in the schema's key order, sorted by row id.

Before the record's own fields stands ``target_kind`` (`hardware` or `emulated`), since a record
names its target and does not say what that is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from registry_tool.export.model import ExportError, File, Source, identity, in_order, label
from registry_tool.records.keys import RowId
from registry_tool.records.record import Record

_KIND = "target_kind"
# Readers that divide text at what Unicode calls a line would break these lines.
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def files(source: Source) -> list[File]:
    """One file for each target that has rows; all of them, whatever their verdict says."""
    by_target: dict[str, list[Record]] = {}
    for row, record in source.records.items():
        by_target.setdefault(row.target, []).append(record)
    return [
        File(
            f"{label(target, source.kinds[target])}.jsonl",
            dump_jsonl(records, source.kinds),
            len(records),
        )
        for target, records in sorted(by_target.items())
    ]


def dump_jsonl(records: Iterable[Record], kinds: Mapping[str, str]) -> bytes:
    """The lines of ``records``; ``kinds`` says for each target what produces its numbers."""
    return b"".join(_line(record, kinds[record.target]) for record in in_order(records))


def _line(record: Record, kind: str) -> bytes:
    document = {_KIND: kind, **msgspec.to_builtins(record)}
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES).encode() + b"\n"


def load_jsonl(data: bytes, path: str | None = None) -> dict[RowId, Record]:
    """The records of exported lines, by row.

    Raises ExportError, with the line, for anything that exporting these records would not give:
    what it returns are the records that were exported, field for field.
    """
    found: dict[RowId, Record] = {}
    last = ""
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        try:
            document: dict[str, Any] = json.loads(line)
            kind = document.pop(_KIND)
            record = msgspec.convert(document, Record, strict=True)
            if _line(record, kind) != line:
                raise ValueError("it is not written as it was exported")
            row = identity(record)
            if str(row) <= last:
                raise ValueError(f"the row {row} does not come after {last}")
        except (ValueError, KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
            raise ExportError(
                f"no exported record: {error}",
                path=path,
                line=number,
                fix="registry-tool export --form jsonl --out DIR, again",
            ) from None
        found[row] = record
        last = str(row)
    return found
