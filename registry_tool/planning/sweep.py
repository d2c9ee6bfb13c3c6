"""In which order the configurations of a shape are swept; nothing is run here."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping

from registry_tool.planning.placement import key_of
from registry_tool.planning.search import search
from registry_tool.planning.tiling import Candidate, distance, fits
from registry_tool.records.kernel import shape_text, tiles_in_flight, violations
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec

_MOST = 5000
"""Legal configurations that are ranked; the search yields those with most tiles first."""


def configurations(
    spec: KernelSpec, shape: Mapping[str, int], variant: str | None, rows: Iterable[Record]
) -> Iterator[Candidate]:
    """Every legal configuration of ``shape``, the most promising first, each once.

    First those of verified rows of the same target and variant (``rows``), the nearest shape
    first; then all legal ones: many tiles in flight, guidelines kept, near to a verified one.
    """
    alike = [row for row in rows if row.kernel == spec.kernel and row.variant == variant]
    alike.sort(key=lambda row: (distance(shape, row.shape), list(row.shape.values())))
    seen = set()
    for row in alike:
        key = key_of(row.tile, row.herd)
        if key not in seen and fits(spec, shape, variant, row):
            seen.add(key)
            text = f"copied from {shape_text(spec, row.shape)}"
            yield Candidate(variant, row.tile, row.herd, text)
    legal = [
        Candidate(variant, found.tile, list(found.herd), "search")
        for found in itertools.islice(search(spec, shape, variant), _MOST)
    ]
    # Sorting is stable: the search's own order decides between equals.
    legal.sort(key=lambda candidate: _rank(spec, shape, candidate, alike))
    for candidate in legal:
        key = key_of(candidate.tile, candidate.herd)
        if key not in seen:
            seen.add(key)
            yield candidate


def _rank(
    spec: KernelSpec, shape: Mapping[str, int], candidate: Candidate, alike: list[Record]
) -> tuple[int, int, float]:
    broken = violations(spec, shape, candidate.variant, candidate.tile, candidate.herd)
    near = min((_apart(candidate, row) for row in alike[:8]), default=0.0)
    return -min(tiles_in_flight(candidate.herd), spec.tiles_target), len(broken), near


def _apart(candidate: Candidate, row: Record) -> float:
    """Sum of |log2| of the ratios of knobs and extents."""
    knobs = zip(candidate.tile.values(), row.tile.values(), strict=True)
    extents = zip(candidate.herd, row.herd, strict=True)
    return sum(abs(math.log2(a / b)) for a, b in itertools.chain(knobs, extents))
