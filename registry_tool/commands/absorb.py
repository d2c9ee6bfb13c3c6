"""Carry what was edited by hand inside generated tables back into the rows.

A changed cell of Used by or Notes goes into its record. A changed figure is refused: only a run
changes it. An added row is printed as the command that verifies it, and leaves the table. A deleted
row is refused unless --retire says that it is meant. Everything is taken over, or nothing is; a
merge's result is read the same way, once its conflict markers are resolved.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from registry_tool.commands.common import open_worktree, say, say_json, warn
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, UsageError

if TYPE_CHECKING:
    from registry_tool.absorb.model import Edit, Outcome, Planned, Refusal
    from registry_tool.store.registry import Registry

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `absorb`."""
    parser.add_argument(
        "pages", nargs="*", metavar="PAGE", help="only these pages (default: every edited one)"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be done, write nothing"
    )
    parser.add_argument(
        "--retire", action="store_true", help="retire the rows whose lines were deleted"
    )
    parser.add_argument(
        "--plan", metavar="FILE", help="keep the commands that verify added rows in this file too"
    )
    parser.add_argument("--no-stage", action="store_true", help="do not stage what was written")


def run(args: argparse.Namespace) -> int:
    """Absorb; exit 1 if something is refused, and then nothing is written."""
    from registry_tool.absorb import apply
    from registry_tool.commands.render import on_disk
    from registry_tool.commands.staging import stage_with_pages
    from registry_tool.tables.render import pages

    registry = open_worktree(args)
    existing = on_disk(registry.root, pages(registry, registry.records))
    wanted = [_page(registry, text) for text in args.pages]
    outcome = apply.absorb(registry, existing, wanted, args.retire)
    files = {} if outcome.refusals else apply.changes(registry, existing, outcome)
    if files and not args.dry_run:
        if args.plan:
            _keep(Path(args.plan), outcome.planned)
        apply.write(registry.root, files)
        if not args.no_stage:
            stage_with_pages(registry.root, files)
    if args.format == "json":
        say_json(_as_json(outcome, sorted(files), args.dry_run))
    else:
        _print(outcome, sorted(files), args)
    return EXIT_FINDINGS if outcome.refusals else EXIT_OK


def _page(registry: Registry, text: str) -> str:
    """A page's path in the registry, from one that is relative to here or to it."""
    here = Path(text).resolve()
    if here.is_file() and here.is_relative_to(registry.root):
        return here.relative_to(registry.root).as_posix()
    if (registry.root / text).is_file():
        return Path(text).as_posix()
    raise UsageError(f"no page is called {text!r}", fix="registry-tool absorb, without a page")


def _keep(path: Path, planned: list[Planned]) -> None:
    """Add to a file, which a shell can run, the commands that it does not hold yet."""
    from registry_tool.store.files import write_atomic

    try:
        text = path.read_text("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--plan: {path} cannot be read: {error}") from None
    if text and not text.endswith("\n"):
        text += "\n"
    held = set(text.split("\n"))
    for one in planned:
        if one.command not in held:
            text += "".join(f"{line}\n" for line in _plan_lines(one))
    if planned:
        write_atomic(path, text.encode())


def _plan_lines(one: Planned) -> list[str]:
    return [f"# {one.place}: {one.row}", one.command, *one.afterwards]


def _print(outcome: Outcome, files: list[str], args: argparse.Namespace) -> None:
    for refusal in outcome.refusals:
        for line in _refusal_lines(refusal):
            say(line)
    if outcome.refusals:
        say(f"{len(outcome.refusals)} refused; nothing was written")
        return
    would = "would be " if args.dry_run else ""
    if not args.quiet:
        for edit in outcome.edits:
            _print_edit(edit)
            for remark in edit.remarks:
                warn(f"{edit.place}: {remark}")
        for path, row in outcome.echoed:
            say(f"{path}: {row}: {would}worded the same, for it said the same before")
        for place, row in outcome.deleted:
            say(f"{place}: {row}: {would}retired; its verdicts stay in {row.verdict_folder}")
        for place, shown in outcome.gone:
            say(f"{place}: {shown}: {would}left out; its row is gone")
        for row in outcome.unshown:
            say(f"{row}: {would}shown; the page was older than the row")
    for one in outcome.planned:
        figures = ", ".join(f"{title} {text}" for title, text in one.dropped.items())
        said = f"; not kept, for no run proves it: {figures}" if figures else ""
        say(f"{one.place}: {one.row}: {would}taken out of the table until it is verified{said}")
        for command in [one.command, *one.afterwards]:
            say(f"  {command}")
    if not files:
        say("nothing was edited by hand")
    elif not args.quiet:
        for path in files:
            say(f"{'would write' if args.dry_run else 'wrote'} {path}")


def _print_edit(edit: Edit) -> None:
    where, change = f"{edit.place}: {edit.row}: {edit.column}", f"{edit.before!r} -> {edit.after!r}"
    if edit.rows:
        say(f"{where}: {change}")
        return
    say(f"{where}: only on this page: {change}; no record holds these words")
    say(
        "  registry-tool use ROW MODEL SITE or registry-tool note ROW TEXT puts words into a record"
    )


def _refusal_lines(refusal: Refusal) -> list[str]:
    where = f"{refusal.place}: {refusal.row}"
    if refusal.column is None:
        return [f"{where}: {refusal.message}", f"  next: {refusal.fix}"]
    return [
        f"{where}: {refusal.column}: was {refusal.before!r}, says {refusal.after!r}: "
        f"{refusal.message}",
        f"  next: {refusal.fix}",
    ]


def _as_json(outcome: Outcome, files: list[str], dry_run: bool) -> dict[str, Any]:
    done = not outcome.refusals
    return {
        "dry_run": dry_run,
        "pages": outcome.pages,
        "changed": [_edit(one) for one in outcome.edits] if done else [],
        "worded_the_same": [str(row) for _, row in outcome.echoed] if done else [],
        "planned": [_planned(one) for one in outcome.planned] if done else [],
        "retired": [str(row) for _, row in outcome.deleted] if done else [],
        "left_out": [shown for _, shown in outcome.gone] if done else [],
        "shown_again": [str(row) for row in outcome.unshown] if done else [],
        "refused": [_refusal(one) for one in outcome.refusals],
        "files": files,
    }


def _edit(one: Edit) -> dict[str, Any]:
    return {
        "path": one.place.path,
        "line": one.place.line,
        "row": one.row,
        "column": one.column,
        "before": one.before,
        "after": one.after,
        "only_on_this_page": not one.rows,
        "remarks": list(one.remarks),
    }


def _planned(one: Planned) -> dict[str, Any]:
    return {
        "path": one.place.path,
        "line": one.place.line,
        "row": str(one.row),
        "shape": dict(one.shape),
        "variant": one.variant,
        "tile": dict(one.tile) if one.tile else None,
        "herd": list(one.herd) if one.herd else None,
        "dropped": dict(one.dropped),
        "command": one.command,
        "afterwards": one.afterwards,
    }


def _refusal(one: Refusal) -> dict[str, Any]:
    return {
        "path": one.place.path,
        "line": one.place.line,
        "row": one.row,
        "column": one.column,
        "before": one.before,
        "after": one.after,
        "message": one.message,
        "fix": one.fix,
    }
