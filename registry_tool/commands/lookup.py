"""Print the configuration of a shape, as code gets it from `registry_lookup`.

registry-tool lookup GEMM_bf16_in_bf16_out M=2048 K=8192 N=2048
registry-tool lookup GEMM_bf16_in_bf16_out 2048x8192x2048 --precision low --format json

It answers from the records; a shape that has no row exits 1 and names the nearest ones. A row that
was imported and that no run backs yet says so (`verified false`), and with --strict exits 1 too.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from registry_tool.commands.common import open_worktree, parse_shape, say, say_json, warn
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, UsageError

if TYPE_CHECKING:
    from registry_tool.records.spec import KernelSpec
    from registry_tool.store.registry import Registry

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `lookup`."""
    parser.add_argument("kernel", metavar="KERNEL", help="page name, e.g. GEMM_bf16_in_bf16_out")
    parser.add_argument(
        "shape", metavar="DIM=N", nargs="+", help="M=2048 K=8192 N=2048, or 2048x8192x2048"
    )
    parser.add_argument("--variant", metavar="NAME", help="one method, be it the best or not")
    parser.add_argument(
        "--precision", metavar="TIER", help="high or low (default: high, where there are tiers)"
    )
    parser.add_argument(
        "--strict",
        metavar="POLICY",
        nargs="?",
        const="verified",
        help="refuse what is not verified; `sound`: only rows that are inherited, failing or not "
        "fully measured (default: REGISTRY_TOOL_STRICT, or answer with a mark)",
    )
    parser.add_argument("--target", metavar="NAME", help="default: the registry's first")


def run(args: argparse.Namespace) -> int:
    """Print the answer, or what is near."""
    from registry_tool.registry_lookup import NotVerifiedError

    registry = open_worktree(args)
    spec = _spec(registry, args.kernel)
    shape = parse_shape(spec, args.shape)
    target = args.target or registry.first_target
    _require_known(spec, args)
    try:
        answer = _answer(registry, spec, target, shape, args)
    except NotVerifiedError as error:
        warn(f"registry-tool lookup: {error}")
        return EXIT_FINDINGS
    except ValueError as error:
        raise UsageError(str(error)) from None
    if args.format == "json":
        say_json(answer)
    else:
        for name, value in answer.items():
            if value != {}:
                say(f"{name:<12} {_text(value)}")
    return EXIT_OK


def _spec(registry: Registry, name: str) -> KernelSpec:
    same = [spec for kernel, spec in registry.specs.items() if kernel.lower() == name.lower()]
    return same[0] if same else registry.spec(name)


def _require_known(spec: KernelSpec, args: argparse.Namespace) -> None:
    tiers = sorted({one.precision for one in spec.variants.values() if one.precision})
    for option, given, known in (
        ("variant", args.variant, list(spec.variants)),
        ("precision", args.precision, [str(tier) for tier in tiers]),
    ):
        if given is not None and given not in known:
            there = ", ".join(known) or "none"
            raise UsageError(f"--{option} {given}: {spec.kernel} has {there}")


def _answer(
    registry: Registry,
    spec: KernelSpec,
    target: str,
    shape: dict[str, int],
    args: argparse.Namespace,
) -> dict[str, Any]:
    import json

    from registry_tool.registry_lookup import Lookup
    from registry_tool.tables.render import details_json

    records = [
        record
        for row, record in registry.records.items()
        if (row.target, row.kernel) == (target, spec.kernel)
    ]
    kind = registry.target(target).kind
    document = json.loads(details_json(spec, target, kind, records, registry.policy.lookup))
    lookup = Lookup.of_documents({spec.kernel: document}, strict=args.strict)
    return lookup.kernel_config(spec.kernel, shape, args.variant, args.precision)


def _text(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={size}" for name, size in value.items())
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, list):
        return "x".join(map(str, value))
    if value is None:
        return "not measured"
    return str(value).lower() if isinstance(value, bool) else str(value)
