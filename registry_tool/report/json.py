"""A report for programs, in the stable form: findings, number of records, seconds."""

from __future__ import annotations

import json

from registry_tool.rules.model import Report


def write(report: Report, way: str) -> str:
    """The report as JSON; paths stay relative to the registry's root."""
    document = {
        "findings": [finding.as_json() for finding in report.findings],
        "records": report.records,
        "debt": report.debt,
        "seconds": round(report.seconds, 6),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
