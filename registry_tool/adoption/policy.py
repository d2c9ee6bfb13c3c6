"""registry.yaml, changed in place: the order of its targets, with every comment kept."""

from __future__ import annotations

import io
from typing import Any

from registry_tool.records import catalog


def with_first(data: bytes, target: str, path: str) -> bytes:
    """The bytes of registry.yaml with ``target`` as its first one; the rest stays as it is.

    Raises InputError for a file that is no policy, KeyError for a target that it does not name.
    """
    policy = catalog.parse_policy(data, path)
    if target not in policy.targets:
        raise KeyError(target)
    if next(iter(policy.targets)) == target:
        return data
    for change in (_lines_moved, _written_anew):
        changed = change(data, target)
        if changed is None:
            continue
        after = catalog.parse_policy(changed, path)
        if next(iter(after.targets)) == target and after == policy:
            return changed
    raise AssertionError(f"{path} cannot be put into another order")


def _document(data: bytes) -> tuple[Any, Any]:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    yaml.width = 4096
    return yaml, yaml.load(data.decode("utf-8"))


def _lines_moved(data: bytes, target: str) -> bytes | None:
    """The lines of a target in block style, moved before the first one; None for other styles."""
    _, document = _document(data)
    targets = document["targets"]
    if targets.fa.flow_style():
        return None
    lines = data.decode("utf-8").splitlines(keepends=True)
    starts = {name: targets.lc.key(name)[0] for name in targets}
    column = targets.lc.key(target)[1]
    first = _with_comments(lines, min(starts.values()), column)
    start = _with_comments(lines, starts[target], column)
    stop = starts[target] + 1
    while stop < len(lines) and (_is_below(lines[stop], column) or not lines[stop].strip()):
        stop += 1
    while not lines[stop - 1].strip():
        stop -= 1
    moved = lines[start:stop]
    if not moved[-1].endswith("\n"):
        moved[-1] += "\n"
    return "".join([*lines[:first], *moved, *lines[first:start], *lines[stop:]]).encode()


def _is_below(line: str, column: int) -> bool:
    return bool(line.strip()) and len(line) - len(line.lstrip(" ")) > column


def _with_comments(lines: list[str], at: int, column: int) -> int:
    """The first of the comment lines that stand right above line ``at``, as deep as it."""
    while at > 0 and lines[at - 1].startswith(" " * column + "#") and column > 0:
        at -= 1
    return at


def _written_anew(data: bytes, target: str) -> bytes:
    """The whole file through the YAML writer, which keeps comments."""
    yaml, document = _document(data)
    document["targets"].move_to_end(target, last=False)
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue().encode()
