"""What follows from runs that replaced imported rows: the baseline shrinks, waivers of theirs go.

The baseline is written after the records: an interruption leaves an entry too many, which the next
`verify` removes, and never one too few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from registry_tool.baseline import digests, read
from registry_tool.baseline.make import encode
from registry_tool.records import canonical
from registry_tool.records.baseline import PATH
from registry_tool.store import registry as registries
from registry_tool.store import snapshot
from registry_tool.store.files import write_atomic, write_if_changed
from registry_tool.store.registry import Registry


class Settled(NamedTuple):
    """What was written, how many rows left the baseline, and how many it still names."""

    written: list[str]
    removed: int = 0
    left: int = 0


def settle(before: Registry, is_of_import: Callable[[str], bool]) -> Settled:
    """Bring the baseline below the root of ``before`` in line with the records on disk now.

    ``before`` is the registry as it was when the runs began; ``is_of_import`` tells the rules that
    only an imported row may waive. Raises InputError if a file is broken.
    """
    baseline = read.on_disk(before.root)
    if baseline is None:
        return Settled([])
    now = registries.load(snapshot.of_worktree(before.root))
    written = list(_without_moot_waivers(before, now, is_of_import))
    gone = set(read.stale(now, baseline))
    left = [entry for entry in baseline.rows if entry.row not in gone]
    if gone:
        write_if_changed(before.root / PATH, encode(left))
    # Named even if nothing changed: a run that was killed may have written it without staging.
    return Settled([*written, PATH], len(gone), len(left))


def _without_moot_waivers(
    before: Registry, now: Registry, is_of_import: Callable[[str], bool]
) -> Iterator[str]:
    """The records that a run replaced, and that still waive what only an import may waive."""
    root: Path = now.root
    for row, record in now.records.items():
        old = before.records.get(row)
        if old is None or not digests.is_debt(old) or digests.is_debt(record):
            continue
        kept = [one for one in record.waivers if not is_of_import(one.rule)]
        if len(kept) < len(record.waivers):
            path = now.record_paths[row]
            write_atomic(root / path, canonical.encode(replace(record, waivers=kept)))
            yield path
