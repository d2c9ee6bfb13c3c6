"""Findings as workflow commands, which GitHub shows as annotations at their lines.

GitHub shows ten errors and ten warnings of a step, so those of the change come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from registry_tool.report.escape import data, line, property_, short
from registry_tool.report.figures import step
from registry_tool.rules.model import Finding, Report

if TYPE_CHECKING:
    from registry_tool.review.model import Review

_LIMIT = 4000
"""Characters of a message; GitHub cuts longer ones without a word."""


def write(report: Report, way: str) -> str:
    """An annotation per finding, and one that sums up."""
    blocking = report.blocking
    kind = "error" if blocking else "notice"
    summary = f"{blocking} blocking of {len(report.findings)} findings in {report.records} rows"
    return "\n".join([*_lines(report.findings, way), command(kind, summary, title="Registry")])


def write_review(review: Review, way: str) -> str:
    """The same for a review, with a notice per row that got worse."""
    from registry_tool.report.review_words import counts

    kind = "error" if review.blocking else "notice"
    worse = (
        command(
            "notice",
            f"{row.row}: " + "; ".join(step(one) for one in row.figures if one.trend == "worse"),
            file=f"{way}{row.path}",
            line="1",
            title="A figure got worse" + (" (emulated)" if row.emulated else ""),
        )
        for row in review.rows
        if row.worse and row.after
    )
    findings = _lines((placed.finding for placed in review.findings), way)
    summary = command(kind, "; ".join(counts(review)), title="Registry review")
    return "\n".join([*findings, *worse, summary])


def _lines(findings: Iterable[Finding], way: str) -> Iterator[str]:
    for finding in sorted(findings, key=lambda one: one.severity != "error"):
        yield command(
            finding.severity,
            finding.message,
            f"fix: {finding.fix}",
            file=f"{way}{finding.path}",
            line=str(max(1, finding.line)),
            title=f"{finding.rule} {finding.record or ''}".strip(),
        )


def command(kind: str, *messages: str, **properties: str) -> str:
    """``::kind name=value,..::message``, where each of ``messages`` is a line of its own."""
    named = ",".join(f"{name}={property_(line(text))}" for name, text in properties.items())
    body = "\n".join(map(line, messages))
    return f"::{kind} {named}::{data(short(body, _LIMIT))}"
