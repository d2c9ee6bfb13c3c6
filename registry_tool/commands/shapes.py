"""List every kernel and shape that a model needs, from its Hugging Face config.json.

One line for each kernel and shape, with all the call sites that have it; then what the model
computes that no kernel page covers, and what was assumed on the way. Nothing is guessed: a config
that lacks a key, or is of a kind that is not derived, is refused with the keys that decided.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from registry_tool.commands.common import say, say_json
from registry_tool.commands.model_options import add_model_options, options_of

if TYPE_CHECKING:
    from registry_tool.models.calls import Call
    from registry_tool.models.needs import Derived
    from registry_tool.records.model import Need

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `shapes`."""
    parser.add_argument("config", metavar="CONFIG", help="config.json of the model, or its folder")
    parser.add_argument(
        "--model", metavar="NAME", help="name of the model (default: from the file)"
    )
    add_model_options(parser)
    parser.add_argument(
        "--explain", action="store_true", help="show the arithmetic behind every dimension"
    )


def run(args: argparse.Namespace) -> int:
    """Print the needs; raises InputError for a config that is out of scope."""
    from registry_tool.models.load import load_derived

    derived = load_derived(Path(args.config), args.model, options_of(args))
    if args.format == "json":
        say_json(_document(derived, args.explain))
        return 0
    for line in _lines(derived, args.explain):
        say(line)
    return 0


def _document(derived: Derived, explain: bool) -> dict[str, Any]:
    model = derived.model
    needs = [_need(need) for need in model.needs]
    document: dict[str, Any] = {
        "model": model.model,
        "needs": needs,
        "notes": [
            *model.notes,
            *(f"{part.phase} {part.site}: {part.reason}" for part in model.uncovered),
        ],
    }
    if explain:
        for entry, call in zip(needs, derived.calls, strict=True):
            entry["why"] = {dim: size.explained for dim, size in call.dims.items()}
        document["facts"] = [
            {"name": fact.name, "value": fact.value, "source": fact.source}
            for fact in derived.facts
        ]
    return document


def _need(need: Need) -> dict[str, Any]:
    from msgspec import UNSET

    entry: dict[str, Any] = {
        "phase": need.phase,
        "site": need.site,
        "kernel": need.kernel,
        "precision": need.precision,
        "shape": need.shape,
    }
    if need.layers is not UNSET:
        entry["layers"] = need.layers
    return entry


def _lines(derived: Derived, explain: bool) -> Iterator[str]:
    model = derived.model
    if explain:
        for fact in derived.facts:
            yield f"fact: {fact.name} {fact.value}  ({fact.source})"
    for same in _grouped(derived.calls):
        need = same[0].need
        shape = " ".join(f"{dim}={size}" for dim, size in need.shape.items())
        tier = f" [{need.precision}]" if need.precision else ""
        sites = ", ".join(_site(call) for call in same)
        yield f"{need.phase:<8} {need.kernel:<22} {shape}{tier}  {sites}"
        if explain:
            yield from _why(same)
    for part in model.uncovered:
        yield f"{part.phase:<8} {'-':<22} {part.site}: {part.reason}"
    for note in model.notes:
        yield f"note: {note}"


def _grouped(calls: Sequence[Call]) -> list[list[Call]]:
    """The calls of one phase, kernel, shape and tier together, in the order of the first."""
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in calls:
        shape = tuple(size.value for size in call.dims.values())
        groups.setdefault((call.phase, call.kernel, shape, call.precision), []).append(call)
    return list(groups.values())


def _site(call: Call) -> str:
    if call.layers is None:
        return call.site
    return f"{call.site} (once)" if call.layers == 1 else f"{call.site} ({call.layers} layers)"


def _why(calls: Sequence[Call]) -> Iterator[str]:
    for call in calls:
        lead = f"{call.site}: " if len(calls) > 1 else ""
        for dim, size in call.dims.items():
            yield f"    {lead}{dim} = {size.explained}"
