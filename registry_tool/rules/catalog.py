"""Every rule of the gate, listed explicitly, in the order of their ids."""

from __future__ import annotations

from registry_tool.rules import (
    again,
    baseline,
    files,
    history,
    lookups,
    numbers,
    runs,
    signatures,
    tables,
    tiles,
    verdicts,
)
from registry_tool.rules.model import Rule

RULES: tuple[Rule, ...] = (
    *files.RULES,
    *verdicts.RULES,
    *baseline.RULES,
    *runs.RULES,
    *signatures.RULES,
    *again.RULES,
    *tiles.RULES,
    *tables.RULES,
    *lookups.RULES,
    *numbers.RULES,
    *history.RULES,
)
BY_ID: dict[str, Rule] = {rule.id: rule for rule in RULES}
FAMILIES: dict[str, str] = {
    "KR0": "files and schema",
    "KR1": "verdicts",
    "KR2": "tiles and constraints",
    "KR3": "tables",
    "KR4": "lookup answers",
    "KR5": "plausible numbers",
    "KR6": "history",
}


def is_of_import(rule: str) -> bool:
    """Whether ``rule`` may be waived for an imported row only, so that a real run ends it."""
    return rule in BY_ID and BY_ID[rule].waivable == "imported"
