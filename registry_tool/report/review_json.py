"""A review for programs, in the stable form that docs/review.md describes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from registry_tool.report.escape import json_text
from registry_tool.report.review_words import counts
from registry_tool.review.model import Review

VERSION = 1


def write_review(review: Review, way: str) -> str:
    """The review as JSON; paths are relative to the registry's root."""
    return json_text(document(review))


def document(review: Review) -> dict[str, Any]:
    """The review as plain data."""
    found = asdict(review)
    findings = [
        {**placed.finding.as_json(), "touched": placed.touched} for placed in review.findings
    ]
    rows = [
        {**row, "worse": one.worse, "better": one.better}
        for row, one in zip(found["rows"], review.rows, strict=True)
    ]
    return {
        "version": VERSION,
        "summary": counts(review),
        "blocking": review.blocking,
        **found,
        "rows": rows,
        "findings": findings,
    }
