"""Run what is unmet on a target, judge it, and write verdicts, rows and tables; commits nothing.

Needs that a passing row meets already are skipped. A failing run leaves a failing verdict and no
row; the next variant is tried. Interrupted at any moment, the next `verify` goes on.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from registry_tool.commands.common import open_worktree, say, stage, warn
from registry_tool.commands.selection import Selection, add_selection, select
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, UsageError

if TYPE_CHECKING:
    from registry_tool.planning.plan import Task
    from registry_tool.store.registry import Registry
    from registry_tool.verifier.campaign import Result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `verify`."""
    add_selection(parser)
    group = parser.add_argument_group("running")
    group.add_argument("--force", action="store_true", help="run verified rows again")
    group.add_argument("--dry-run", action="store_true", help="print the commands, run nothing")
    group.add_argument("--jobs", type=int, default=1, metavar="N", help="runs side by side")
    group.add_argument("--note", metavar="TEXT", help="a remark for every row that is written")
    group.add_argument("--no-stage", action="store_true", help="do not stage what was written")
    group.add_argument(
        "--inject", metavar="FAULT", help="make the emulated harness misbehave, to try the gate"
    )


def run(args: argparse.Namespace) -> int:
    """Carry out the plan; exit 1 if a need stays unmet."""
    from registry_tool.planning import plan

    registry = open_worktree(args)
    selection = select(registry, args)
    target = registry.target(selection.target)
    if not 1 <= args.jobs <= target.jobs:
        raise UsageError(f"--jobs: the target {selection.target} allows 1 to {target.jobs} at once")
    if args.inject and target.kind != "emulated":
        raise UsageError("--inject is for emulated targets")
    tasks = plan.make(registry, selection.target, selection.wants, selection.forced)
    if args.dry_run:
        return _dry_run(registry, selection, tasks, args)
    return _carry_out(registry, selection, tasks, args)


def _dry_run(
    registry: Registry, selection: Selection, tasks: list[Task], args: argparse.Namespace
) -> int:
    from registry_tool.verifier import campaign, commands

    target = registry.target(selection.target)
    settings = campaign.Settings(inject=args.inject)
    for task in tasks:
        if task.state == "verified" and not args.force:
            continue
        say(f"# {task.text}")
        for obstacle in task.obstacles:
            say(f"#   no legal configuration: {obstacle}")
        for number, job in enumerate(campaign.jobs(registry, selection.target, task, settings)):
            if number:
                say("#   if that does not pass:")
            folder = f"cd {commands.shell_text([str(job.cwd)])} && " if job.cwd else ""
            say(
                f"{folder}flock -x -w {target.lock.limit_s} "
                f"{commands.shell_text([target.lock.path, *job.command])}"
            )
    return EXIT_OK


def _carry_out(
    registry: Registry, selection: Selection, tasks: list[Task], args: argparse.Namespace
) -> int:
    from registry_tool.commands.edits import refresh, require_renderable
    from registry_tool.commands.progress import Progress
    from registry_tool.records import canonical
    from registry_tool.store.files import clean_temporary, write_if_changed
    from registry_tool.verifier import campaign

    require_renderable(registry)
    clean_temporary(registry.root)
    written: list[str] = []
    if selection.model is not None:
        path = f"models/{selection.model.model}.json"
        write_if_changed(registry.root / path, canonical.encode(selection.model))
        written.append(path)
    todo = [task for task in tasks if task.state != "verified" or args.force]
    progress = Progress(len(todo), args.quiet)
    settings = campaign.Settings(args.force, args.jobs, args.note, args.inject)
    result = campaign.carry_out(registry, selection.target, tasks, settings, progress)
    progress.close()
    written += result.written
    written += refresh(registry.root)
    if not args.no_stage:
        stage(registry, [*written, *campaign.left_behind(registry.root, result.rows)])
    return _conclude(result, todo, args)


def _conclude(result: Result, todo: list[Task], args: argparse.Namespace) -> int:
    for text in result.unmet:
        warn(f"unmet: {text}")
    if not todo:
        say("nothing to do: every selected need is met")
    else:
        say(f"{len(todo) - len(result.unmet)} of {len(todo)} needs verified")
    if result.unmet:
        say("next: mend what failed and run registry-tool verify again; the verdicts are kept")
        return EXIT_FINDINGS
    if result.written and not args.no_stage:
        say('next: git commit -m "Verify ..."')
    return EXIT_OK
