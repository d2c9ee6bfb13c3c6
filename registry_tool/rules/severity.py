"""The levels of rules as registry.yaml says them, for all or a target, and whose a finding is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from registry_tool.rules.finding import Finding

if TYPE_CHECKING:
    from registry_tool.records.spec import Policy

Levels = Mapping[str, Mapping[str, str]]
"""Target ("" for all) to rule id to its level; `FIRST` names the first target."""

FIRST = "/first"
_TARGETED = ("records", "verdicts")


def entries(policy: Policy) -> Iterator[tuple[str, str, str]]:
    """Every (target, rule, level) that registry.yaml says; the target is empty at top level."""
    for rule, level in policy.rules.items():
        yield "", rule, level
    for name, target in policy.targets.items():
        for rule, level in target.rules.items():
            yield name, rule, level


def levels_of(policy: Policy) -> dict[str, dict[str, str]]:
    """What ``policy`` says, in the form that a state keeps; empty if it says nothing."""
    found: dict[str, dict[str, str]] = {}
    for target, rule, level in entries(policy):
        found.setdefault(target, {})[rule] = level
    if found:
        found[FIRST] = {"": next(iter(policy.targets))}
    return found


STALE = "KR131"
"""The rule that finds nothing where registry.yaml does not ask for it."""


def target_of(finding: Finding, levels: Levels) -> str:
    """The target that a finding is about; empty if it is about none."""
    if finding.record is not None:
        return finding.record.partition("/")[0]
    folder, *below = finding.path.split("/")
    if folder in _TARGETED and below:
        return below[0]
    if folder == "details":
        return below[0] if len(below) == 2 else levels.get(FIRST, {}).get("", "")
    return ""
