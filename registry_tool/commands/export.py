"""Write the rows in a form that others read: JSON Lines, CSV, or tuned-configuration JSON.

jsonl and csv hold every row with its status; moe holds only rows with a passing verdict, of kernels
that have a GEMM's tile. What comes from an emulated target says so in each row and file name.
Without --out a single file goes to standard output.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from registry_tool.commands.common import open_worktree, say, say_json, warn
from registry_tool.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from registry_tool.export.model import File, Source
    from registry_tool.store.registry import Registry

FORMATS = ("text", "json")
FORMS = ("jsonl", "csv", "moe")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `export`."""
    parser.add_argument("--form", choices=FORMS, required=True, help="which form to write")
    parser.add_argument("--kernel", metavar="NAME", help="only this kernel page")
    parser.add_argument("--target", metavar="NAME", help="only this device kind (default: all)")
    parser.add_argument("--out", metavar="DIR", help="write the files into this folder")


def run(args: argparse.Namespace) -> int:
    """Write the files; raises UsageError for a kernel that does not fit the form."""
    from registry_tool.export import jsonl, spreadsheet, tuned

    registry = open_worktree(args)
    source = _source(registry, args.kernel, args.target)
    if args.form == "moe":
        _explain_left_out(source, args.kernel, args.quiet)
    make = {"jsonl": jsonl.files, "csv": spreadsheet.files, "moe": tuned.files}[args.form]
    files = make(source)
    if not files:
        raise UsageError(
            "there is nothing to export: no such row"
            + (" has a passing verdict of its own" if args.form == "moe" else " is here"),
            fix="registry-tool status",
        )
    if args.out is None:
        return _to_output(files, args.format)
    _write(Path(args.out), files, args.form)
    if args.format == "json":
        say_json({"files": [{"path": file.path, "rows": file.rows} for file in files]})
    elif not args.quiet:
        for file in files:
            say(f"wrote {Path(args.out) / file.path} ({file.rows} rows)")
    return EXIT_OK


def _source(registry: Registry, kernel: str | None, target: str | None) -> Source:
    from registry_tool.export.model import Source
    from registry_tool.planning.plan import backed_rows

    if kernel is not None:
        registry.spec(kernel)
    if target is not None:
        registry.target(target)
    records = {
        row: record
        for row, record in sorted(registry.records.items(), key=lambda pair: str(pair[0]))
        if kernel in (None, row.kernel) and target in (None, row.target)
    }
    backed = {row for name in registry.policy.targets for row in backed_rows(registry, name)}
    kinds = {name: one.kind for name, one in registry.policy.targets.items()}
    return Source(records, frozenset(backed & records.keys()), registry.specs, kinds)


def _explain_left_out(source: Source, kernel: str | None, quiet: bool) -> None:
    """Say which kernels do not fit; raises UsageError if one was asked for by name."""
    from registry_tool.export import tuned

    for name in [kernel] if kernel else sorted({row.kernel for row in source.records}):
        reason = tuned.misfit(source.specs[name])
        if reason is not None and kernel:
            raise UsageError(
                f"{name} cannot be written in the form `moe`: {reason}",
                fix=f"registry-tool export --form csv --kernel {name}",
            )
        if reason is not None and not quiet:
            warn(f"left out: {name}: {reason}")
    fitting = {row for row in source.records if tuned.misfit(source.specs[row.kernel]) is None}
    unproved = sorted(map(str, fitting - tuned.tunable(source).keys()))
    if unproved and not quiet:
        warn(
            f"left out: {len(unproved)} rows that no passing run of their own proves: "
            + ", ".join(unproved[:3])
            + (", ..." if len(unproved) > 3 else "")
        )


def _to_output(files: list[File], form: str) -> int:
    if len(files) > 1:
        names = ", ".join(file.path for file in files[:3])
        raise UsageError(
            f"these are {len(files)} files ({names}{', ...' if len(files) > 3 else ''})",
            fix="add --out DIR, or narrow it to one with --kernel and --target",
        )
    if form == "json":
        raise UsageError("--format json lists the files that --out wrote", fix="add --out DIR")
    # Line ends are part of the form, so no text layer may change them.
    sys.stdout.flush()
    sys.stdout.buffer.write(files[0].data)
    sys.stdout.buffer.flush()
    return EXIT_OK


def _write(folder: Path, files: list[File], form: str) -> None:
    from registry_tool.store.files import write_if_changed

    for file in files:
        write_if_changed(folder / file.path, file.data)
    suffix = {"jsonl": "*.jsonl", "csv": "*.csv", "moe": "*/N=*.json"}[form]
    written = {folder / file.path for file in files}
    for path in sorted(set(folder.glob(suffix)) - written):
        warn(f"{path} is not part of this export: remove it if nobody else wrote it")
