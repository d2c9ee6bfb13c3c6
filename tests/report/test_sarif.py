"""SARIF 2.1.0 as its schema and the readers of code hosts want it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from registry_tool.report import FORMATS, REVIEWS, sarif
from registry_tool.rules.catalog import BY_ID
from registry_tool.rules.model import Report
from tests.report import samples

# What the standard's own schema says of the parts that we write.
TEXT = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}},
    "additionalProperties": False,
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string", "pattern": "^[A-Za-z0-9]+$"},
        "shortDescription": TEXT,
        "fullDescription": TEXT,
        "help": TEXT,
        "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}},
        "properties": {"type": "object"},
    },
    "additionalProperties": False,
}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri", "uriBaseId"],
                    "properties": {
                        "uri": {"type": "string", "pattern": "^[^/:\\s]+(/[^/:\\s]+)*$"},
                        "uriBaseId": {"const": "%SRCROOT%"},
                    },
                    "additionalProperties": False,
                },
                "region": {
                    "type": "object",
                    "required": ["startLine"],
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                    "additionalProperties": False,
                },
            },
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}
RESULT = {
    "type": "object",
    "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": TEXT,
        "locations": {"type": "array", "items": LOCATION, "minItems": 1, "maxItems": 10},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "required": ["version", "runs", "$schema"],
    "properties": {
        "version": {"const": "2.1.0"},
        "$schema": {"type": "string", "format": "uri"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "rules"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "semanticVersion": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": RULE,
                                    },
                                },
                                "additionalProperties": False,
                            }
                        },
                    },
                    "automationDetails": {"type": "object", "required": ["id"]},
                    "originalUriBaseIds": {"type": "object"},
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["message"],
                                        "properties": {"level": LEVEL, "message": TEXT},
                                        "additionalProperties": False,
                                    },
                                },
                            },
                            "additionalProperties": False,
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {"type": "array", "maxItems": 25_000, "items": RESULT},
                    "properties": {"type": "object"},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


def run_of(text: str) -> dict[str, Any]:
    import jsonschema

    document = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    (run,) = document["runs"]
    found: dict[str, Any] = run
    return found


def prints(report: Report) -> list[str]:
    run = run_of(FORMATS["sarif"](report, ""))
    return [one["partialFingerprints"]["registryFinding/v1"] for one in run["results"]]


def test_a_check_and_a_review_are_valid() -> None:
    for text in (
        FORMATS["sarif"](samples.REPORT, "kernel registry/"),
        FORMATS["sarif"](samples.CLEAN, ""),
        REVIEWS["sarif"](samples.REVIEW, ""),
    ):
        run = run_of(text)
        rules = run["tool"]["driver"]["rules"]
        assert [rule["id"] for rule in rules] == list(BY_ID)
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_fingerprint_stays_when_lines_move() -> None:
    moved = samples.ELSEWHERE._replace(line=90, message="line 90: the table is stale")
    assert prints(Report((samples.ELSEWHERE,), 1, 0)) == prints(Report((moved,), 1, 0))


def test_different_complaints_have_different_fingerprints() -> None:
    other = samples.ERROR._replace(message="the verdict measured max_rel=1, the row says 2")
    found = prints(Report((samples.ERROR, other, samples.ERROR), 1, 0))
    assert len(set(found)) == 3
    assert found[0].partition(":")[0] == found[2].partition(":")[0]


def test_a_rule_that_is_not_in_the_catalogue_is_named_all_the_same() -> None:
    odd = samples.ERROR._replace(rule="KR999")
    document = json.loads(FORMATS["sarif"](Report((odd,), 1, 0), ""))
    (result,) = document["runs"][0]["results"]
    assert result["ruleId"] == "KR999"
    assert "ruleIndex" not in result


def test_a_review_says_which_states_it_is_about() -> None:
    run = run_of(REVIEWS["sarif"](replace(samples.REVIEW, base=None), ""))
    assert run["properties"]["base"] is None
    assert run["properties"]["head"] == samples.REVIEW.head
    assert run["automationDetails"]["id"] == "registry-tool/review/"


def test_a_file_has_no_more_results_than_a_code_host_takes() -> None:
    many = (*[samples.WARNING] * sarif.MOST, samples.ERROR)
    log = json.loads(FORMATS["sarif"](Report(many, records=1, seconds=0.1), ""))["runs"][0]
    assert len(log["results"]) == sarif.MOST
    assert log["results"][0]["level"] == "error"
    assert log["properties"]["leftOut"] == 1
    (notification,) = log["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith("1 of 25,001 results")
