"""Count the rows, and say which needs of the saved models are met on a target."""

from __future__ import annotations

import argparse
from collections import Counter

from registry_tool.commands.common import open_worktree, say, say_json

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `status`."""
    parser.add_argument("--target", metavar="NAME", help="device kind (default: the first)")


def run(args: argparse.Namespace) -> int:
    """Print the counts; exit 0 whether or not a need is unmet."""
    from registry_tool.planning import plan

    registry = open_worktree(args)
    target = args.target or registry.first_target
    kind = registry.target(target).kind
    rows = Counter(row.kernel for row in registry.record_paths if row.target == target)
    models = {}
    for model in registry.models():
        tasks = plan.make(registry, target, plan.of_models(registry, [model]))
        met = sum(task.state == "verified" for task in tasks)
        models[model.model] = (met, len(tasks), [t.text for t in tasks if t.state != "verified"])
    if args.format == "json":
        say_json(
            {
                "target": target,
                "kind": kind,
                "rows": dict(rows),
                "models": {
                    name: {"met": met, "needs": needs, "unmet": unmet}
                    for name, (met, needs, unmet) in models.items()
                },
            }
        )
        return 0
    say(f"{target} ({kind}): {sum(rows.values())} rows")
    for kernel in registry.specs:
        if rows[kernel]:
            say(f"  {rows[kernel]:>5}  {kernel}")
    for name, (met, needs, unmet) in models.items():
        say(f"{name}: {met} of {needs} needs met")
        for text in unmet:
            say(f"    unmet: {text}")
    if any(unmet for _, _, unmet in models.values()):
        say("next: registry-tool verify")
    return 0
