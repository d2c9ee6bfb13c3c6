"""Say what changed in the registry between two commits, row by row, and what is wrong with it.

BASE..HEAD compares two commits, BASE...HEAD the place where HEAD left BASE with HEAD, and a single
revision its first parent with it. Without one it is your own work: from where HEAD left its
upstream (or the main branch).

Exit status 0: nothing blocks. 1: a finding refuses the later state. 2: a revision is unknown, or
lies beyond the end of a shallow clone.
"""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

from registry_tool.commands.common import find, say
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, UsageError
from registry_tool.report import REVIEWS
from registry_tool.report.place import way_to
from registry_tool.review import make, span
from registry_tool.review.model import Review
from registry_tool.store import git
from registry_tool.store.files import write_atomic

FORMATS = tuple(REVIEWS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which states to compare, and where else to write the result."""
    parser.add_argument(
        "revisions", nargs="?", metavar="BASE..HEAD", help="commits to compare (default: your work)"
    )
    state = parser.add_mutually_exclusive_group()
    state.add_argument(
        "--staged", action="store_true", help="compare HEAD with what `git commit` would take"
    )
    state.add_argument(
        "--worktree", action="store_true", help="compare HEAD with the files on disk"
    )
    parser.add_argument(
        "--write",
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help=f"also write the review to a file, as {', '.join(FORMATS)}; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Print the review; 1 if a finding refuses the later state."""
    # What a review makes it keeps until it ends.
    gc.disable()
    files = [_file(text) for text in args.write]
    root = find(args)
    review = _review(args, root)
    for format_, path in files:
        text = REVIEWS[format_](review, way_to(root, format_))
        write_atomic(path, f"{text}\n".encode())
    if not args.quiet or review.blocking or args.format != "text":
        say(REVIEWS[args.format](review, way_to(root, args.format)))
    return EXIT_FINDINGS if review.blocking else EXIT_OK


def _file(text: str) -> tuple[str, Path]:
    format_, _, name = text.partition("=")
    if format_ not in REVIEWS or not name:
        raise UsageError(
            f"--write takes FORMAT=FILE with one of {', '.join(FORMATS)}, found {text!r}",
            fix="registry-tool review --write md=review.md",
        )
    if Path(name).is_dir():
        raise UsageError(
            f"--write takes a file, and {name} is a folder",
            fix=f"registry-tool review --write {format_}={name.rstrip('/')}/review.{format_}",
        )
    return format_, Path(name)


def _review(args: argparse.Namespace, root: Path) -> Review:
    repository = git.require_repository(root)
    if args.staged or args.worktree:
        if args.revisions is not None:
            raise UsageError(
                "--staged and --worktree are compared with HEAD, not with another revision",
                fix=f"registry-tool review {args.revisions}",
            )
        return make.of_index(root) if args.staged else make.of_worktree(root)
    return make.of_span(root, span.resolve(repository, args.revisions))
