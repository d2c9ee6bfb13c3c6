"""Every rule of the gate, listed explicitly, in the order of their ids."""

from __future__ import annotations

from registry_tool.rules import baseline, files, signatures, tables, tiles, verdicts
from registry_tool.rules.model import Rule

RULES: tuple[Rule, ...] = (
    *files.RULES,
    *verdicts.RULES,
    *baseline.RULES,
    *signatures.RULES,
    *tiles.RULES,
    *tables.RULES,
)
BY_ID: dict[str, Rule] = {rule.id: rule for rule in RULES}
FAMILIES: dict[str, str] = {
    "KR0": "files and schema",
    "KR1": "verdicts",
    "KR2": "tiles and constraints",
    "KR3": "tables",
}


def is_of_import(rule: str) -> bool:
    """Whether ``rule`` may be waived for an imported row only, so that a real run ends it."""
    return rule in BY_ID and BY_ID[rule].waivable == "imported"
