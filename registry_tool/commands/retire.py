"""Remove a row from the registry; its verdicts stay, and git keeps its history."""

from __future__ import annotations

import argparse

from registry_tool.commands.common import find_row, open_worktree, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `retire`."""
    parser.add_argument("row", metavar="ROW", help="path, target/kernel/key, or its unique end")


def run(args: argparse.Namespace) -> int:
    """Remove the record, render the tables, stage both."""
    from registry_tool.commands.edits import put

    registry = open_worktree(args)
    row = find_row(registry, args.row)
    put(registry, {registry.record_paths[row]: None})
    say(f"retired {row}; its verdicts stay in {row.verdict_folder}")
    return 0
