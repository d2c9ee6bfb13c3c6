"""Judge the work tree, the index or a revision of a registry by the rules.

Exit status 0: nothing is wrong (warnings may be). 1: a finding refuses the state. 2: the registry
or the revision cannot be read at all.
"""

from __future__ import annotations

import argparse
import gc
import os
from pathlib import Path

from registry_tool.commands.common import find, say
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, ToolError
from registry_tool.report import FORMATS as REPORTERS
from registry_tool.rules.engine import check
from registry_tool.store import snapshot
from registry_tool.store.snapshot import Snapshot

FORMATS = tuple(REPORTERS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which state to judge."""
    state = parser.add_mutually_exclusive_group()
    state.add_argument(
        "--staged", action="store_true", help="what `git commit` would take (for hooks)"
    )
    state.add_argument("--ref", metavar="REV", help="the registry as it stands in a commit")


def run(args: argparse.Namespace) -> int:
    """Print the findings; 1 if one of them refuses the state."""
    # What a check makes it keeps until it ends: looking for garbage takes a tenth of its time.
    gc.disable()
    state = _state(args)
    root = state.root
    report = check(state)
    if not args.quiet or report.findings or args.format != "text":
        say(REPORTERS[args.format](report, _way(root)))
    return EXIT_FINDINGS if report.blocking else EXIT_OK


def _state(args: argparse.Namespace) -> Snapshot:
    if not args.staged and args.ref is None:
        return snapshot.of_worktree(find(args))
    try:
        root = find(args)
    except ToolError:
        return _state_without_files(args)
    return snapshot.of_index(root) if args.staged else snapshot.of_revision(root, args.ref)


def _state_without_files(args: argparse.Namespace) -> Snapshot:
    """A registry that git holds and the disk does not: bare or sparse, or removed from it."""
    from registry_tool.gates import places
    from registry_tool.store import git

    registry = places.named(args.registry, args.ref)
    root = registry.top / registry.prefix
    if args.staged:
        return snapshot.index_of(registry, root)
    commit = git.resolve(registry, args.ref)
    return snapshot.revision_of(registry, root, commit, git.first_parent(registry, commit))


def _way(root: Path) -> str:
    """The way from the working folder to the registry, to be put before its paths."""
    way = os.path.relpath(root)
    return "" if way == "." else f"{way}/"
