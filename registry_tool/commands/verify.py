"""Run what is unmet on a target, judge it, and write verdicts, rows and tables; commits nothing.

Needs that a passing row meets already are skipped. A failing run leaves a failing verdict and no
row; the next variant is tried. Interrupted at any moment, the next `verify` goes on.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from msgspec import UNSET

from registry_tool.commands.common import open_worktree, say, warn
from registry_tool.commands.keys import add_signing
from registry_tool.commands.selection import Selection, add_selection, select
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, UsageError

if TYPE_CHECKING:
    from registry_tool.baseline.settle import Settled
    from registry_tool.commands.progress import Progress
    from registry_tool.planning.plan import Task
    from registry_tool.records.model import Model
    from registry_tool.store.registry import Registry
    from registry_tool.verifier.bench import Settings
    from registry_tool.verifier.campaign import Result


DEFAULT_SWEEP = 16
"""Runs of each shape in a sweep that gives no --limit."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `verify`."""
    add_selection(parser)
    parser.add_argument(
        "--baseline",
        action="store_true",
        help="select the imported rows that baseline.json names, as they were recorded",
    )
    parser.add_argument(
        "--stale",
        action="store_true",
        help="select the rows whose harness, kernel sources or toolchain have moved since",
    )
    group = parser.add_argument_group("running")
    group.add_argument("--force", action="store_true", help="run verified rows again")
    group.add_argument("--dry-run", action="store_true", help="print the commands, run nothing")
    group.add_argument("--jobs", type=int, default=1, metavar="N", help="runs side by side")
    group.add_argument("--note", metavar="TEXT", help="a remark for every row that is written")
    group.add_argument("--no-stage", action="store_true", help="do not stage what was written")
    group.add_argument(
        "--sweep", action="store_true", help="try legal tiles and herds, keep the fastest"
    )
    group.add_argument("--limit", type=int, metavar="N", help="runs of each shape (--sweep)")
    group.add_argument("--budget", type=float, metavar="S", help="start none after S s (--sweep)")
    add_signing(group)
    group.add_argument(
        "--inject", metavar="FAULT", help="make the emulated harness misbehave, to try the gate"
    )


def run(args: argparse.Namespace) -> int:
    """Carry out the plan; exit 1 if a need stays unmet."""
    import signal

    from registry_tool.planning import plan
    from registry_tool.stale import rows as stale

    # A polite end is an interruption like Ctrl-C: the harness is ended, nothing half written stays.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    registry = open_worktree(args)
    selection = select(registry, args)
    target = registry.target(selection.target)
    if not 1 <= args.jobs <= target.jobs:
        raise UsageError(f"--jobs: the target {selection.target} allows 1 to {target.jobs} at once")
    _check_sweep(args)
    if args.inject:
        _check_fault(args.inject, target.kind)
    moved = stale.of(registry, selection.target)
    tasks = plan.make(registry, selection.target, selection.wants, selection.forced, moved)
    if args.stale:
        tasks = [task for task in tasks if task.state == "stale"]
        if not tasks:
            say("nothing to do: no row is stale")
            return EXIT_OK
    if selection.is_baseline:
        from registry_tool.baseline import work

        for text in work.unfit(registry, selection.target, tasks):
            warn(text)
        for text in () if args.note else work.unexplained(registry, selection.target, tasks):
            warn(text)
        tasks = work.as_recorded(registry, selection.target, tasks)
    if args.dry_run:
        return _dry_run(registry, selection.target, tasks, args)
    return _carry_out(registry, selection, tasks, args)


def _dry_run(registry: Registry, target: str, tasks: list[Task], args: argparse.Namespace) -> int:
    from registry_tool.commands.dry_run import print_commands, to_sweep

    if args.sweep:
        tasks = to_sweep(registry, target, tasks, args.limit or DEFAULT_SWEEP)
        return print_commands(registry, target, tasks, args.inject, "and then:")
    todo = [task for task in tasks if task.state != "verified" or args.force]
    return print_commands(registry, target, todo, args.inject)


def _check_sweep(args: argparse.Namespace) -> None:
    if not args.sweep and (args.limit is not None or args.budget is not None):
        raise UsageError("--limit and --budget are for --sweep")
    if args.limit is not None and args.limit < 1:
        raise UsageError(f"--limit must be at least 1, found {args.limit}")
    if args.budget is not None and not args.budget > 0:
        raise UsageError(f"--budget must be above 0 s, found {args.budget:g}")
    if args.sweep and (args.tile or args.herd):
        raise UsageError("--sweep tries every tile and herd: it takes no --tile and no --herd")
    if args.sweep and args.jobs != 1:
        raise UsageError("--sweep runs one configuration at a time: no --jobs")


def _check_fault(fault: str, kind: str) -> None:
    from registry_tool.emulator import faults

    if kind != "emulated":
        raise UsageError("--inject is for emulated targets")
    faults.parse(fault)


