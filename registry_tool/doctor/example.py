"""A configuration to try a kernel's commands with: any that its spec calls legal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from registry_tool.planning import search
from registry_tool.records import kernel
from registry_tool.records.spec import KernelSpec

# The first ones are sizes of models; the last ones are for dims that count heads or groups.
_SIZES = (2048, 1024, 4096, 8192, 512, 65536, 1 << 20, 1 << 22, 1 << 24, 256, 128, 64, 32, 8, 1)
_TRIES = 400


@dataclass(frozen=True)
class Example:
    """A legal configuration of one variant."""

    variant: str | None
    shape: dict[str, int]
    tile: dict[str, int]
    herd: tuple[int, ...]


def examples(
    spec: KernelSpec, target: str, known: Iterable[Mapping[str, int]] = ()
) -> list[Example]:
    """One example for each variant that has one, the variant that is tried first in front.

    The spec's canary gives the shape, else ``known`` ones (of rows or needs), else a search.
    """
    harness = spec.harness.get(target)
    canary = harness.canary if harness else None
    shapes = [canary.shape, *known] if canary else list(known)
    found = []
    for variant in _variants(spec, shapes):
        if canary and canary.variant == variant:
            tile, herd = dict(canary.tile), tuple(canary.herd)
            found.append(Example(variant, dict(canary.shape), tile, herd))
            continue
        tries = itertools.chain(shapes, _shapes(spec))
        one = next(filter(None, (_legal(spec, dict(shape), variant) for shape in tries)), None)
        if one is not None:
            found.append(one)
    return found


def _variants(spec: KernelSpec, shapes: list[Mapping[str, int]]) -> list[str | None]:
    if not spec.variants:
        return [None]
    shape = dict(shapes[0]) if shapes else next(_shapes(spec))
    # Those that a preference leaves out exist as well.
    return list(dict.fromkeys([*kernel.variant_order(spec, shape), *spec.variants]))


def _legal(spec: KernelSpec, shape: dict[str, int], variant: str | None) -> Example | None:
    if kernel.check_shape(spec, shape) is not None:
        return None
    best = search.best(spec, shape, variant)
    return None if best is None else Example(variant, shape, best.tile, best.herd)


def _shapes(spec: KernelSpec) -> Iterator[dict[str, int]]:
    """Shapes to try: all dims alike first, then mixed ones, a bounded number of them."""
    switches = {dim for dim in spec.dims if _is_switch(spec, dim)}
    sizes = [dim for dim in spec.dims if dim not in switches]
    alike = ((size,) * len(sizes) for size in _SIZES)
    mixed = itertools.product(_SIZES, repeat=len(sizes))
    for values in itertools.islice(itertools.chain(alike, mixed), _TRIES):
        given = dict(zip(sizes, values, strict=True))
        yield {dim: 1 if dim in switches else given[dim] for dim in spec.dims}


def _is_switch(spec: KernelSpec, dim: str) -> bool:
    """Whether 0 is allowed for ``dim``: it is on or off, not a size."""
    return kernel.check_shape(spec, {one: 0 if one == dim else 1 for one in spec.dims}) is None
