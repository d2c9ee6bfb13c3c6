"""CSV by RFC 4180, one file for each kernel and target: CRLF between rows, UTF-8 without a BOM.

A text that a spreadsheet would take for a formula is written after an apostrophe, and so is a text
that begins with one: `load_csv` takes one away, and nothing is lost.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from registry_tool.export.model import ExportError, File, Source, in_order, label
from registry_tool.records.record import Record, Waiver
from registry_tool.records.spec import KernelSpec

# A leading space does not help: some programs take it away before they look.
_FORMULA = re.compile(r"[\s']*[=+\-@＝＋－＠]|['\t\r]")
_AGAIN = "registry-tool export --form csv --out DIR, again"

_FIGURES = ("mean_rel_L1", "max_abs", "max_rel")
_WAIVER = Waiver.__struct_fields__
_SPEED = ("latency_us", "gflops", "gbps", "spread")


def files(source: Source) -> list[File]:
    """One file for each kernel on each target that has rows, whatever their verdict says."""
    found = []
    for target, kernel, records in source.groups():
        kind = source.kinds[target]
        data = dump_csv(source.specs[kernel], kind, records)
        found.append(File(f"{kernel}.{label(target, kind)}.csv", data, len(records)))
    return found


def header(spec: KernelSpec) -> list[str]:
    """The columns of a kernel; raises ExportError where a dim or knob is called like another."""
    names = [
        "kernel",
        "target",
        "target_kind",
        *spec.dims,
        "variant",
        "precision",
        *spec.tile,
        *spec.herd,
        "tiles_in_flight",
        *_FIGURES,
        *_SPEED,
        "status",
        "verdict_kind",
        "flaky",
        "artifact",
        "sha256",
        "used_by",
        "notes",
        "waivers",
        "provenance",
    ]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ExportError(f"{spec.kernel} has two columns called {twice[0]!r}: CSV takes one")
    return names


def dump_csv(spec: KernelSpec, kind: str, records: Iterable[Record]) -> bytes:
    """The rows of one kernel on one target of this ``kind``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header(spec))
    for record in in_order(records):
        writer.writerow(_cells(spec, kind, record))
    return text.getvalue().encode()


def _cells(spec: KernelSpec, kind: str, record: Record) -> list[str]:
    if list(record.shape) != spec.dims or len(record.herd) > len(spec.herd):
        raise ExportError(
            f"a row of {record.kernel} does not fit its page", fix="registry-tool check"
        )
    if not record.tile.keys() <= spec.tile.keys():
        raise ExportError(f"a row of {record.kernel} has other tile knobs than its page")
    herd = [*record.herd, *[None] * (len(spec.herd) - len(record.herd))]
    speed = record.performance
    verdict = record.verdict
    return [
        text_cell(record.kernel),
        text_cell(record.target),
        kind,
        *(str(record.shape[dim]) for dim in spec.dims),
        text_cell(record.variant or ""),
        record.precision or "",
        *(_number(record.tile.get(knob)) for knob in spec.tile),
        *map(_number, herd),
        str(record.tiles_in_flight),
        *(_number(getattr(record, name)) for name in _FIGURES),
        *(_number(getattr(speed, name, None)) for name in _SPEED),
        verdict.status,
        verdict.kind,
        "true" if verdict.flaky is True else "",
        text_cell(verdict.artifact),
        verdict.sha256,
        text_cell(_lines([use.model, use.site] for use in record.used_by)),
        text_cell(_lines([note] for note in record.notes)),
        text_cell(_lines(msgspec.structs.astuple(waiver) for waiver in record.waivers)),
        json.dumps(record.provenance, ensure_ascii=False) if record.provenance else "",
    ]


def _number(value: float | int | None) -> str:
    return "" if value is None else repr(value)


def _lines(parts: Iterable[Sequence[str]]) -> str:
    # No field of a record holds a tab or a line end.
    return "\n".join("\t".join(one) for one in parts)


def text_cell(text: str) -> str:
    """``text`` as no spreadsheet takes it for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def cell_text(cell: str) -> str:
    """The text of a cell that `text_cell` made."""
    return cell[1:] if cell.startswith("'") else cell


def load_csv(data: bytes, spec: KernelSpec, path: str | None = None) -> list[Record]:
    """The records of an exported file, field for field; raises ExportError with the line."""
    try:
        # With `newline` empty the line ends inside of cells stay what they are.
        reader = csv.reader(io.StringIO(data.decode(), newline=""), strict=True)
        rows = [(reader.line_num, row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ExportError(f"no CSV in UTF-8: {error}", path=path, fix=_AGAIN) from None
    names = header(spec)
    if not rows or rows[0][1] != names:
        raise ExportError(f"the header is not that of {spec.kernel}", path=path, line=1, fix=_AGAIN)
    found = []
    for number, row in rows[1:]:
        try:
            found.append(_record(spec, dict(zip(names, row, strict=True))))
        except (ValueError, TypeError, KeyError, msgspec.ValidationError) as error:
            raise ExportError(
                f"no exported row: {error}", path=path, line=number, fix=_AGAIN
            ) from None
    return found


def _record(spec: KernelSpec, row: Mapping[str, str]) -> Record:
    text = {name: cell_text(row[name]) for name in row}
    speed = {name: _value(row[name]) for name in _SPEED}
    verdict = {
        "status": row["status"],
        "kind": row["verdict_kind"],
        "artifact": text["artifact"],
        "sha256": row["sha256"],
        **({"flaky": True} if row["flaky"] else {}),
    }
    waivers = [dict(zip(_WAIVER, parts, strict=True)) for parts in _parts(text["waivers"])]
    uses = [dict(zip(("model", "site"), parts, strict=True)) for parts in _parts(text["used_by"])]
    document: dict[str, Any] = {
        "kernel": text["kernel"],
        "target": text["target"],
        "shape": {dim: int(row[dim]) for dim in spec.dims},
        "variant": text["variant"] or None,
        "precision": row["precision"] or None,
        "tile": {knob: int(row[knob]) for knob in spec.tile if row[knob]},
        "herd": [int(row[axis]) for axis in spec.herd if row[axis]],
        "tiles_in_flight": int(row["tiles_in_flight"]),
        **{name: _value(row[name]) for name in _FIGURES},
        "performance": speed if row["latency_us"] else None,
        "verdict": verdict,
        "used_by": uses,
        "notes": [note for (note,) in _parts(text["notes"])],
        "waivers": waivers,
        "provenance": json.loads(row["provenance"]) if row["provenance"] else {},
    }
    return msgspec.convert(document, Record, strict=True)


def _parts(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.split("\n")] if text else []


def _value(text: str) -> float | None:
    return float(text) if text else None
