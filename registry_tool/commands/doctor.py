"""Check machine, lock and harness tree for runs on hardware; nothing is built, no device is used.

One line for each check: ok, a warning, or a problem with the next thing to type. What the kernels'
harnesses would do is taken from `make -n` and the scripts' own help.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from registry_tool.commands.common import open_worktree, say, say_json
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, RegistryError, UsageError

if TYPE_CHECKING:
    from registry_tool.store.registry import Registry

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which target and kernel."""
    parser.add_argument("--target", metavar="NAME", help="hardware target (default: every one)")
    parser.add_argument("--kernel", metavar="NAME", help="kernel page (default: every one)")


def run(args: argparse.Namespace) -> int:
    """Print what was found; exit 1 if something must be mended."""
    import os

    from registry_tool.doctor import examine, report

    registry = _registry(args)
    if registry is None:
        checks = examine.without_registry(os.environ)
    else:
        checks = examine.everything(registry, _targets(registry, args), args.kernel, os.environ)
    if args.format == "json":
        say_json(report.as_json(checks))
    else:
        text = report.as_text(checks, args.quiet)
        if text:
            say(text)
    return EXIT_FINDINGS if any(one.status == "problem" for one in checks) else EXIT_OK


def _registry(args: argparse.Namespace) -> Registry | None:
    """The registry, or None if there is none here and none was asked for."""
    from pathlib import Path

    from registry_tool.store.root import find_root

    if args.registry is None and args.target is None and args.kernel is None:
        try:
            find_root(Path.cwd())
        except RegistryError:
            return None
    return open_worktree(args)


def _targets(registry: Registry, args: argparse.Namespace) -> list[str]:
    hardware = [name for name, one in registry.policy.targets.items() if one.kind == "hardware"]
    if args.kernel is not None:
        registry.spec(args.kernel)
    if args.target is None:
        return hardware
    if registry.target(args.target).kind != "hardware":
        raise UsageError(
            f"{args.target} is emulated: it needs no device, and no harness tree",
            fix=f"registry-tool doctor --target {hardware[0]}" if hardware else None,
        )
    return [args.target]
