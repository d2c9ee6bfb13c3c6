"""What the last check found, and of which state.

A state is a commit and what deviates from it, so that the next check can be told what differs
without a look at ten thousands of entries.
"""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from registry_tool import __version__
from registry_tool.store.cache import Cache
from registry_tool.store.git import Change

if TYPE_CHECKING:
    from registry_tool.store.snapshot import Snapshot

NAME = "check-state.json"
NAME_BY = "check-state-by.json"
"""What is remembered of a check by the policy of another state, apart from the hook's own."""
_PACKAGE = Path(__file__).resolve().parent.parent
_READ_BY_RULES = (
    "",
    "baseline",
    "kernels",
    "planning",
    "records",
    "rules",
    "signing",
    "store",
    "tables",
    "verifier",
)

FieldValues = list[Any]
"""A finding or a waiver, field by field."""


@dataclass
class State:
    """The state that was judged, and what was found.

    It is that of the commit ``anchor`` but for the ``deviations`` (see `snapshot.Deviations`).
    ``records`` counts the rows by ``target/kernel``. ``rows`` holds findings by row and ``waivers``
    the rows' waivers, ``paths`` findings about other files, ``pages`` those about what generated
    files show, ``change`` those about the change from ``base``; what has no findings is in none of
    them. ``summaries`` and ``unshown`` are what `pages.Shown` keeps. ``imported`` maps each row
    that stands on an import to its digests, and ``baseline`` each row that baseline.json names to
    the fields of its `EntryView`: None without such a file, ``baseline_unread`` if it is broken;
    ``owed`` are the rules whose findings such a row owes, and ``levels`` how registry.yaml makes
    findings count (see `severity.levels_of`).
    """

    tool: str
    anchor: str | None = None
    deviations: dict[str, tuple[str, str]] = field(default_factory=dict)
    base: str | None = None
    changes: int = 0
    records: dict[str, int] = field(default_factory=dict)
    rows: dict[str, list[FieldValues]] = field(default_factory=dict)
    waivers: dict[str, list[FieldValues]] = field(default_factory=dict)
    paths: dict[str, list[FieldValues]] = field(default_factory=dict)
    pages: dict[str, list[FieldValues]] = field(default_factory=dict)
    change: list[FieldValues] = field(default_factory=list)
    summaries: dict[str, dict[str, Any]] = field(default_factory=dict)
    unshown: list[str] = field(default_factory=list)
    imported: dict[str, list[str]] = field(default_factory=dict)
    baseline: dict[str, list[Any]] | None = None
    baseline_unread: bool = False
    owed: list[str] = field(default_factory=list)
    levels: dict[str, dict[str, str]] = field(default_factory=dict)


def name_of(prefix: str, name: str = NAME) -> str:
    """What the state of the registry in the folder ``prefix`` is called.

    A repository may hold several, with the same paths in each.
    """
    if not prefix:
        return name
    place = hashlib.sha256(os.fsencode(prefix)).hexdigest()[:16]
    return f"{name.removesuffix('.json')}-{place}.json"


def load(cache: Cache, tool: str, name: str = NAME) -> State | None:
    """The state that ``tool`` kept, or None if there is none that can be used."""
    fields = cache.load(name)
    if not isinstance(fields, dict) or fields.get("tool") != tool:
        return None
    try:
        state = State(**fields)
        state.deviations = {path: (was, now) for path, (was, now) in state.deviations.items()}
    except (TypeError, ValueError):
        return None
    return state


def save(cache: Cache, state: State, name: str = NAME) -> None:
    """Keep ``state`` for the next check."""
    cache.save(name, state.__dict__)


_BY = "/"


def measured_by(tool: str, by: Snapshot) -> str:
    """``tool`` where it measures rows by what ``by`` holds."""
    return f"{tool}{_BY}{zlib.crc32(os.fsencode(chr(0).join(by.lines))):08x}"


def tool_of(state: str) -> str:
    """The tool alone, whatever it measured by."""
    return state.partition(_BY)[0]


def deviations_of(changes: Sequence[Change]) -> dict[str, tuple[str, str]]:
    """The deviations of a state as it is kept."""
    return {change.path: (change.before, change.after) for change in changes}


def digest_of(changes: Sequence[Change]) -> int:
    """A number that stands for what differs from the base."""
    words = "\0".join(f"{c.path}\0{c.old_oid}{c.new_oid}" for c in changes)
    return zlib.crc32(os.fsencode(words))


def tool_signature() -> str:
    """What stands for everything of this tool that a judgement reads: version and files."""
    found = [__version__, sys.implementation.cache_tag or ""]
    for folder in _READ_BY_RULES:
        with os.scandir(_PACKAGE / folder) as entries:
            found += sorted(
                f"{entry.name}:{entry.stat().st_mtime_ns}:{entry.stat().st_size}"
                for entry in entries
                if entry.name.endswith((".py", ".yaml"))
            )
    return f"{zlib.crc32(' '.join(found).encode()):08x}"
