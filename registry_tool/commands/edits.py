"""Edits of the human-owned fields of a row: read, change, write, render, stage what changed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from registry_tool.commands.common import find_row, open_worktree, stage
from registry_tool.records import canonical
from registry_tool.records.keys import RowId
from registry_tool.records.record import Record
from registry_tool.store import registry as registries
from registry_tool.store import snapshot
from registry_tool.store.files import write_atomic
from registry_tool.store.registry import Registry


def edit(args: argparse.Namespace, change: Callable[[Record], Record]) -> RowId:
    """Apply ``change`` to the row that ``args.row`` names; tables follow, and all is staged."""
    registry = open_worktree(args)
    row = find_row(registry, args.row)
    record = registry.records[row]
    changed = change(record)
    if changed != record:
        path = registry.record_paths[row]
        write_atomic(registry.root / path, canonical.encode(changed))
        stage(registry, [path, *refresh(registry)])
    return row


def refresh(registry: Registry) -> list[str]:
    """Render what the records on disk now say; the paths that were written."""
    from registry_tool.tables.render import render

    now = registries.load(snapshot.of_worktree(registry.root))
    rendered = render(now, contents(now))
    for path, data in rendered.items():
        write_atomic(registry.root / path, data)
    return list(rendered)


def contents(registry: Registry) -> Mapping[str, bytes]:
    """Path to bytes of everything in the registry that rendering may look at."""
    paths = [
        path
        for path in registry.snapshot.oids
        if not path.startswith(("records/", "verdicts/", "models/"))
    ]
    return registry.snapshot.read_many(paths)
