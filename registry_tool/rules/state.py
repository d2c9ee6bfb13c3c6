"""What the last check found, kept beside the entries that it looked at.

The next check looks only at entries that are not the same.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from registry_tool import __version__
from registry_tool.store.cache import Cache
from registry_tool.store.git import Change

NAME = "check-state"
_PACKAGE = Path(__file__).resolve().parent.parent
_READ_BY_RULES = ("", "kernels", "planning", "records", "rules", "store", "tables", "verifier")

FindingFields = list[Any]


@dataclass
class State:
    """The entries that were judged, and what was found.

    ``records`` counts the rows by ``target/kernel``. ``rows`` holds findings by row and ``waivers``
    the rows' waivers, ``paths`` findings about other files, ``pages`` those about what generated
    files show, ``change`` those about the change from ``base``; what has no findings is in none of
    them. ``summaries`` and ``unshown`` are what `pages.Shown` keeps.
    """

    tool: str
    lines: Sequence[str] = ()
    base: str | None = None
    changes: int = 0
    records: dict[str, int] = field(default_factory=dict)
    rows: dict[str, list[FindingFields]] = field(default_factory=dict)
    waivers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    paths: dict[str, list[FindingFields]] = field(default_factory=dict)
    pages: dict[str, list[FindingFields]] = field(default_factory=dict)
    change: list[FindingFields] = field(default_factory=list)
    summaries: dict[str, dict[str, Any]] = field(default_factory=dict)
    unshown: list[str] = field(default_factory=list)


def load(cache: Cache, tool: str) -> State | None:
    """The state that ``tool`` kept, or None if there is none that can be used."""
    data = cache.load_bytes(NAME)
    if data is None:
        return None
    first, _, lines = data.partition(b"\n")
    try:
        fields = json.loads(first)
        if fields["tool"] != tool:
            return None
        return State(**fields, lines=os.fsdecode(lines).split("\0") if lines else [])
    except (ValueError, KeyError, TypeError):
        return None


def save(cache: Cache, state: State) -> None:
    """Keep ``state`` for the next check."""
    fields = {name: value for name, value in state.__dict__.items() if name != "lines"}
    first = json.dumps(fields, separators=(",", ":")).encode()
    cache.save_bytes(NAME, first + b"\n" + os.fsencode("\0".join(state.lines)))


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
