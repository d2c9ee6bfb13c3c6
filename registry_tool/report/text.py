"""A report for a person at a terminal: one line per finding, its fix below, and a summary."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from registry_tool.report.escape import line, start
from registry_tool.rules.finding import Finding, Severity
from registry_tool.rules.model import Report

_SHOWN: Mapping[Severity, int] = {"error": 100, "warning": 5}
"""Findings of one rule that are written out; what is the matter is plain after so many."""


def write(report: Report, way: str) -> str:
    """Findings and summary; ``way`` is put before each path, so that an editor can open it."""
    return "\n".join([*lines(report.findings, way), _summary(report)])


def lines(findings: Iterable[Finding], way: str) -> Iterator[str]:
    """Two lines per finding, and one per rule that has more than anybody reads."""
    seen: Counter[tuple[str, Severity]] = Counter()
    for finding in findings:
        kind = finding.rule, finding.severity
        seen[kind] += 1
        if seen[kind] <= _SHOWN[finding.severity]:
            yield from _finding(finding, way)
    for (rule, severity), number in sorted(seen.items()):
        more = number - _SHOWN[severity]
        if more > 0:
            yield f"{rule}: {count(more, f'more {severity}')}; --format json has all of them"


def _finding(finding: Finding, way: str) -> Iterator[str]:
    path = f"{way}{finding.path}"
    warning = " (warning)" if finding.severity == "warning" else ""
    yield f"{start(path)}:{finding.line}: {finding.rule}{warning} {line(finding.message)}"
    yield f"  fix: {line(finding.fix.replace(finding.path, shlex.quote(path)))}"


def _summary(report: Report) -> str:
    warnings = len(report.findings) - report.blocking
    rows, seconds = count(report.records, "row"), f"({report.seconds:.2f} s)"
    with_warnings = count(warnings, "warning") if warnings else ""
    if report.blocking:
        found = count(report.blocking, "error") + (f" and {with_warnings}" if warnings else "")
        return f"{found} in {rows} {seconds}; registry-tool explain RULE says more about each"
    passing = report.records - report.debt
    verb = "has a passing verdict" if passing == 1 else "have passing verdicts"
    owed = f", {report.debt:,} imported and owed (baseline.json)" if report.debt else ""
    tail = f"{owed}{f', with {with_warnings}' if warnings else ''} {seconds}"
    return f"{count(passing, 'row')} {verb}{tail}"


def count(number: int, what: str) -> str:
    """``number`` of ``what``, in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
