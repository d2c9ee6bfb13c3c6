"""The tile and herd that a shape is run at: the nearest verified row that fits, else a search."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from registry_tool.planning.placement import ConfigurationKey, key_of
from registry_tool.planning.search import search
from registry_tool.records.kernel import shape_text, tiles_in_flight, violations
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec


@dataclass(frozen=True)
class Candidate:
    """A configuration to run a shape at, and where it comes from."""

    variant: str | None
    tile: dict[str, int]
    herd: list[int]
    source: str


def choose(
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None,
    rows: Iterable[Record],
    refused: Collection[ConfigurationKey] = (),
    imported: Iterable[Record] = (),
) -> Candidate | None:
    """A legal configuration, or None if no choice satisfies every hard constraint.

    Those in ``refused`` are known not to place.
    ``rows`` are the passing rows of the **same target**: emulated accuracy does not depend on the
    tile, so an emulated row says nothing about a tile on hardware. A row's configuration is taken
    only if it keeps at least as many tiles in flight as the search would. Where no verified row
    fits, those of ``imported`` ones are tried, and said to be that.
    """
    rows = [row for row in rows if key_of(row.tile, row.herd) not in refused]
    legal = search(spec, shape, variant)
    found = next((one for one in legal if key_of(one.tile, one.herd) not in refused), None)
    if found is None:
        return _nearest(spec, shape, variant, rows, 1)
    wanted = min(tiles_in_flight(found.herd), spec.tiles_target)
    near = _nearest(spec, shape, variant, rows, wanted)
    if near is None:
        others = [row for row in imported if key_of(row.tile, row.herd) not in refused]
        near = _nearest(spec, shape, variant, others, wanted)
    return near or Candidate(variant, found.tile, list(found.herd), "search")


def _nearest(
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None,
    rows: Iterable[Record],
    tiles: int,
) -> Candidate | None:
    alike = [
        row
        for row in rows
        if row.kernel == spec.kernel and row.variant == variant and row.tiles_in_flight >= tiles
    ]
    # The constraints are what costs: they are tried from the nearest row on, until one fits.
    alike.sort(key=lambda row: (distance(shape, row.shape), list(row.shape.values())))
    row = next((row for row in alike if fits(spec, shape, variant, row)), None)
    if row is None:
        return None
    kind = ", imported and not verified" if row.verdict.kind == "imported" else ""
    source = f"copied from {shape_text(spec, row.shape)}{kind}"
    return Candidate(variant, row.tile, row.herd, source)


def fits(spec: KernelSpec, shape: Mapping[str, int], variant: str | None, row: Record) -> bool:
    """Whether tile and herd of ``row`` satisfy every hard constraint of ``shape``."""
    if list(row.tile) != list(spec.tile) or len(row.herd) != len(spec.herd):
        return False
    return not any(found.hard for found in violations(spec, shape, variant, row.tile, row.herd))


def distance(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """How far two shapes are apart: the sum of |log2| of the ratios of their dims."""
    return sum(abs(math.log2((a[dim] + 1) / (b[dim] + 1))) for dim in a)
