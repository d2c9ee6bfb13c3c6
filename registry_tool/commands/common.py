"""What the verbs share: finding the registry, reading rows and shapes from words, printing."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from registry_tool.errors import UsageError

if TYPE_CHECKING:
    from registry_tool.records.keys import RowId
    from registry_tool.records.spec import KernelSpec
    from registry_tool.store.registry import Registry


def say(text: str, end: str = "\n") -> None:
    """A line of result, to standard output."""
    _write(sys.stdout, f"{text}{end}")


def warn(text: str, end: str = "\n") -> None:
    """A line of progress or trouble, to standard error, at once."""
    _write(sys.stderr, f"{text}{end}", at_once=True)


def _write(stream: TextIO, text: str, at_once: bool = False) -> None:
    """Print; a reader that went away (`| head`) ends the printing, never the work."""
    try:
        stream.write(text)
        if at_once:
            stream.flush()
    except BrokenPipeError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Send what is still printed to ``stream`` nowhere; Python must not complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def say_lines(lines: Iterable[str]) -> None:
    """Lines of result that hold what strangers wrote, each made harmless."""
    from registry_tool.report.escape import start

    say("\n".join(map(start, lines)))


def say_json(document: Any) -> None:
    """A result as JSON, to standard output."""
    from registry_tool.report.escape import json_text

    say(json_text(document))


def find(args: argparse.Namespace) -> Path:
    """The registry's root: --registry, or the nearest one from here upward."""
    from registry_tool.store.root import POLICY, find_root

    if args.registry is None:
        return find_root(Path.cwd())
    root = Path(args.registry)
    if not (root / POLICY).is_file():
        raise UsageError(
            f"no {POLICY} in {root}", fix=f"registry-tool init {root} (or another --registry DIR)"
        )
    return root.resolve()


def open_worktree(args: argparse.Namespace) -> Registry:
    """The registry as its files on disk say."""
    from registry_tool.store import registry, snapshot

    return registry.load(snapshot.of_worktree(find(args)))


def stage(registry: Registry, paths: Iterable[str]) -> None:
    """`git add` exactly ``paths`` (relative to the registry), if it is in a repository."""
    from registry_tool.store import git

    if registry.snapshot.repository is not None:
        git.stage(registry.snapshot.repository, sorted(set(paths)))


def is_size(text: str) -> bool:
    """Whether ``text`` is a whole number that can be a size."""
    return text.isascii() and text.isdigit() and len(text) <= 10


def parse_line(text: str, what: str) -> str:
    """``text`` with its white space folded; raises UsageError if it is no line to keep."""
    import unicodedata

    folded = " ".join(text.split())
    odd = [character for character in folded if unicodedata.category(character) in ("Cc", "Cs")]
    if odd:
        raise UsageError(f"{what} holds the control character {odd[0]!r}")
    if not 1 <= len(folded) <= 1000:
        raise UsageError(f"{what} is a line of 1 to 1000 characters, found {len(folded)}")
    return folded


def parse_shape(spec: KernelSpec, words: Sequence[str]) -> dict[str, int]:
    """A shape from ``M=2048 K=1024 N=3072``, ``M=2048,K=1024,N=3072`` or ``2048x1024x3072``.

    Raises UsageError if the dims are not those of ``spec``.
    """
    from registry_tool.records.kernel import check_shape

    example = " ".join(f"{dim}=SIZE" for dim in spec.dims)
    parts = [part for word in words for part in word.replace("×", "x").split(",") if part]
    if len(parts) == 1 and "=" not in parts[0]:
        sizes = parts[0].split("x")
        if len(sizes) != len(spec.dims):
            raise UsageError(f"{parts[0]!r} is no shape of {spec.kernel}; expected {example}")
        parts = [f"{dim}={size}" for dim, size in zip(spec.dims, sizes, strict=True)]
    given: dict[str, int] = {}
    for part in parts:
        dim, _, size = part.partition("=")
        if dim not in spec.dims or dim in given:
            raise UsageError(f"{part!r} is no new dim of {spec.kernel}; expected {example}")
        if not is_size(size):
            raise UsageError(f"{part[:40]!r}: a size is a whole number of at most 10 digits")
        given[dim] = int(size)
    missing = [dim for dim in spec.dims if dim not in given]
    if missing:
        raise UsageError(f"{', '.join(missing)} not given; {spec.kernel} takes {example}")
    shape = {dim: given[dim] for dim in spec.dims}
    problem = check_shape(spec, shape)
    if problem:
        raise UsageError(problem)
    return shape


def parse_sizes(text: str | None, known: Iterable[str], what: str) -> dict[str, int] | None:
    """``tile_m=32,tile_n=128`` as a dict over all of ``known``; None stays None."""
    if text is None:
        return None
    wanted = list(known)
    given: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, size = part.partition("=")
        if name not in wanted or not is_size(size) or int(size) < 1:
            raise UsageError(f"{part!r} is no {what}; expected {', '.join(wanted)} as NAME=SIZE")
        given[name] = int(size)
    missing = [name for name in wanted if name not in given]
    if missing:
        raise UsageError(f"the {what} lacks {', '.join(missing)}")
    return {name: given[name] for name in wanted}


def parse_herd(text: str | None, spec: KernelSpec) -> list[int] | None:
    """``8x4`` as extents in the order of the spec's axes; None stays None."""
    if text is None:
        return None
    parts = text.replace("×", "x").split("x")
    if len(parts) != len(spec.herd) or not all(is_size(part) and int(part) for part in parts):
        raise UsageError(f"{text!r} is no herd of {spec.kernel}; expected {'x'.join(spec.herd)}")
    return [int(part) for part in parts]


def find_row(registry: Registry, text: str) -> RowId:
    """The row that ``text`` names: its path, target/kernel/key, or a unique end of that."""
    from registry_tool.records.keys import parse_record_path

    direct = parse_record_path(text.removeprefix("./"))
    if direct is None:
        inside = Path(text).resolve()
        if inside.is_relative_to(registry.root):
            direct = parse_record_path(inside.relative_to(registry.root).as_posix())
    if direct in registry.record_paths:
        assert direct is not None
        return direct
    wanted = text.replace("×", "x").strip("/").removesuffix(".json")
    found = [row for row in registry.record_paths if f"/{row}".endswith(f"/{wanted}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{text!r} is {len(found)} rows: " + ", ".join(map(str, found)), fix="name one of them"
        )
    import difflib

    names = [str(row) for row in registry.record_paths]
    close = difflib.get_close_matches(wanted, names, 3, 0.5)
    hint = f"; near: {', '.join(close)}" if close else ""
    raise UsageError(f"no row is called {text!r}{hint}", fix="registry-tool status")
