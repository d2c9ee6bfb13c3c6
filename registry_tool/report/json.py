"""A report for programs, in the stable form: findings, number of records, debt, seconds."""

from __future__ import annotations

from registry_tool.report.escape import json_text
from registry_tool.rules.model import Report


def write(report: Report, way: str) -> str:
    """The report as JSON; paths stay relative to the registry's root."""
    return json_text(
        {
            "findings": [finding.as_json() for finding in report.findings],
            "records": report.records,
            "debt": report.debt,
            "seconds": round(report.seconds, 6),
        }
    )
