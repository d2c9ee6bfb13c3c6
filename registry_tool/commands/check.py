"""Judge the work tree, the index, a revision or a range of a registry by the rules.

registry-tool check --staged
registry-tool check --ref HEAD --base origin/main --select KR1,KR402
registry-tool check --range origin/main..HEAD

Exit status 0: nothing is wrong (warnings may be). 1: a finding refuses the state. 2: the registry
or the revision cannot be read at all.
"""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

from registry_tool.commands import beyond
from registry_tool.commands.common import find, say
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, ToolError, UsageError
from registry_tool.report import FORMATS as REPORTERS
from registry_tool.report.place import way_to
from registry_tool.rules import selection
from registry_tool.rules.engine import check
from registry_tool.rules.model import Report
from registry_tool.rules.selection import Selection
from registry_tool.store import snapshot
from registry_tool.store.snapshot import Snapshot

FORMATS = tuple(REPORTERS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which state to judge, and by which rules."""
    state = parser.add_mutually_exclusive_group()
    state.add_argument(
        "--staged", action="store_true", help="what `git commit` would take (for hooks)"
    )
    state.add_argument("--ref", metavar="REV", help="the registry as it stands in a commit")
    parser.add_argument(
        "--recompute",
        nargs="?",
        const="changed",
        choices=("changed", "all"),
        help="run the emulated verdicts of the changed rows (or all) again and compare; derive of "
        "hardware verdicts what a CPU can",
    )
    state.add_argument(
        "--range",
        metavar="BASE..HEAD",
        help="every commit of a range that touches the registry, each against its parents",
    )
    parser.add_argument(
        "--base", metavar="REV", help="with --ref: what it is compared with (its first parent)"
    )
    parser.add_argument(
        "--policy-of",
        metavar="REV",
        help="measure rows by registry.yaml and kernels/ of another commit, e.g. the base's",
    )
    parser.add_argument(
        "--select",
        metavar="PREFIX",
        action="append",
        default=[],
        help="only these rules, e.g. KR1 or KR105,KR2; may be repeated",
    )
    parser.add_argument(
        "--ignore",
        metavar="PREFIX",
        action="append",
        default=[],
        help="not these rules; wins over --select",
    )


def run(args: argparse.Namespace) -> int:
    """Print the findings; 1 if one of them refuses the state."""
    # What a check makes it keeps until it ends: looking for garbage takes a tenth of its time.
    gc.disable()
    chosen = selection.parse(args.select, args.ignore)
    root, report = _report(args, chosen)
    if not args.quiet or report.findings or args.format != "text":
        say(REPORTERS[args.format](report, way_to(root, args.format)))
    return EXIT_FINDINGS if report.blocking else EXIT_OK


def _report(args: argparse.Namespace, chosen: Selection) -> tuple[Path, Report]:
    """The registry's folder, and what is found there."""
    if args.base is not None and args.ref is None:
        raise UsageError("--base says what --ref is compared with; give both")
    if args.range is not None:
        return _of_range(args, chosen)
    state = _state(args)
    by = None
    if args.policy_of is not None:
        from registry_tool.rules.context import measure_of

        by = measure_of(state.root, args.policy_of)
    report = check(state, by=by)
    if args.recompute is not None:
        more = beyond.recomputed(state, args.recompute)
        report = report._replace(findings=(*report.findings, *more))
    return state.root, chosen.of(report)


def _of_range(args: argparse.Namespace, chosen: Selection) -> tuple[Path, Report]:
    if args.policy_of is not None:
        raise UsageError("--policy-of is for one state; each commit of a range has its own")
    if args.recompute is not None:
        raise UsageError("--recompute is for one state", fix="--ref HEAD --base BASE")
    from registry_tool.rules.ranges import check_range

    root = find(args)
    return root, check_range(root, args.range, chosen.in_commits)


def _state(args: argparse.Namespace) -> Snapshot:
    if not args.staged and args.ref is None:
        return snapshot.of_worktree(find(args))
    try:
        root = find(args)
    except ToolError:
        return _state_without_files(args)
    if args.staged:
        return snapshot.of_index(root)
    return snapshot.of_revision(root, args.ref, args.base)


def _state_without_files(args: argparse.Namespace) -> Snapshot:
    """A registry that git holds and the disk does not: bare or sparse, or removed from it."""
    from registry_tool.gates import places
    from registry_tool.store import git

    registry = places.named(args.registry, args.ref)
    root = registry.top / registry.prefix
    if args.staged:
        return snapshot.index_of(registry, root)
    commit = git.resolve(registry, args.ref)
    if args.base is not None:
        base: str | None = git.resolve(registry, args.base)
    else:
        base = git.first_parent(registry, commit)
    return snapshot.of_commit(root, registry, commit, base)
