"""Show which needs are met on a target, and at which tile and herd the others would run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from registry_tool.commands.common import open_worktree, say, say_json
from registry_tool.commands.selection import add_selection, select

if TYPE_CHECKING:
    from registry_tool.planning.plan import Task

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `plan`."""
    add_selection(parser)


def run(args: argparse.Namespace) -> int:
    """Print the plan; exit 1 if a need is not met."""
    from registry_tool.planning import plan
    from registry_tool.stale import rows as stale

    registry = open_worktree(args)
    selection = select(registry, args)
    moved = stale.of(registry, selection.target)
    tasks = plan.make(registry, selection.target, selection.wants, selection.forced, moved)
    unmet = sum(not task.is_met for task in tasks)
    if args.format == "json":
        say_json([_document(task) for task in tasks])
        return 1 if unmet else 0
    for task in tasks:
        say(f"{task.state:<10} {task.text}")
        for reason in task.reasons:
            say(f"           {reason}")
        for number, candidate in enumerate(task.candidates if task.state != "verified" else ()):
            tile = ",".join(f"{knob}={size}" for knob, size in candidate.tile.items()) or "no tile"
            herd = "×".join(map(str, candidate.herd))
            lead = "would run" if number == 0 else "else"
            how = f"{candidate.variant or 'default'} {tile} herd {herd}"
            say(f"           {lead}: {how} ({candidate.source})")
        for obstacle in task.obstacles:
            say(f"           no legal configuration: {obstacle}")
    say(f"{len(tasks) - unmet} of {len(tasks)} needs are met on {selection.target}")
    return 1 if unmet else 0


def _document(task: Task) -> dict[str, object]:
    return {
        "kernel": task.wanted.spec.kernel,
        "shape": task.wanted.shape,
        "state": task.state,
        "row": str(task.row) if task.row else None,
        "used_by": [{"model": use.model, "site": use.site} for use in task.wanted.uses],
        "candidates": [
            {
                "variant": candidate.variant,
                "tile": candidate.tile,
                "herd": candidate.herd,
                "source": candidate.source,
            }
            for candidate in task.candidates
        ],
        "obstacles": list(task.obstacles),
        "stale": list(task.reasons),
    }