def _settings(registry: Registry, selection: Selection, args: argparse.Namespace) -> Settings:
    from registry_tool.verifier import preflight
    from registry_tool.verifier.bench import Settings

    place, surroundings = preflight.prepare(registry, selection.target, os.environ)
    models = [*registry.models(), *([selection.model] if selection.model else [])]
    return Settings(
        force=args.force,
        jobs=args.jobs,
        note=args.note,
        inject=args.inject,
        place=place,
        layers={model.model: model.layers for model in models if model.layers is not UNSET},
        surroundings=surroundings,
    )


def _carry_out(
    registry: Registry, selection: Selection, tasks: list[Task], args: argparse.Namespace
) -> int:
    from registry_tool.baseline.settle import settle
    from registry_tool.commands.edits import refresh, require_renderable
    from registry_tool.commands.keys import require_key, sign_new
    from registry_tool.commands.progress import Progress
    from registry_tool.commands.staging import stage_with_pages
    from registry_tool.rules.catalog import is_of_import
    from registry_tool.store.files import clean_temporary
    from registry_tool.verifier import campaign
    from registry_tool.verifier.bench import Settings

    require_renderable(registry)
    require_key(registry, args)
    todo = [task for task in tasks if task.state != "verified" or args.force or args.sweep]
    settings = _settings(registry, selection, args) if todo else Settings()
    clean_temporary(registry.root)
    written: list[str] = []
    if selection.model is not None:
        written.append(_save_model(registry, selection.model, args.force))
    progress = Progress(len(todo), args.quiet)
    if args.sweep:
        result = _sweep(registry, selection.target, todo, settings, progress, args)
    else:
        result = campaign.carry_out(registry, selection.target, tasks, settings, progress)
    progress.close()
    written += result.written
    signed = sign_new(registry, selection.target, result.written, args)
    written += signed.written
    settled = settle(registry, is_of_import)
    written += [*settled.written, *refresh(registry.root)]
    staged = not args.no_stage and stage_with_pages(registry.root, written)
    if selection.is_baseline:
        _say_baseline(registry, selection.target, settled)
    elif settled.removed:
        say(_left(settled))
    status = _conclude(result, todo, staged, selection.is_baseline, settled.removed)
    if result.busy is not None:
        raise result.busy
    return EXIT_FINDINGS if signed.is_lacking else status


def _say_baseline(registry: Registry, target: str, settled: Settled) -> None:
    from registry_tool.baseline import work

    say(_left(settled))
    for other in work.elsewhere(registry, target):
        say(f"it names rows of {other} too: registry-tool verify --baseline --target {other}")


def _left(settled: Settled) -> str:
    if not settled.written:
        return "there is no baseline.json: nothing is owed"
    gone = f"; {_rows(settled.removed)} left it" if settled.removed else ""
    return f"baseline.json names {_rows(settled.left)}{gone}"


def _rows(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


def _sweep(
    registry: Registry,
    target: str,
    tasks: list[Task],
    settings: Settings,
    progress: Progress,
    args: argparse.Namespace,
) -> Result:
    import math

    from registry_tool.verifier import sweep

    for text in sweep.untimed(registry, target):
        warn(text)
    budget_s = math.inf if args.budget is None else args.budget
    limits = sweep.Limits(args.limit or DEFAULT_SWEEP, budget_s)
    return sweep.sweep(registry, target, tasks, settings, limits, progress)


def _save_model(registry: Registry, model: Model, force: bool) -> str:
    from registry_tool.records import canonical
    from registry_tool.store.files import write_if_changed

    path = f"models/{model.model}.json"
    before = next((one for one in registry.models() if one.model == model.model), None)
    if before is not None and not force and _origin(before) != _origin(model):
        raise UsageError(
            f"{path} was saved from another config, or for another --seq ({before.seq} tokens) or "
            "other choices",
            fix="--model ANOTHER_NAME, or --force to replace it",
        )
    write_if_changed(registry.root / path, canonical.encode(model))
    return path


def _origin(model: Model) -> tuple[object, ...]:
    """What a model's needs follow from."""
    return model.config_sha256, model.seq, model.seqs, model.batch, model.options


def _conclude(
    result: Result, todo: list[Task], staged: bool, is_baseline: bool, removed: int
) -> int:
    for text in result.unmet:
        warn(f"unmet: {text}")
    verified = len(todo) - len(result.unmet)
    if not todo:
        what = "no selected row is owed" if is_baseline else "every selected need is met"
        say(f"nothing to do: {what}")
    else:
        say(f"{verified} of {len(todo)} {'rows' if is_baseline else 'needs'} verified")
    if result.unmet:
        rest = "; what passed is staged and can be committed" if staged and verified else ""
        say(f"next: mend what failed and run registry-tool verify again{rest}")
        return EXIT_FINDINGS
    if (result.written or removed) and staged:
        say('next: git commit -m "Verify ..."')
    return EXIT_OK
