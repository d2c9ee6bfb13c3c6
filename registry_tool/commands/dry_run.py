"""What `verify --dry-run` prints: the commands of a plan, as one would type them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
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
    registry: Registry, target_name: str, tasks: Sequence[Task], inject: str | None
) -> int:
    """Every command that ``tasks`` would run on ``target_name``, with folder and lock."""
    from registry_tool.verifier import campaign, hardware

    target = registry.target(target_name)
    is_hardware = target.kind == "hardware"
    place = hardware.presumed_place(target, os.environ) if is_hardware else None
    if place is not None:
        for line in _unset(target_name, place):
            say(line)
    settings = campaign.Settings(inject=inject, place=place)
    for task in tasks:
        say(f"# {task.text}")
        for obstacle in task.obstacles:
            say(f"#   no legal configuration: {obstacle}")
        for number, candidate in enumerate(task.candidates):
            if number:
                say("#   if that does not pass:")
            try:
                job = campaign.make_job(registry, target_name, task, candidate, settings)
            except HarnessError as error:
                say(f"#   {error.message}")
                if place is not None:
                    for line in _diagnosis(task, target, place):
                        say(line)
                break
            for line in _lines(job):
                say(line)
    return EXIT_OK


def _unset(target: str, place: hardware.Place) -> Iterator[str]:
    from registry_tool.verifier import hardware

    if place.root == hardware.UNKNOWN_ROOT:
        yield f"# targets.{target}.harness_root is not set in registry.yaml: $HARNESS_ROOT is it"
    if place.peano == hardware.UNKNOWN_PEANO:
        yield f"# {hardware.PEANO} is not set; verify insists on it"


def _lines(job: Job) -> Iterator[str]:
    from registry_tool.verifier.commands import shell_text

    commands, target = job.commands, job.target
    for folder in commands.build:
        word = shell_text([str(folder)])
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
