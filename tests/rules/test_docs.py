"""The rule pages, the hook manifest and the hooks say what the code says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from registry_tool.cli import main
from registry_tool.gates import precommit, scripts
from registry_tool.rules import again, docs
from registry_tool.rules.catalog import BY_ID, FAMILIES, RULES

ROOT = Path(__file__).resolve().parents[2]
AT_LEAST = [
    *range(1, 10), *range(101, 109), 110, *range(201, 204), *range(301, 305),
]  # fmt: skip


def test_the_rule_page_is_current() -> None:
    """`python -m registry_tool.rules.docs` (or `make docs`) writes it."""
    assert (ROOT / docs.PAGE).read_text(encoding="utf-8") == docs.page()


def test_every_rule_of_the_design_is_there_once_and_in_order() -> None:
    ids = [rule.id for rule in RULES]
    assert ids == sorted(set(ids))
    assert {f"KR{number:03d}" for number in AT_LEAST} <= set(ids)
    assert all(any(rule.id.startswith(prefix) for prefix in FAMILIES) for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_says_what_it_is_and_looks_at_something(rule: object) -> None:
    assert rule.summary.endswith(".")  # type: ignore[attr-defined]
    assert rule.rationale.endswith(".")  # type: ignore[attr-defined]
    checks = [value for name, value in vars(rule).items() if name.startswith("on_")]
    # The examples hold these to a finding: they look beyond the files, where they are asked to.
    assert any(checks) or rule in again.RULES


def test_what_may_never_be_waived_cannot_be() -> None:
    for number in (101, 102, 104, 105, 106, 107, 110):
        assert BY_ID[f"KR{number}"].waivable == "never"


def test_explain_prints_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "kr105"]) == 0
    assert "numbers disagree" in capsys.readouterr().out
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(RULES)
    assert main(["explain", "KR105", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rule"] == "KR105"


def test_explain_of_an_unknown_rule_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "KR999"]) == 2
    assert "registry-tool explain" in capsys.readouterr().err


def test_the_manifest_for_others_is_the_hook_that_init_installs() -> None:
    (hook,) = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["id"] == precommit.HOOK_ID
    assert hook["entry"] == "registry-tool hook pre-commit"
    assert set(scripts.GUARDS) <= set(hook["stages"])
    assert (hook["always_run"], hook["pass_filenames"], hook["require_serial"]) == (
        True,
        False,
        True,
    )


@pytest.mark.parametrize("name", scripts.NAMES)
def test_the_plain_hooks_are_those_that_init_installs(name: str) -> None:
    path = ROOT / "hooks" / name
    assert os.access(path, os.X_OK)
    assert path.read_text() == scripts.script(name)
