"""A brute-force search over a spec's choices: the slow oracle of what is legal for a shape."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from registry_tool.records import expressions
from registry_tool.records.spec import KernelSpec


@dataclass(frozen=True)
class Legal:
    """A tile and a herd that break no hard constraint."""

    tile: dict[str, int]
    herd: tuple[int, ...]

    @property
    def tiles(self) -> int:
        """Tiles in flight."""
        return math.prod(self.herd)


def legal(
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None,
    *,
    guidelines: bool = False,
    without: frozenset[str] = frozenset(),
) -> Iterator[Legal]:
    """Every legal configuration, most tiles first, then in the order of the choices.

    ``guidelines`` holds those too; ``without`` leaves out the constraints of these ids.
    """
    rules = [
        (rule.when or "True", rule.holds)
        for rule in spec.constraints
        if (rule.kind == "hard" or guidelines) and rule.id not in without
    ]
    rules += [(bad.when, "False") for bad in spec.known_bad]
    pending = [(when, holds, _reads(when) | _reads(holds)) for when, holds in rules]
    herds = itertools.product(*(axis.choices for axis in spec.herd.values()))
    for herd in sorted(herds, key=lambda extents: -math.prod(extents)):
        known: dict[str, expressions.Value] = {**shape, "variant": variant}
        known.update(zip(spec.herd, herd, strict=True), tiles=math.prod(herd))
        for tile in _tiles(spec, known, list(spec.tile), pending):
            yield Legal(tile, herd)


_Pending = list[tuple[str, str, frozenset[str]]]


def _reads(text: str) -> frozenset[str]:
    return expressions.names_in(text)


def _tiles(
    spec: KernelSpec, known: dict[str, expressions.Value], knobs: list[str], pending: _Pending
) -> Iterator[dict[str, int]]:
    due = [rule for rule in pending if rule[2] <= known.keys()]
    if any(expressions.holds(w, known) and not expressions.holds(h, known) for w, h, _ in due):
        return
    if not knobs:
        yield {name: int(known[name] or 0) for name in spec.tile}
        return
    later = [rule for rule in pending if rule not in due]
    for size in spec.tile[knobs[0]].choices:
        yield from _tiles(spec, {**known, knobs[0]: size}, knobs[1:], later)


def blocking(spec: KernelSpec, shape: Mapping[str, int], variant: str | None) -> set[str]:
    """The constraints whose absence alone would make some configuration legal."""
    return {
        rule.id
        for rule in spec.constraints
        if rule.kind == "hard"
        and next(legal(spec, shape, variant, without=frozenset({rule.id})), None) is not None
    }
