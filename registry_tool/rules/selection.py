"""Which rules are asked for on a command line: prefixes of their ids, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from registry_tool.errors import UsageError
from registry_tool.rules.finding import Finding
from registry_tool.rules.model import Report

_COMMIT = "KR602"


class Selection(NamedTuple):
    """Prefixes of the ids of rules; without ``select``, all are selected."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def wants(self, rule: str) -> bool:
        """Whether findings of ``rule`` are asked for."""
        return (not self.select or rule.startswith(self.select)) and not (
            bool(self.ignore) and rule.startswith(self.ignore)
        )

    def in_commits(self, rule: str) -> bool:
        """Whether commits that fail by ``rule`` are asked for, by its own id or as KR602."""
        if self.ignore and _COMMIT.startswith(self.ignore):
            return False
        return self.wants(rule) or (
            bool(self.select)
            and _COMMIT.startswith(self.select)
            and not (bool(self.ignore) and rule.startswith(self.ignore))
        )

    def of(self, report: Report) -> Report:
        """``report`` with nothing but what is asked for."""
        if not self.select and not self.ignore:
            return report
        kept: list[Finding] = [one for one in report.findings if self.wants(one.rule)]
        return report._replace(findings=tuple(kept))


def parse(select: Iterable[str], ignore: Iterable[str]) -> Selection:
    """The selection that the words after --select and --ignore say, each with commas or without.

    Raises UsageError for a prefix that no rule has.
    """
    return Selection(_prefixes(select, "--select"), _prefixes(ignore, "--ignore"))


def _prefixes(words: Iterable[str], option: str) -> tuple[str, ...]:
    parts = [part.strip() for word in words for part in word.split(",")]
    if not parts:
        return ()
    # Imported here: a hook selects nothing.
    from registry_tool.rules.catalog import FAMILIES, RULES

    found = []
    for part in parts:
        prefix = normal(part)
        if not prefix or not any(rule.id.startswith(prefix) for rule in RULES):
            families = ", ".join(f"{name} ({what})" for name, what in FAMILIES.items())
            raise UsageError(
                f"{option} {part!r}: no rule is called so; known are {families}, and rules from "
                f"{RULES[0].id} to {RULES[-1].id}",
                fix="registry-tool explain   # lists them",
            )
        found.append(prefix)
    return tuple(found)


def normal(text: str) -> str:
    """``kr1``, ``1`` and ``KR1`` as the rules' ids are written."""
    wanted = text.upper()
    return f"KR{wanted}" if wanted.isdigit() else wanted
