"""List every kernel and shape that a model needs, from its Hugging Face config.json."""

from __future__ import annotations

import argparse
from pathlib import Path

from registry_tool.commands.common import say, say_json

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `shapes`."""
    parser.add_argument("config", metavar="CONFIG", help="config.json of the model, or its folder")
    parser.add_argument(
        "--model", metavar="NAME", help="name of the model (default: from the file)"
    )
    parser.add_argument("--seq", type=int, default=2048, help="prefill length in tokens")


def run(args: argparse.Namespace) -> int:
    """Print the needs; raises InputError for a config that is out of scope."""
    from registry_tool.models.load import load_model

    model = load_model(Path(args.config), args.model, args.seq)
    if args.format == "json":
        say_json(
            {
                "model": model.model,
                "needs": [
                    {
                        "phase": need.phase,
                        "site": need.site,
                        "kernel": need.kernel,
                        "precision": need.precision,
                        "shape": need.shape,
                    }
                    for need in model.needs
                ],
                "notes": [
                    *model.notes,
                    *(f"{part.phase} {part.site}: {part.reason}" for part in model.uncovered),
                ],
            }
        )
        return 0
    for need in model.needs:
        shape = " ".join(f"{dim}={size}" for dim, size in need.shape.items())
        tier = f" [{need.precision}]" if need.precision else ""
        say(f"{need.phase:<8} {need.kernel:<22} {shape}{tier}  {need.site}")
    for part in model.uncovered:
        say(f"{part.phase:<8} {'-':<22} {part.site}: {part.reason}")
    for note in model.notes:
        say(f"note: {note}")
    return 0
