"""Add a remark to a row (or take one away); the tables follow and the change is staged."""

from __future__ import annotations

import argparse

from registry_tool.commands.common import parse_line, say
from registry_tool.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `note`."""
    parser.add_argument("row", metavar="ROW", help="path, target/kernel/key, or its unique end")
    parser.add_argument("text", metavar="TEXT", help="the remark, on one line")
    parser.add_argument("--remove", action="store_true", help="take the remark TEXT away instead")


def run(args: argparse.Namespace) -> int:
    """Write the record; raises UsageError for an empty or repeated remark."""
    from msgspec.structs import replace

    from registry_tool.commands.edits import edit
    from registry_tool.planning.search import COMPUTED
    from registry_tool.records.record import Record

    text = parse_line(args.text, "a remark")
    if text.startswith(COMPUTED):
        raise UsageError(f"{COMPUTED!r} is how the tool marks its own remarks; word it otherwise")

    def change(record: Record) -> Record:
        if args.remove:
            if text not in record.notes:
                raise UsageError("the row has no such remark: " + text)
            return replace(record, notes=[note for note in record.notes if note != text])
        return replace(
            record, notes=[*record.notes, text] if text not in record.notes else record.notes
        )

    row = edit(args, change)
    say(f"{row}: {'removed' if args.remove else 'noted'}: {text}")
    return 0
