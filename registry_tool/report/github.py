"""Findings as workflow commands, which GitHub shows as annotations at their lines.

GitHub shows ten errors, ten warnings and ten notices of a step, the first ones: so the summary
leads, what is about the change comes next, and the summary says how many are not shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from registry_tool.report.escape import data, line, property_, short
from registry_tool.report.figures import step
from registry_tool.rules.finding import Finding
from registry_tool.rules.model import Report

if TYPE_CHECKING:
    from registry_tool.review.model import Review

_LIMIT = 4000
"""Characters of a message; GitHub cuts longer ones without a word."""
_SHOWN = 10
"""Annotations of one kind that GitHub shows of a step."""


def write(report: Report, way: str) -> str:
    """An annotation that sums up, and one per finding."""
    blocking = report.blocking
    summary = f"{blocking} blocking of {len(report.findings)} findings in {report.records} rows"
    return _written("Registry", summary, blocking, list(_lines(report.findings, way)))


def write_review(review: Review, way: str) -> str:
    """The same for a review, with a notice per row that got worse or newly stale."""
    from registry_tool.report.review_words import counts

    worse = [
        command(
            "notice",
            f"{row.row}: " + "; ".join(step(one) for one in row.figures if one.trend == "worse"),
            file=f"{way}{row.path}",
            line="1",
            title="A figure got worse" + (" (emulated)" if row.emulated else ""),
        )
        for row in review.rows
        if row.worse and row.after
    ]
    stale = [
        command(
            "notice",
            f"{one.row}: {'; '.join(one.reasons)}",
            file=f"{way}records/{one.row}.json",
            line="1",
            title="Evidence is stale",
        )
        for one in review.stale
        if one.newly
    ]
    findings = _lines((placed.finding for placed in review.findings), way)
    summary = "; ".join(counts(review))
    return _written("Registry review", summary, review.blocking, [*findings, *worse, *stale])


def _written(title: str, summary: str, blocking: int, commands: Sequence[str]) -> str:
    """All annotations, the one that sums up first; it counts those that nobody will see."""
    kind = "error" if blocking else "notice"
    numbers = Counter(one[2:].partition(" ")[0] for one in commands)
    numbers[kind] += 1
    unseen = [
        f"{number - _SHOWN} more {word}{'' if number == _SHOWN + 1 else 's'}"
        for word, number in numbers.items()
        if number > _SHOWN
    ]
    rest = f"; {' and '.join(unseen)} not shown as annotations: see the log" if unseen else ""
    return "\n".join([command(kind, f"{summary}{rest}", title=title), *commands])


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
