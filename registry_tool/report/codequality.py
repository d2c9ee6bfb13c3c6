"""Findings in the form that GitLab shows beside a merge request's lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from registry_tool.report.escape import json_text, line
from registry_tool.report.fingerprint import fingerprints
from registry_tool.rules.finding import Finding
from registry_tool.rules.model import Report

if TYPE_CHECKING:
    from registry_tool.review.model import Review

_SEVERITY = {"error": "critical", "warning": "minor"}


def write(report: Report, way: str) -> str:
    """The findings of a check as a JSON array."""
    return _issues(report.findings, way)


def write_review(review: Review, way: str) -> str:
    """The findings at the reviewed state."""
    return _issues([placed.finding for placed in review.findings], way)


def _issues(findings: Iterable[Finding], way: str) -> str:
    found = list(findings)
    return json_text(
        [
            {
                "description": line(f"{one.rule}: {one.message}. Fix: {one.fix}"),
                "check_name": one.rule,
                "fingerprint": print_,
                "severity": _SEVERITY[one.severity],
                "location": {
                    "path": line(f"{way}{one.path}"),
                    "lines": {"begin": max(1, one.line)},
                },
            }
            for one, print_ in zip(found, fingerprints(found), strict=True)
        ]
    )
