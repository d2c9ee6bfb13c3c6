"""What the levels of registry.yaml make of findings, and what a change of them lets through.

What no row may waive cannot be lowered: an entry for such a rule has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from registry_tool.rules.finding import Finding
from registry_tool.rules.severity import STALE, Levels, entries, target_of

if TYPE_CHECKING:
    from registry_tool.records.spec import Policy

_LEVELS = ("off", "warning", "error")


def lowered(before: Policy, after: Policy) -> Iterator[str]:
    """What ``after`` lets through that ``before`` did not, in words; unasked rules are off."""
    # Imported here, and below: only a registry that changes levels needs to know all rules.
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
    from registry_tool.rules.catalog import BY_ID

    rule = BY_ID.get(finding.rule)
    lowers = rule.lowers if rule is not None else "never"
    if lowers == "always" or (lowers == "warnings" and finding.severity == "warning"):
        return level
    return None
