"""Judge the work tree, the index or a revision of a registry by the rules.

Exit status 0: nothing is wrong (warnings may be). 1: a finding refuses the state. 2: the registry
or the revision cannot be read at all.
"""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

from registry_tool.commands.common import find, say
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK
from registry_tool.report import FORMATS as REPORTERS
from registry_tool.report.place import way_to
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
    root = find(args)
    report = check(_state(args, root))
    if not args.quiet or report.findings or args.format != "text":
        say(REPORTERS[args.format](report, way_to(root, args.format)))
    return EXIT_FINDINGS if report.blocking else EXIT_OK


def _state(args: argparse.Namespace, root: Path) -> Snapshot:
    if args.staged:
        return snapshot.of_index(root)
    if args.ref is not None:
        return snapshot.of_revision(root, args.ref)
    return snapshot.of_worktree(root)
