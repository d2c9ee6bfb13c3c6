"""Show which needs are met on a target, and what would be run for the others, and what to expect.

What blocks most comes first. `--common` takes the configs of several models and ranks what they
share. Exit 1 if a need is not met; no harness is run and nothing is written.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from registry_tool.commands.common import open_worktree, say, say_json, warn
from registry_tool.commands.selection import add_selection, select
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, InputError, UsageError

if TYPE_CHECKING:
    from registry_tool.planning.plan import Task, Wanted
    from registry_tool.records.model import Model
    from registry_tool.store.registry import Registry

FORMATS = ("text", "json", "md")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `plan`."""
    add_selection(parser)
    parser.add_argument(
        "--common",
        nargs="+",
        metavar="CONFIG",
        help="configs, or names of saved models: what they need together, ranked by how many do",
    )


def run(args: argparse.Namespace) -> int:
    """Print the plan; exit 1 if a need is not met."""
    from registry_tool.planning import plan
    from registry_tool.planning.working_list import working_list
    from registry_tool.report import plan as report
    from registry_tool.stale import rows as stale

    registry = open_worktree(args)
    target, wants, models, forced = _wants(registry, args)
    moved = stale.of(registry, target)
    tasks: list[Task] = plan.make(registry, target, wants, forced, moved)
    found = working_list(registry, target, tasks, models)
    if args.format == "json":
        say_json(report.document(found))
    else:
        say(report.FORMATS[args.format](found))
    return EXIT_OK if found.met == len(found.lines) else EXIT_FINDINGS


def _wants(
    registry: Registry, args: argparse.Namespace
) -> tuple[str, list[Wanted], list[Model], dict[str, object]]:
    """Target, wants, the models that have them, and what is forced upon every candidate."""
    from registry_tool.planning.plan import of_models

    if not args.common:
        selection = select(registry, args)
        models = _models(registry, args, selection.model)
        return selection.target, selection.wants, models, selection.forced
    others = [name for name in _NOT_COMMON if getattr(args, name)]
    if others:
        raise UsageError(f"--common takes no {' and no '.join(f'--{name}' for name in others)}")
    target = args.target or registry.first_target
    registry.target(target)
    kernels = [registry.spec(args.kernel).kernel] if args.kernel else []
    models = _common(registry, args)
    # What has no page is of no kernel: a plan for one kernel does not list it.
    return target, of_models(registry, models, kernels), [] if kernels else models, {}


_NOT_COMMON = ("config", "model", "shape", "variant", "tile", "herd", "all")


def _models(registry: Registry, args: argparse.Namespace, given: Model | None) -> list[Model]:
    if args.shape or args.kernel:
        return []
    if given is not None:
        return [given]
    from registry_tool.planning.pages import paged

    saved = [model for model in registry.models() if args.model in (None, model.model)]
    return [paged(registry, model) for model in saved]


def _common(registry: Registry, args: argparse.Namespace) -> list[Model]:
    """The model of each word of --common; one that is refused is named, and the others go on.

    Raises UsageError if all are refused, or if two have one name.
    """
    from registry_tool.commands.model_options import options_of
    from registry_tool.models.load import load_model
    from registry_tool.planning.pages import paged

    options = options_of(args)
    saved = {model.model: paged(registry, model) for model in registry.models()}
    found: dict[str, Model] = {}
    for word in args.common:
        try:
            model = saved[word] if word in saved else load_model(Path(word), None, options)
        except InputError as error:
            warn(f"left out: {error}")
            continue
        except UsageError as error:  # a choice that this model does not have, and others may
            warn(f"left out: {word}: {error}")
            continue
        if model.model in found:
            raise UsageError(
                f"two of --common are called {model.model!r}", fix="give one of them another name"
            )
        found[model.model] = model
    if not found:
        raise UsageError("none of --common can be planned for")
    return list(found.values())
