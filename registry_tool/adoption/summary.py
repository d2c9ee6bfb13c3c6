"""The report of an import as files: JSON for programs, a page to read. Nothing is judged here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from registry_tool.adoption.drift import Finding
from registry_tool.adoption.drift.report import as_page
from registry_tool.adoption.imported import Refused
from registry_tool.adoption.model import Adoption
from registry_tool.adoption.prose import Reading
from registry_tool.tables.cells import escape, row


@dataclass(frozen=True)
class Report:
    """What an import found."""

    adoption: Adoption
    counts: Mapping[str, object]
    refused: Sequence[Refused]
    drift: Sequence[Finding]
    prose: Reading


def of_json(report: Report) -> bytes:
    """``{"rows", "drift", "not_imported", "prose", "remarks"}``; the first two are stable."""
    prose = report.prose
    document = {
        "rows": dict(report.counts),
        "drift": [one.as_json() for one in report.drift],
        "not_imported": [
            {"row": row_name(one), "where": _where(one), "reason": one.reason}
            for one in report.refused
        ],
        "prose": {
            "figures": prose.looked_at,
            "proposals": [
                {"where": f"{one.place.file}:{one.place.line}", "write": one.marked}
                for one in prose.proposals
            ],
            "contradictions": [
                {
                    "where": f"{one.place.file}:{one.place.line}",
                    "figure": one.place.text,
                    "kind": one.kind,
                    "kernel": one.kernel,
                    "field": one.field,
                    "message": one.message,
                    "rows": list(one.rows),
                }
                for one in prose.contradictions
            ],
        },
        "remarks": [
            {"where": f"{one.file}:{one.line}", "kernel": one.kernel, "text": one.text}
            for one in report.adoption.remarks
        ],
    }
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def of_page(report: Report, base: str) -> bytes:
    """The same as Markdown: drift, figures in prose, and what makes no row."""
    drift = as_page(report.adoption, report.drift, base).decode()
    return (drift + "".join(f"{line}\n" for line in _more(report))).encode()


def row_name(one: Refused) -> str:
    """``Kernel/2048x512+drain``, as records are named."""
    sizes = "x".join(map(str, one.row.shape.values()))
    return f"{one.row.kernel}/{sizes}" + (f"+{one.row.variant}" if one.row.variant else "")


def _where(one: Refused) -> list[str]:
    return [claim.where for claim in one.row.claims]


def _more(report: Report) -> Iterator[str]:
    prose = report.prose
    if prose.contradictions:
        yield from ("", f"## Figures in prose that rows contradict ({len(prose.contradictions)})")
        yield from ("", row(["Where", "Figure", "What"]), "|---|---|---|")
        for one in prose.contradictions:
            where = f"{one.place.file}:{one.place.line}"
            yield row([escape(where), escape(one.place.text), escape(_flat(one.message))])
    if prose.proposals:
        yield from ("", f"## Figures in prose that a row can show ({len(prose.proposals)})")
        yield from ("", row(["Where", "Write"]), "|---|---|")
        for proposal in prose.proposals:
            where = f"{proposal.place.file}:{proposal.place.line}"
            yield row([escape(where), f"`{proposal.marked.replace('|', chr(92) + '|')}`"])
    if report.refused:
        yield from ("", f"## Lines that make no row ({len(report.refused)})")
        yield from ("", row(["Row", "Where", "Why"]), "|---|---|---|")
        for refused in report.refused:
            cells = (row_name(refused), ", ".join(_where(refused)), refused.reason)
            yield row([escape(cell) for cell in cells])


def _flat(text: str) -> str:
    return " ".join(text.split())
