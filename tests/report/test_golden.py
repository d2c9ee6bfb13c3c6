"""Every format against a file that a person can read.

REGISTRY_TOOL_WRITE_GOLDEN=1 writes them anew; what changed is then to be read, not trusted.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from registry_tool import __version__
from registry_tool.report import FORMATS, REVIEWS
from registry_tool.rules import catalog
from tests.report import samples

GOLDEN = Path(__file__).parent / "golden"
ENDINGS = {
    "text": "txt", "json": "json", "md": "md", "sarif": "sarif", "junit": "xml", "github": "github",
    "codequality": "codequality",
}  # fmt: skip


def compare(name: str, text: str) -> None:
    path = GOLDEN / name
    text = text.replace(f'"semanticVersion": "{__version__}"', '"semanticVersion": "0"') + "\n"
    if os.environ.get("REGISTRY_TOOL_WRITE_GOLDEN"):
        path.write_bytes(text.encode())
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("format_", [name for name in FORMATS if name != "sarif"])
def test_a_check_is_written_as_before(format_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    some = tuple(catalog.BY_ID[name] for name in ("KR101", "KR105", "KR203", "KR301"))
    monkeypatch.setattr(catalog, "RULES", some)
    text = FORMATS[format_](samples.REPORT, "kernel registry/")
    compare(f"check.{ENDINGS[format_]}", text)


@pytest.mark.parametrize("format_", [name for name in REVIEWS if name != "sarif"])
def test_a_review_is_written_as_before(format_: str) -> None:
    text = REVIEWS[format_](samples.REVIEW, "kernel registry/")
    compare(f"review.{ENDINGS[format_]}", text)


def test_sarif_is_written_as_before_but_for_the_rules() -> None:
    import json

    document = json.loads(FORMATS["sarif"](samples.REPORT, "kernel registry/"))
    # docs/rules.md is the golden file of what rules say.
    rules = document["runs"][0]["tool"]["driver"].pop("rules")
    assert len(rules) > 20
    for result in document["runs"][0]["results"]:
        assert rules[result.pop("ruleIndex")]["id"] == result["ruleId"]
    compare("check.sarif", json.dumps(document, indent=2, ensure_ascii=True))


def test_every_format_has_a_file() -> None:
    for command, formats in (("check", FORMATS), ("review", [*REVIEWS])):
        for name in formats:
            if (command, name) != ("review", "sarif"):
                assert (GOLDEN / f"{command}.{ENDINGS[name]}").is_file()
