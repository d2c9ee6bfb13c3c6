"""Which row a line of a table is about: shape, variant, tile and herd read from its cells."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from registry_tool.absorb.expected import SPACE, TIMES, Column, ExpectedTable
from registry_tool.records import kernel
from registry_tool.records.spec import KernelSpec
from registry_tool.tables.columns import NOTHING

_YES = {"yes": 1, "no": 0, "1": 1, "0": 0, "true": 1, "false": 0, "✓": 1, "✗": 0}
# How a page writes a herd beside a tile, where it is not the usual one.
_HERD = re.compile(r"\(herd ([0-9]+(?:[×x][0-9]+)*)\)")
CONFIGURATION = ("tile", "herd", "configuration")
"""Cell formats that show how a row is run."""
_EMPTY = ("", NOTHING, "-", "–")


class UnclearError(ValueError):
    """A cell does not say what it must; the message is for the person who wrote it."""


@dataclass(frozen=True)
class Identity:
    """Shape and variant of a row; ``variant`` is None where none is named."""

    shape: dict[str, int]
    variant: str | None


def is_empty(text: str) -> bool:
    """Whether a cell says nothing."""
    return text.strip() in _EMPTY


def identity(table: ExpectedTable, texts: Sequence[str]) -> Identity:
    """Shape and variant that the cells of a row name; raises UnclearError."""
    spec = table.spec
    assert spec is not None
    sizes: dict[str, int] = {}
    variant = table.variant
    for column, text in zip(table.columns, texts, strict=True):
        if column.cell == "variant":
            variant = _variant(spec, column, text)
            continue
        for dim, size in _sizes(spec, column, text).items():
            if sizes.setdefault(dim, size) != size:
                raise UnclearError(f"{dim} is {sizes[dim]} in one column and {size} in another")
    missing = [dim for dim in spec.dims if dim not in sizes]
    if missing:
        raise UnclearError(f"no column of the table says {', '.join(missing)}")
    shape = {dim: sizes[dim] for dim in spec.dims}
    problem = kernel.check_shape(spec, shape)
    if problem:
        raise UnclearError(problem)
    return Identity(shape, variant)


def _variant(spec: KernelSpec, column: Column, text: str) -> str | None:
    if is_empty(text):
        if spec.variants:
            raise UnclearError(f"{column.title} is empty; it is one of {', '.join(spec.variants)}")
        return None
    known = {name.casefold(): name for name in spec.variants}
    name = known.get(text.strip().casefold())
    if name is None:
        words = f"one of {', '.join(spec.variants)}" if spec.variants else f"{NOTHING}: it has none"
        raise UnclearError(f"{column.title} says {text!r}; it is {words}")
    return name


def _sizes(spec: KernelSpec, column: Column, text: str) -> dict[str, int]:
    """Dims that one cell names; none if it is not a cell of that kind."""
    if column.cell == "yes_no":
        answer = _YES.get(text.strip().casefold())
        if answer is None:
            raise UnclearError(f"{column.title} says {text!r}; it is yes or no")
        return {column.argument or "": answer}
    templates = {
        "shape": spec.shape_text,
        "dim": f"{{{column.argument}}}",
        "template": column.argument or "",
    }
    template = templates.get(column.cell)
    return {} if template is None else read_template(template, column.title, text)


def read_template(template: str, title: str, text: str) -> dict[str, int]:
    """The sizes in ``text``, which is written as ``template`` (`{M}×{K}`); raises UnclearError."""
    pattern = ""
    seen: set[str] = set()
    for literal, name, _, _ in string.Formatter().parse(template):
        pattern += re.escape(_plain(literal))
        if name is not None:
            if not name.isidentifier():
                raise UnclearError(f"{title} is computed ({name}), so nothing is read from it")
            again = name in seen
            pattern += f"(?P=d_{name})" if again else rf"(?P<d_{name}>[0-9]{{1,10}})"
            seen.add(name)
    match = re.fullmatch(pattern, _plain(text))
    if match is None:
        raise UnclearError(f"{title} says {text!r}; it is written as {template}")
    return {name.removeprefix("d_"): int(size) for name, size in match.groupdict().items()}


def _plain(text: str) -> str:
    return TIMES.sub("×", SPACE.sub("", text))


def configuration(spec: KernelSpec, column: Column, text: str) -> dict[str, int]:
    """The tile knobs and herd axes that a cell names; none if it is empty. Raises UnclearError."""
    if is_empty(text):
        return {}
    if column.cell == "configuration":
        said = _HERD.search(text)
        rest = _HERD.sub("", text)
        found = read_template(column.argument or "", column.title, rest)
        return found | (configuration(spec, Column(column.title, "herd"), said[1]) if said else {})
    names, between = (spec.tile, "/") if column.cell == "tile" else (spec.herd, "×")
    parts = _plain(text).split(between)
    if len(parts) != len(names) or not all(map(_is_count, parts)):
        raise UnclearError(f"{column.title} says {text!r}; it is {between.join(names)}")
    return dict(zip(names, map(int, parts), strict=True))


def tile_and_herd(
    spec: KernelSpec, sizes: Mapping[str, int]
) -> tuple[dict[str, int] | None, list[int] | None]:
    """The tile and the herd that ``sizes`` give; None for one that they do not give in full."""
    tile = {knob: sizes[knob] for knob in spec.tile if knob in sizes}
    herd = [sizes[axis] for axis in spec.herd if axis in sizes]
    return (
        tile if tile and len(tile) == len(spec.tile) else None,
        herd if herd and len(herd) == len(spec.herd) else None,
    )


def _is_count(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,10}", text) is not None and int(text) > 0
