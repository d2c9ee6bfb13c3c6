"""Edits of the human-owned fields of a row: read, change, write, render, stage what changed."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

from registry_tool.absorb.apply import write
from registry_tool.absorb.overlay import overlay
from registry_tool.commands.common import find_row, open_worktree
from registry_tool.commands.render import on_disk
from registry_tool.commands.staging import stage_with_pages
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
    changed = change(registry.records[row])
    if changed != registry.records[row]:
        put(registry, {registry.record_paths[row]: canonical.encode(changed)})
    return row


def put(registry: Registry, records: Mapping[str, bytes | None]) -> None:
    """Write records (None: remove), with every page that shows them, and stage it all.

    All of it or nothing: pages are made before anything is written. Raises TableError for a
    hand-edited region, for tables that do not read back, and for a page that could not be made.
    """
    from registry_tool.tables.readback import require_reads_back
    from registry_tool.tables.render import pages, stale

    require_renderable(registry)
    now = dataclasses.replace(registry, snapshot=overlay(registry.snapshot, records))
    generated = pages(now, now.records)
    existing = on_disk(registry.root, generated)
    changed = stale(generated, existing)
    require_reads_back(now, changed)
    write(registry.root, {**records, **changed})
    stage_with_pages(registry.root, [*records, *changed])


def require_renderable(registry: Registry) -> None:
    """Raise TableError for a page that could not be rendered, before anything is written."""
    from registry_tool.tables.render import pages, refuse_edited

    generated = pages(registry, registry.records)
    existing = on_disk(registry.root, generated)
    refuse_edited(generated, existing)
    for path, page in generated.items():
        page.on(existing.get(path), path)


def refresh(root: Path) -> list[str]:
    """Render what the records on disk now say; the paths that were written.

    Raises TableError for a hand-edited region, or for tables that do not read back.
    """
    from registry_tool.tables.readback import require_reads_back
    from registry_tool.tables.render import pages, refuse_edited, stale

    now = registries.load(snapshot.of_worktree(root))
    generated = pages(now, now.records)
    existing = on_disk(root, generated)
    refuse_edited(generated, existing)
    changed = stale(generated, existing)
    require_reads_back(now, changed)
    for path, data in changed.items():
        write_atomic(root / path, data)
    return list(changed)
