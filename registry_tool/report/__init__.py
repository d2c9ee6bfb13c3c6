"""How a report of the gate, and a review, is written: a table of formats, each a function to text.

A format's module is imported when it is used: a hook waits for one of them only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from registry_tool.rules.model import Report

if TYPE_CHECKING:
    from registry_tool.review.model import Review

Reporter = Callable[[Report, str], str]
"""Report and what is put before the registry's paths (`place.way_to`) to text."""
ReviewReporter = Callable[["Review", str], str]
"""The same for a review."""


def _write(module: str, report: Report, way: str) -> str:
    text: str = import_module(f"registry_tool.report.{module}").write(report, way)
    return text


def _write_review(module: str, review: Review, way: str) -> str:
    text: str = import_module(f"registry_tool.report.{module}").write_review(review, way)
    return text


_OF_FINDINGS = ("sarif", "junit", "github", "codequality")

FORMATS: Mapping[str, Reporter] = {
    name: partial(_write, name) for name in ("text", "json", *_OF_FINDINGS, "md")
}
REVIEWS: Mapping[str, ReviewReporter] = {
    "text": partial(_write_review, "review_text"),
    "json": partial(_write_review, "review_json"),
    "md": partial(_write_review, "review_md"),
    **{name: partial(_write_review, name) for name in _OF_FINDINGS},
}
