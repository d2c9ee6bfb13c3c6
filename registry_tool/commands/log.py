"""Show when each row appeared, changed and was retired: by which commit and verdict.

Everything comes from git: the commits that reach HEAD, newest first.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from registry_tool.commands.common import find, parse_shape, say
from registry_tool.errors import EXIT_OK, UsageError
from registry_tool.history.log import Event, Wanted, events
from registry_tool.store import git, registry, snapshot

FORMATS = ("text", "json")
_FIGURES = ("mean_rel_L1", "herd")
_GROUPS = ("tile.", "performance.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rows to show."""
    parser.add_argument("kernel", nargs="?", metavar="KERNEL", help="only rows of this kernel")
    parser.add_argument(
        "shape",
        nargs="?",
        metavar="SHAPE",
        help="only this shape: 2048x1024x1024, M=2048,K=1024,N=1024, or with +variant",
    )
    parser.add_argument("--target", metavar="NAME", help="only rows of this target")


def run(args: argparse.Namespace) -> int:
    """Print the events, newest first."""
    root = find(args)
    repository = git.require_repository(root)
    found = events(repository, _wanted(args, root))
    if args.format == "json":
        _say_json(found)
        return EXIT_OK
    shown = False
    for event in found:
        shown = True
        say("\n".join(_lines(event)))
    if not shown:
        _require_known(args.kernel, root)
        say("no commit has such a row" if args.kernel else "no commit has a row yet")
    return EXIT_OK


def _require_known(kernel: str | None, root: Path) -> None:
    """Raise UsageError for a kernel that the registry does not know."""
    specs = registry.load(snapshot.of_worktree(root)).specs
    if kernel is not None and kernel not in specs:
        import difflib

        names = {name.lower(): name for name in specs}
        close = difflib.get_close_matches(kernel.lower(), names, 1)
        hint = f"; did you mean {names[close[0]]}?" if close else f"; known are {', '.join(specs)}"
        raise UsageError(f"unknown kernel {kernel!r}{hint}")


def _wanted(args: argparse.Namespace, root: Path) -> Wanted:
    sizes, variant = _key(args, root)

    def wanted(target: str, kernel: str, key: str) -> bool:
        shape, _, of = key.partition("+")
        return (
            args.target in (None, target)
            and args.kernel in (None, kernel)
            and sizes in (None, shape)
            and variant in (None, of)
        )

    return wanted


def _key(args: argparse.Namespace, root: Path) -> tuple[str | None, str | None]:
    """Sizes and variant that SHAPE asks for, as they stand in a row's key."""
    if args.shape is None:
        return None, None
    shape, _, variant = args.shape.replace("×", "x").partition("+")
    if "=" in shape:
        state = snapshot.of_revision(root, "HEAD")
        spec = registry.load(state).spec(args.kernel)
        shape = "x".join(map(str, parse_shape(spec, [shape]).values()))
    if not all(size.isascii() and size.isdigit() for size in shape.split("x")):
        raise UsageError(
            f"{args.shape!r} is no shape; expected sizes like 2048x1024x1024",
            fix=f"registry-tool log {args.kernel}",
        )
    return shape, variant or None


def _lines(event: Event) -> Iterator[str]:
    yield f"{event.date} {event.commit[:12]} {event.author}: {event.event} {event.record}"
    before, after = event.before or {}, event.after or {}
    if event.event == "changed":
        for field in dict.fromkeys((*before, *after)):
            yield f"    {field}: {_text(before.get(field))} -> {_text(after.get(field))}"
    else:
        fields = after if event.event == "added" else before
        figures = [
            f"{field} {_text(value)}"
            for field, value in fields.items()
            if (field in _FIGURES or field.startswith(_GROUPS)) and value is not None
        ]
        yield f"    {', '.join(figures)}"
    if event.verdict:
        yield f"    verdict {event.verdict}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _say_json(found: Iterable[Event]) -> None:
    """One event per line: an indented form takes ten times as long to write."""
    lines = [json.dumps(event.__dict__, ensure_ascii=False) for event in found]
    say("[\n" + ",\n".join(lines) + "\n]" if lines else "[]")
