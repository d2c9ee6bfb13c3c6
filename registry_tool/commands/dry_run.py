"""What `verify --dry-run` prints: the commands of a plan, as one would type them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from registry_tool.commands.common import say
from registry_tool.errors import EXIT_OK, HarnessError

if TYPE_CHECKING:
    from registry_tool.planning.plan import Task
    from registry_tool.records.spec import Target
    from registry_tool.store.registry import Registry
    from registry_tool.verifier import hardware
    from registry_tool.verifier.job import Job, Step


def print_commands(
    registry: Registry,
    target_name: str,
    tasks: Sequence[Task],
    inject: str | None,
    between: str = "if that does not pass:",
) -> int:
    """Every command that ``tasks`` would run on ``target_name``, with folder and lock.

    ``between`` stands between the candidates of a task.
    """
    from registry_tool.verifier import bench, hardware

    target = registry.target(target_name)
    is_hardware = target.kind == "hardware"
    place = hardware.presumed_place(target, os.environ) if is_hardware else None
    if place is not None:
        for line in _unset(target_name, place):
            say(line)
    settings = bench.Settings(inject=inject, place=place)
    for task in tasks:
        say(f"# {task.text}")
        for obstacle in task.obstacles:
            say(f"#   no legal configuration: {obstacle}")
        for number, candidate in enumerate(task.candidates):
            if number:
                say(f"#   {between}")
            try:
                job = bench.make_job(registry, target_name, task, candidate, settings)
            except HarnessError as error:
                say(f"#   {error.message}")
                if place is not None:
                    for line in _diagnosis(task, target, place):
                        say(line)
                break
            for line in _lines(job):
                say(line)
    return EXIT_OK


def to_sweep(registry: Registry, target: str, tasks: Sequence[Task], most: int) -> list[Task]:
    """``tasks`` with the first ``most`` configurations of a sweep as their candidates."""
    from registry_tool.planning.plan import backed_rows
    from registry_tool.planning.sweep import configurations

    rows = backed_rows(registry, target).values()
    swept = []
    for task in tasks:
        wanted = task.wanted
        found = configurations(wanted.spec, wanted.shape, wanted.variants[0], rows)
        swept.append(replace(task, candidates=tuple(itertools.islice(found, most))))
    return swept


def _unset(target: str, place: hardware.Place) -> Iterator[str]:
    from registry_tool.verifier import hardware

    if place.root == hardware.UNKNOWN_ROOT:
        yield f"# targets.{target}.harness_root is not set in registry.yaml: $HARNESS_ROOT is it"
    if place.peano == hardware.UNKNOWN_PEANO:
        yield f"# {hardware.PEANO} is not set; verify insists on it"


def _lines(job: Job) -> Iterator[str]:
    from registry_tool.verifier.commands import shell_text
    from registry_tool.verifier.hardware import ROOT, UNKNOWN_ROOT

    commands, target = job.commands, job.target
    for folder in commands.build:
        # A tree that is not set must end the line: `rm -rf` below nothing is below the root.
        word = shell_text([str(folder)]).replace(UNKNOWN_ROOT, f"${{{ROOT}:?}}")
        yield f"rm -rf {word} && mkdir {word}"
    if commands.compile is not None:
        yield f"#   compile only, without the lock, at most {target.compile_limit_s} s:"
        yield _line(commands.compile)
    if commands.timing is not None:
        yield "#   the gated run:"
    yield _line(commands.correctness, target)
    if commands.timing is not None:
        yield f"#   the timing run, {target.timing_runs} times:"
        yield _line(commands.timing, target)


def _line(step: Step, locked: Target | None = None) -> str:
    from registry_tool.verifier.commands import shell_text

    lock = ""
    if locked is not None:
        lock = f"flock -x -w {locked.lock.limit_s} {shell_text([locked.lock.path])} "
    return f"cd {shell_text([str(step.cwd)])} && {lock}{shell_text(step.command)}"


def _diagnosis(task: Task, target: Target, place: hardware.Place) -> Iterator[str]:
    from registry_tool.verifier.hardware import make_step

    for model in dict.fromkeys(use.model for use in task.wanted.uses):
        folder = target.model_folders.get(model, model)
        step = make_step(target.diagnosis, place, {"model": folder}, f"the diagnosis of {model}")
        yield f"#   covered by the diagnosis of {model}:"
        yield _line(step, target)
