"""The findings of a check as Markdown, for a comment or a job's summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from registry_tool.report.escape import code, markdown
from registry_tool.report.markdown import Section, document, section
from registry_tool.report.text import count
from registry_tool.rules.finding import Finding
from registry_tool.rules.model import Report

MARKER = "<!-- registry-tool check -->"
"""By which a bot finds its own comment again."""


def write(report: Report, way: str) -> str:
    """Counts first, then errors; warnings are behind a click."""
    errors = [one for one in report.findings if one.severity == "error"]
    others = [one for one in report.findings if one.severity != "error"]
    verdict = f"{count(len(errors), 'error')} in" if errors else "Nothing blocks:"
    head = f"{MARKER}\n### Registry check: {verdict} {count(report.records, 'row')}"
    warnings = of_findings("Warnings", others, way, folded=True)
    return document(head, [*sections(errors, way), warnings])


def sections(errors: Sequence[Finding], way: str) -> list[Section]:
    """What blocks, and what to do about it."""
    fixes = dict.fromkeys((one.rule, one.fix) for one in errors)
    return [
        of_findings("What blocks", errors, way),
        section(
            "How to mend it",
            fixes,
            lambda one: (code(one[0]), markdown(one[1])),
            ("rule", "fix"),
            folded=True,
        ),
    ]


def of_findings(title: str, findings: Iterable[Finding], way: str, folded: bool = False) -> Section:
    """A section of findings, with their rule, place and message."""

    def row(one: Finding) -> Sequence[str]:
        place = one.record or f"{way}{one.path}:{one.line}"
        return code(one.rule), code(place), markdown(one.message)

    return section(title, findings, row, ("rule", "where", "what"), folded)
