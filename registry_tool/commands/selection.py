"""The selectors that `plan` and `verify` share: which kernels and shapes, on which target."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from registry_tool.commands.common import parse_herd, parse_shape, parse_sizes, warn
from registry_tool.commands.model_options import add_model_options, options_of
from registry_tool.errors import UsageError

if TYPE_CHECKING:
    from registry_tool.planning.plan import Wanted
    from registry_tool.records.model import Model
    from registry_tool.records.spec import KernelSpec
    from registry_tool.store.registry import Registry


@dataclass(frozen=True)
class Selection:
    """What was asked for; ``model`` is the one that `--config` describes, to be saved.

    ``is_baseline`` says that the wants are the rows of the baseline.
    """

    target: str
    wants: list[Wanted]
    model: Model | None = None
    forced: dict[str, object] = field(default_factory=dict)
    is_baseline: bool = False


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The selector options."""
    group = parser.add_argument_group(
        "selection", "without any: every need of the models in models/ that is not met"
    )
    group.add_argument("--config", metavar="FILE", help="config.json of a model")
    group.add_argument("--model", metavar="NAME", help="name for --config, or a saved model")
    group.add_argument("--kernel", metavar="NAME", help="only this kernel page")
    group.add_argument("--shape", metavar="DIM=N,...", help="this shape of --kernel")
    group.add_argument("--variant", metavar="NAME", help="only this variant")
    group.add_argument("--tile", metavar="KNOB=N,...", help="run at this tile (with --kernel)")
    group.add_argument("--herd", metavar="AxB", help="run at this herd (with --kernel)")
    group.add_argument("--all", action="store_true", help="every need and every existing row")
    group.add_argument("--target", metavar="NAME", help="device kind (default: the first)")
    add_model_options(parser.add_argument_group("how the needs of --config are derived"))


def select(registry: Registry, args: argparse.Namespace) -> Selection:
    """The wants that the options name; raises UsageError where they do not fit together."""
    from registry_tool.planning.plan import of_models

    target = args.target or registry.first_target
    registry.target(target)
    spec = registry.spec(args.kernel) if args.kernel else None
    if spec is None and (args.shape or args.tile or args.herd):
        raise UsageError("--shape, --tile and --herd need --kernel NAME")
    forced: dict[str, object] = {}
    if spec is not None:
        tile, herd = parse_sizes(args.tile, spec.tile, "tile"), parse_herd(args.herd, spec)
        forced = {name: value for name, value in (("tile", tile), ("herd", herd)) if value}
    kernels = [spec.kernel] if spec else []
    model: Model | None = None
    is_baseline = getattr(args, "baseline", False)
    if is_baseline:
        wants = _of_baseline(registry, target, args, kernels)
    elif args.config:
        from registry_tool.models.load import load_model

        model = load_model(Path(args.config), args.model, options_of(args))
        wants = of_models(registry, [model], kernels)
    elif spec is not None and args.shape and not args.all:
        wants = [_single(spec, parse_shape(spec, [args.shape]))]
    else:
        wants = of_models(registry, _paged(registry, _saved(registry, args.model)), kernels)
    if args.all or getattr(args, "stale", False):
        name = model.model if model is not None else args.model
        wants += _existing(registry, target, kernels, wants, name)
    if args.shape and spec is not None:
        shape = parse_shape(spec, [args.shape])
        wants = [wanted for wanted in wants if wanted.shape == shape]
    return Selection(target, _of_variant(wants, args.variant), model, forced, is_baseline)


def _of_baseline(
    registry: Registry, target: str, args: argparse.Namespace, kernels: list[str]
) -> list[Wanted]:
    from registry_tool.baseline import work

    others = [f"--{name}" for name in _NOT_OF_BASELINE if getattr(args, name, None)]
    if others:
        raise UsageError(
            f"--baseline runs its rows as they were recorded: it takes no {' and no '.join(others)}"
        )
    wants = work.wanted(registry, target)
    return [wanted for wanted in wants if not kernels or wanted.spec.kernel in kernels]


_NOT_OF_BASELINE = ("config", "model", "all", "tile", "herd", "sweep")


def _saved(registry: Registry, name: str | None) -> list[Model]:
    models = list(registry.models())
    if name is None:
        return models
    chosen = [model for model in models if model.model == name]
    if not chosen:
        known = ", ".join(model.model for model in models) or "none"
        raise UsageError(
            f"no model {name!r} is saved here; there are: {known}",
            fix=f"registry-tool verify --config CONFIG --model {name}",
        )
    return chosen


def _paged(registry: Registry, models: list[Model]) -> list[Model]:
    """The models without the needs of kernels that have no page, each of which is named."""
    from registry_tool.planning import pages

    for model in models:
        kernels = dict.fromkeys(need.kernel for need in pages.pageless(registry, model))
        for kernel in kernels:
            warn(f"{model.model}: no page {kernel} in this registry; its needs are left out")
    return [pages.paged(registry, model) for model in models]


def _single(spec: KernelSpec, shape: dict[str, int]) -> Wanted:
    from registry_tool.planning.plan import Wanted
    from registry_tool.records.kernel import variant_order

    return Wanted(spec, shape, tuple(variant_order(spec, shape)))


def _existing(
    registry: Registry, target: str, kernels: list[str], wants: list[Wanted], model: str | None
) -> list[Wanted]:
    """The rows that are there beside ``wants``; of ``model``, those that are credited to it."""
    from registry_tool.planning.plan import Wanted

    known = {(wanted.spec.kernel, tuple(wanted.shape.values())) for wanted in wants}
    return [
        Wanted(registry.spec(record.kernel), record.shape, (record.variant,))
        for row, record in registry.records.items()
        if row.target == target
        and (not kernels or row.kernel in kernels)
        and (model is None or model.casefold() in {use.model.casefold() for use in record.used_by})
        and (record.kernel, tuple(record.shape.values())) not in known
    ]


def _of_variant(wants: list[Wanted], variant: str | None) -> list[Wanted]:
    from dataclasses import replace

    if variant is None:
        return wants
    chosen = [
        replace(wanted, variants=(variant,)) for wanted in wants if variant in wanted.spec.variants
    ]
    if wants and not chosen:
        known = sorted({name for wanted in wants for name in wanted.spec.variants})
        raise UsageError(f"no selected kernel has a variant {variant!r}; known: {', '.join(known)}")
    return chosen
