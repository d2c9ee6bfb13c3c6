"""Findings as JUnit XML: a test case per rule for a check, per row for a review."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from registry_tool.report.escape import xml
from registry_tool.rules.finding import Finding
from registry_tool.rules.model import Report

if TYPE_CHECKING:
    from registry_tool.review.model import Review


def write(report: Report, way: str) -> str:
    """A case per rule that holds, and one per row or file and rule that does not."""
    from registry_tool.rules.catalog import FAMILIES, RULES

    suites = []
    for family, words in FAMILIES.items():
        cases: list[str] = []
        for rule in RULES:
            if rule.id.startswith(family):
                about = [one for one in report.findings if one.rule == rule.id]
                name = f"{rule.id} {rule.title}"
                cases += list(_by_place(about, way)) or [_case("rules", name, [], [], way)]
        suites.append(_suite(f"{family}xx {words}", cases))
    others = [one for one in report.findings if one.rule[:3] not in FAMILIES]
    if others:
        suites.append(_suite("other rules", list(_by_place(others, way))))
    return _document("registry-tool check", suites, report.seconds)


def write_review(review: Review, way: str) -> str:
    """A case per row that changed, and one per row or file that a finding is about besides.

    Stale rows are cases that pass and say why they are stale: the gate's findings fail them.
    """
    from registry_tool.report.review_words import row_lines

    about: dict[str, list[Finding]] = defaultdict(list)
    rest = []
    names = {row.row for row in review.rows}
    for placed in review.findings:
        finding = placed.finding
        if finding.record in names:
            about[finding.record or ""].append(finding)
        else:
            rest.append(finding)
    rows = [
        _case(f"{row.target}.{row.kernel}", f"{row.row}: {row.kind}", about[row.row],
              list(row_lines(row)), way)
        for row in review.rows
    ]  # fmt: skip
    others = list(_by_place(rest, way))
    stale = [_case("stale", one.row, [], one.reasons, way) for one in review.stale]
    if not rows and not others:
        # Readers take a file without a test for a run that went wrong.
        others = [_case("gate", "nothing changed, and nothing is refused", [], [], way)]
    suites = [_suite("rows", rows), _suite("findings", others)]
    if stale:
        suites.append(_suite("stale evidence", stale))
    return _document("registry-tool review", suites, None)


def _by_place(findings: Sequence[Finding], way: str) -> Iterator[str]:
    places: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        places[finding.rule, finding.record or f"{way}{finding.path}"].append(finding)
    for (rule, place), some in places.items():
        yield _case(rule, place, some, [], way)


def _case(
    group: str, name: str, findings: Sequence[Finding], words: Iterable[str], way: str
) -> str:
    """One test case: errors are one failure, warnings and ``words`` what it printed."""
    errors = [one for one in findings if one.severity == "error"]
    printed = [*words, *(_words(one, way) for one in findings if one.severity != "error")]
    parts = []
    if errors:
        message = errors[0].message + (f" (and {len(errors) - 1} more)" if errors[1:] else "")
        body = "\n".join(xml(_words(one, way)) for one in errors)
        kind = xml(errors[0].rule)
        parts.append(f'<failure message="{xml(message)}" type="{kind}">{body}</failure>')
    if printed:
        parts.append("<system-out>" + "\n".join(map(xml, printed)) + "</system-out>")
    head = f'<testcase classname="{xml(group)}" name="{xml(name)}"'
    if findings:
        head += f' file="{xml(way + findings[0].path)}" line="{max(1, findings[0].line)}"'
    return f"    {head}>{''.join(parts)}</testcase>" if parts else f"    {head}/>"


def _words(finding: Finding, way: str) -> str:
    place = f"{way}{finding.path}:{finding.line}"
    return f"{place}: {finding.rule} {finding.message} (fix: {finding.fix})"


def _suite(name: str, cases: Sequence[str]) -> tuple[str, int, int]:
    failures = sum("<failure" in case for case in cases)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="0"'
    inner = "".join(f"\n{case}" for case in cases)
    return f'  <testsuite name="{xml(name)}" {counts}>{inner}\n  </testsuite>', len(cases), failures


def _document(name: str, suites: Sequence[tuple[str, int, int]], seconds: float | None) -> str:
    tests, failures = sum(one[1] for one in suites), sum(one[2] for one in suites)
    time = f' time="{seconds:.3f}"' if seconds is not None else ""
    head = f'<testsuites name="{name}" tests="{tests}" failures="{failures}"{time}>'
    inner = "\n".join(text for text, _, _ in suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{inner}\n</testsuites>'
