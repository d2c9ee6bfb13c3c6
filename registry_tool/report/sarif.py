"""Findings as SARIF 2.1.0, which code hosts show at the lines that they are about."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from registry_tool import __version__
from registry_tool.report.escape import json_text, line
from registry_tool.report.fingerprint import fingerprints
from registry_tool.rules.catalog import RULES
from registry_tool.rules.finding import Finding
from registry_tool.rules.model import WAIVABLE_TEXT, Report, Rule

if TYPE_CHECKING:
    from registry_tool.review.model import Review

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"
_FINGERPRINT = "registryFinding/v1"
MOST = 25_000
"""Results of a run; GitHub refuses a file with more, and shows the first 5,000 by severity."""


def write(report: Report, way: str) -> str:
    """The findings of a check; ``way`` is the registry's path below the repository's top."""
    return json_text(_log(report.findings, way, {"records": report.records}, "registry-tool/check"))


def write_review(review: Review, way: str) -> str:
    """The findings at the reviewed state."""
    findings = [placed.finding for placed in review.findings]
    properties = {"base": review.base, "head": review.head, "records": review.records}
    return json_text(_log(findings, way, properties, "registry-tool/review"))


def _log(
    findings: Sequence[Finding], way: str, properties: dict[str, Any], category: str
) -> dict[str, Any]:
    places = {rule.id: at for at, rule in enumerate(RULES)}
    kept = sorted(findings, key=lambda one: one.severity != "error")[:MOST]
    if len(kept) < len(findings):
        properties = {**properties, "leftOut": len(findings) - len(kept)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "registry-tool",
                        "semanticVersion": __version__,
                        "rules": [_rule(rule) for rule in RULES],
                    }
                },
                "automationDetails": {"id": f"{category}/{way}"},
                "originalUriBaseIds": {
                    _ROOT: {"description": {"text": "The top of the repository."}}
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [_invocation(findings, len(findings) - len(kept))],
                "results": list(_results(kept, way, places)),
                "properties": properties,
            }
        ],
    }


def _invocation(findings: Sequence[Finding], left_out: int) -> dict[str, Any]:
    """How the run went; a reader must be told what is not in the file."""
    found: dict[str, Any] = {"executionSuccessful": True}
    if left_out:
        text = f"{left_out:,} of {len(findings):,} results are left out; `--format json` has all."
        found["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text}}]
    return found


def _rule(rule: Rule) -> dict[str, Any]:
    fix = f"Fix: {rule.fix}"
    waiving = WAIVABLE_TEXT[rule.waivable]
    return {
        "id": rule.id,
        "name": _name(rule.title),
        "shortDescription": {"text": _message(rule.title)},
        "fullDescription": {"text": _message(rule.summary)},
        "help": {"text": _message(f"{rule.summary} {rule.rationale} {fix} {waiving}")},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": ["registry", f"{rule.id[:3]}xx"]},
    }


def _name(title: str) -> str:
    """A rule's title as the identifier that readers of SARIF expect."""
    return "".join(word.capitalize() for word in re.findall(r"[A-Za-z0-9]+", title))


def _results(
    findings: Sequence[Finding], way: str, places: dict[str, int]
) -> Iterable[dict[str, Any]]:
    for finding, print_ in zip(findings, fingerprints(findings), strict=True):
        result: dict[str, Any] = {"ruleId": finding.rule}
        if finding.rule in places:
            result["ruleIndex"] = places[finding.rule]
        yield {
            **result,
            "level": finding.severity,
            "message": {"text": _message(f"{finding.message}. Fix: {finding.fix}")},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {
                            "uri": quote(_bytes(way + finding.path)),
                            "uriBaseId": _ROOT,
                        },
                        "region": {"startLine": max(1, finding.line)},
                    }
                }
            ],
            "partialFingerprints": {_FINGERPRINT: print_},
            "properties": {"record": finding.record, "pointer": finding.pointer},
        }


def _bytes(path: str) -> bytes:
    """A path as it is on disk."""
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        return path.encode("utf-8", "backslashreplace")


def _message(text: str) -> str:
    """Plain text of SARIF: braces are doubled, and `[..](..)` would be a link."""
    return line(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")
