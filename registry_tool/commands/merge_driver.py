"""Merge one file of three versions; git calls it, where `registry-tool init --hooks` was run.

The result goes into OURS. Exit status 0: merged. 1: a conflict is left, as git leaves one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from registry_tool.commands.common import warn
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, UsageError
from registry_tool.store.files import write_atomic

if TYPE_CHECKING:
    from registry_tool.store.git import Repository


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What git hands to a merge driver: %O %A %B %L %P."""
    parser.add_argument("kind", choices=("record", "page"), help="what is merged")
    for name in ("base", "ours", "theirs"):
        parser.add_argument(name, metavar=name.upper(), help="a file with this version")
    parser.add_argument("marker_size", metavar="SIZE", type=int, help="length of conflict markers")
    parser.add_argument("path", metavar="PATH", help="where it stands below the top")


def run(args: argparse.Namespace) -> int:
    """Merge into the file of our version."""
    from registry_tool.store import git

    repository = git.open_any(Path.cwd())
    if repository is None:
        raise UsageError("not in a git repository", path=Path.cwd())
    base, ours, theirs = (Path(name).read_bytes() for name in (args.base, args.ours, args.theirs))
    merge = _record if args.kind == "record" else _page
    data, conflict = merge(repository, args, base, ours, theirs)
    # A kill leaves our version there, whole.
    write_atomic(Path(args.ours), data)
    return EXIT_FINDINGS if conflict else EXIT_OK


def _record(
    repository: Repository, args: argparse.Namespace, base: bytes, ours: bytes, theirs: bytes
) -> tuple[bytes, bool]:
    from registry_tool.merging import files
    from registry_tool.merging.rows import ConflictError
    from registry_tool.store import git

    type_ = files.kind_of(args.path)
    if type_ is None:
        return git.merge_texts(repository, base, ours, theirs, args.marker_size)
    try:
        return files.merged(type_, base or None, ours, theirs), False
    except ConflictError as error:
        warn(f"registry-tool: {args.path}: {error}")
        # Lines that do not touch may still make a row that nobody measured.
        return git.merge_texts(repository, base, ours, theirs, args.marker_size)[0], True


def _page(
    repository: Repository, args: argparse.Namespace, base: bytes, ours: bytes, theirs: bytes
) -> tuple[bytes, bool]:
    from registry_tool.gates import places
    from registry_tool.merging import pages
    from registry_tool.store import git

    registry = places.around(repository, args.path)
    if registry is None:
        return git.merge_texts(repository, base, ours, theirs, args.marker_size)
    inner = registry.inner(args.path)
    done = pages.merged(registry, inner, base, ours, theirs, args.marker_size)
    if done.outdated is not None:
        warn(
            f"registry-tool: {args.path}: its tables are ours until they are rendered "
            f"({done.outdated})\n  next: registry-tool render"
        )
    return done.data, done.conflict
