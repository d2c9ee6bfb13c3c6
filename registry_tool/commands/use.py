"""Credit a row to a model's call site (or take the credit away); the change is staged."""

from __future__ import annotations

import argparse

from registry_tool.commands.common import parse_line, say
from registry_tool.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `use`."""
    parser.add_argument("row", metavar="ROW", help="path, target/kernel/key, or its unique end")
    parser.add_argument("model", metavar="MODEL", help="name of the model")
    parser.add_argument("site", metavar="SITE", help="call site in it, e.g. 'prefill Q proj'")
    parser.add_argument("--remove", action="store_true", help="take this credit away instead")


def run(args: argparse.Namespace) -> int:
    """Write the record; raises UsageError for words that cannot stand in it."""
    from msgspec.structs import replace

    from registry_tool.commands.edits import edit
    from registry_tool.records.record import Record, Use

    model, site = parse_line(args.model, "MODEL"), parse_line(args.site, "SITE")
    use = Use(model=model, site=site)

    def change(record: Record) -> Record:
        if args.remove:
            if use not in record.used_by:
                raise UsageError(f"the row is not credited to {model}: {site}")
            return replace(record, used_by=[one for one in record.used_by if one != use])
        return replace(
            record, used_by=record.used_by if use in record.used_by else [*record.used_by, use]
        )

    row = edit(args, change)
    say(f"{row}: {'no longer used' if args.remove else 'used'} by {model}: {site}")
    return 0
