"""What moved between the run of a verdict and what would run today; no file is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from registry_tool.records.verdict import Fact, Verdict

_NAMED = 3
"""Files that are named one by one."""
_DIGITS = 12


@dataclass(frozen=True)
class Current:
    """What would run today: SHA-256 of each source by name, and the known toolchain.

    ``since`` says where that was learned; nothing in ``sources`` means that nobody knows.
    """

    since: str
    sources: Mapping[str, str] = field(default_factory=dict)
    toolchain: Mapping[str, Fact] = field(default_factory=dict)


def moved(verdict: Verdict, current: Current) -> list[str]:
    """Why ``verdict`` is stale, a reason a line; empty if it is not, or if nobody can tell.

    A verdict that remembers no sources cannot be told stale by them, and a part of the toolchain
    counts only where both sides know it.
    """
    return [*_sources(verdict, current), *_toolchain(verdict, current)]


def _sources(verdict: Verdict, current: Current) -> Iterator[str]:
    before, now = verdict.sources, current.sources
    if not before or not now:
        return
    changed = [name for name, digest in before.items() if now.get(name, digest) != digest]
    gone = [name for name in before if name not in now]
    new = [name for name in now if name not in before]
    for what, names in (("changed", changed), ("gone", gone), ("new", new)):
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            yield f"{what} since: {', '.join(names[:_NAMED])}{more} ({current.since})"


def _toolchain(verdict: Verdict, current: Current) -> Iterator[str]:
    for name, fact in verdict.environment.toolchain.items():
        now = current.toolchain.get(name)
        if now is None or now.value is None or fact.value is None or now.value == fact.value:
            continue
        yield f"{name} was {_short(fact.value)}, is {_short(now.value)} ({current.since})"


def _short(value: str) -> str:
    """A commit is told by its first digits; anything else is shown whole."""
    is_commit = len(value) == 40 and all(digit in "0123456789abcdef" for digit in value)
    return value[:_DIGITS] if is_commit else value
