"""Run one kernel's emulated numerics and print its figures (no registry is changed)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from registry_tool.commands.common import find, parse_herd, parse_shape, parse_sizes, say_json
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, RegistryError, UsageError

if TYPE_CHECKING:
    from registry_tool.planning.tiling import Candidate
    from registry_tool.records.spec import KernelSpec

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `emulate`."""
    parser.add_argument("kernel", metavar="KERNEL", help="kernel page name")
    parser.add_argument("shape", metavar="DIM=N", nargs="+", help="the shape, e.g. M=2048 N=128")
    parser.add_argument("--variant", metavar="NAME", help="default: the auto rule's choice")
    parser.add_argument("--tile", metavar="KNOB=N,...", help="default: the plan's search")
    parser.add_argument("--herd", metavar="AxB", help="default: the plan's search")
    parser.add_argument("--inject", metavar="FAULT", help="make it misbehave, to try the gate")


def run(args: argparse.Namespace) -> int:
    """Print the harness dialect, or its figures as JSON; exit 0 only for a pass."""
    import io

    from registry_tool.emulator import faults
    from registry_tool.emulator.__main__ import load_emulator
    from registry_tool.emulator.case import Case
    from registry_tool.emulator.harness import run_case
    from registry_tool.records import kernel

    specs, folder = _specs(args)
    spec = specs.get(args.kernel)
    if spec is None:
        raise UsageError(f"unknown kernel {args.kernel!r}; known are {', '.join(specs)}")
    if spec.emulator is None:
        raise UsageError(f"{spec.kernel} names no emulator function")
    shape = parse_shape(spec, args.shape)
    chosen = _configuration(spec, shape, args)
    gate = kernel.tolerance(spec, kernel.precision_of(spec, chosen.variant))
    name = spec.emulator
    if name.partition(":")[0].endswith(".py"):
        name = str(folder / "kernels" / name)
    case = Case(spec.kernel, shape, chosen.variant, chosen.tile, tuple(chosen.herd))
    fault = faults.parse(args.inject) if args.inject else None
    out = io.StringIO() if args.format == "json" else sys.stdout
    status = run_case(case, load_emulator(name), gate.rtol, gate.atol, out, fault)
    if isinstance(out, io.StringIO):
        say_json(_figures(spec, shape, chosen, status == 0, out.getvalue()))
    return EXIT_OK if status == 0 else EXIT_FINDINGS


def _specs(args: argparse.Namespace) -> tuple[Mapping[str, KernelSpec], Path]:
    """The specs in force, and the registry that they may come from."""
    from registry_tool.records import catalog
    from registry_tool.store import registry, snapshot

    if args.registry is None and args.kernel in catalog.built_in():
        return catalog.built_in(), Path()
    try:
        root = find(args)
    except RegistryError:
        return catalog.built_in(), Path()
    return registry.load(snapshot.of_worktree(root)).specs, root


def _configuration(spec: KernelSpec, shape: dict[str, int], args: argparse.Namespace) -> Candidate:
    from registry_tool.planning.search import blocking_constraints
    from registry_tool.planning.tiling import Candidate, choose
    from registry_tool.records import kernel

    variant = args.variant or kernel.variant_order(spec, shape)[0]
    if args.variant and args.variant not in spec.variants:
        known = ", ".join(spec.variants) or "none"
        raise UsageError(f"{spec.kernel} has no variant {args.variant!r}; known: {known}")
    tile, herd = parse_sizes(args.tile, spec.tile, "tile"), parse_herd(args.herd, spec)
    if tile is not None and herd is not None:
        return Candidate(variant, tile, herd, "as asked")
    found = choose(spec, shape, variant, ())
    if found is None:
        reasons = "; ".join(blocking_constraints(spec, shape, variant))
        raise UsageError(
            f"no legal tile and herd for this shape: {reasons}", fix="give --tile and --herd"
        )
    return Candidate(variant, tile or found.tile, herd or found.herd, found.source)


def _figures(
    spec: KernelSpec, shape: dict[str, int], chosen: Candidate, passed: bool, log: str
) -> dict[str, object]:
    import math

    from registry_tool.verifier.logs.harness_log import parse

    facts = parse(log.encode())
    outputs = sorted(facts.outputs, key=lambda output: -_badness(output.mean_rel_L1))
    worst = outputs[0] if outputs else None

    def figure(value: float | None) -> float | None:
        return value if value is not None and math.isfinite(value) else None

    return {
        "kernel": spec.kernel,
        "shape": shape,
        "variant": chosen.variant,
        "tile": chosen.tile,
        "status": "pass" if passed else "fail",
        "mean_rel_L1": figure(worst.mean_rel_L1) if worst else None,
        "max_abs": figure(worst.max_abs) if worst else None,
        "max_rel": figure(worst.max_rel) if worst else None,
        "mismatches": sum(mismatch.count for mismatch in facts.mismatches),
        "elements": sum(output.elements for output in facts.outputs),
        "zero_share": min(facts.zero_shares.values(), default=None),
    }


def _badness(mean_rel_l1: float) -> float:
    return float("inf") if mean_rel_l1 != mean_rel_l1 else mean_rel_l1
