"""The findings of a check as Markdown, for a comment or a job's summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from registry_tool.report.escape import code, markdown
from registry_tool.report.markdown import Section, document
from registry_tool.report.text import count
from registry_tool.rules.model import Finding, Report

MARKER = "<!-- registry-tool check -->"
"""By which a bot finds its own comment again."""


def write(report: Report, way: str) -> str:
    """Counts first, then errors; warnings are behind a click."""
    errors = [one for one in report.findings if one.severity == "error"]
    others = [one for one in report.findings if one.severity != "error"]
    verdict = f"{count(len(errors), 'error')} in" if errors else "Nothing blocks:"
    head = f"{MARKER}\n### Registry check: {verdict} {count(report.records, 'row')}"
    return document(head, sections(errors, others, way))


def sections(errors: Sequence[Finding], others: Sequence[Finding], way: str) -> list[Section]:
    """What blocks, and the warnings."""
    columns = ("rule", "where", "what", "fix")
    return [
        Section("What blocks", list(_rows(errors, way)), columns),
        Section("Warnings", list(_rows(others, way)), columns, folded=True),
    ]


def _rows(findings: Iterable[Finding], way: str) -> Iterable[Sequence[str]]:
    for one in findings:
        where = one.record or f"{way}{one.path}:{one.line}"
        yield code(one.rule), code(where), markdown(one.message), markdown(one.fix)
