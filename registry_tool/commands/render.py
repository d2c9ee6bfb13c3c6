"""Write the tables, JSON files, shim and schemas from the records; text around tables stays.

A region that was edited by hand is refused. `--check` writes nothing and exits 1 if something is
out of date.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from registry_tool.commands.common import open_worktree, say, stage
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `render`."""
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if something is out of date"
    )
    parser.add_argument(
        "--force", action="store_true", help="overwrite what was edited by hand inside regions"
    )
    parser.add_argument("--no-stage", action="store_true", help="do not stage what was written")


def run(args: argparse.Namespace) -> int:
    """Render, read back, write, stage."""
    from registry_tool.store.files import write_atomic
    from registry_tool.tables.readback import require_reads_back
    from registry_tool.tables.render import pages, refuse_edited, stale

    registry = open_worktree(args)
    generated = pages(registry, registry.records)
    existing = on_disk(registry.root, generated)
    if not args.force:
        refuse_edited(generated, existing)
    changed = stale(generated, existing)
    if args.check:
        for path in changed:
            say(f"{path} is out of date")
        if changed:
            say("next: registry-tool render")
        return EXIT_FINDINGS if changed else EXIT_OK
    if any(path.endswith(".md") for path in changed):
        require_reads_back(registry, changed)
    for path, data in changed.items():
        write_atomic(registry.root / path, data)
        if not args.quiet:
            say(f"wrote {path}")
    if changed and not args.no_stage:
        stage(registry, changed)
    if not changed and not args.quiet:
        say("everything is up to date")
    return EXIT_OK


def on_disk(root: Path, paths: Iterable[str]) -> dict[str, bytes]:
    """Path to bytes of those of ``paths`` that exist."""
    # Not through git: a checkout with other line ends holds other bytes than the index.
    return {path: (root / path).read_bytes() for path in paths if (root / path).is_file()}
