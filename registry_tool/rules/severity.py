"""How findings count by registry.yaml: a rule raised, lowered or switched off, for all or a target.

What no row may waive cannot be lowered, and such an entry has no effect but a finding of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
_LEVELS = ("off", "warning", "error")


def lowered(before: Policy, after: Policy) -> Iterator[str]:
    """What ``after`` lets through that ``before`` did not, in words; unasked rules are off."""
    from registry_tool.rules.catalog import BY_ID

    every = {rule for policy in (before, after) for _, rule, _ in entries(policy)}
    targets = [name for name in after.targets if name in before.targets]
    for rule in sorted(every & BY_ID.keys()):
        if BY_ID[rule].lowers == "never":
            continue  # it has no effect, and is refused
        for target in ["", *targets]:
            was, now = (_said(policy, target, rule) for policy in (before, after))
            if _LEVELS.index(now) < _LEVELS.index(was):
                where = f" for {target}" if target else ""
                yield f"{rule} ({BY_ID[rule].title}) was {was!r}{where} and is {now!r}"
                if not target:
                    break  # what is lowered for all need not be said of each


def _said(policy: Policy, target: str, rule: str) -> str:
    from registry_tool.rules.catalog import BY_ID

    known = BY_ID[rule]
    unsaid = "off" if rule == STALE else known.severity
    level = policy.rules.get(rule, unsaid)
    return policy.targets[target].rules.get(rule, level) if target else level


def counted(findings: Iterable[Finding], levels: Levels) -> Iterator[Finding]:
    """``findings`` as they count; those that are switched off are left out."""
    if not levels:
        yield from findings
        return
    for finding in findings:
        level = _level(finding, levels)
        if level == "off":
            continue
        if level is not None and level != finding.severity:
            finding = finding._replace(severity="error" if level == "error" else "warning")
        yield finding


def _level(finding: Finding, levels: Levels) -> str | None:
    own = levels.get(target_of(finding, levels), {}).get(finding.rule)
    level = own if own is not None else levels.get("", {}).get(finding.rule)
    if level is None or level == "error":
        return level
    # Imported here: only a registry that lowers a rule needs to know them all.
    from registry_tool.rules.catalog import BY_ID

    rule = BY_ID.get(finding.rule)
    lowers = rule.lowers if rule is not None else "never"
    if lowers == "always" or (lowers == "warnings" and finding.severity == "warning"):
        return level
    return None


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
