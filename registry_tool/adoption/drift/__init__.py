"""The drift report: every inconsistency of an existing registry, with how sure it is.

`find` is the way in; each family of findings is a module with the same signature, listed here.
Nothing is changed, and nothing of the folder is read beyond what `adoption.read` gave, except the
links of its README; evidence files are only looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from registry_tool.adoption.drift import (
    best,
    bold,
    cells,
    columns,
    constraints,
    coverage,
    evidence,
    headline,
    herd,
    limits,
    pages,
    pipes,
    preference,
    sites,
    stated,
    swept,
    throughput,
    unmeasured,
    verdicts,
    worst,
)
from registry_tool.adoption.drift.finding import Confidence, Finding, Side, reading_order
from registry_tool.adoption.drift.kinds import KINDS
from registry_tool.adoption.model import Adoption
from registry_tool.records.spec import KernelSpec

__all__ = ["FAMILIES", "KINDS", "Confidence", "Finding", "Side", "find"]

Family = Callable[[Adoption, Mapping[str, KernelSpec]], Iterable[Finding]]

FAMILIES: tuple[Family, ...] = (
    headline.find,
    bold.find,
    pages.find,
    coverage.find,
    cells.find,
    columns.find,
    swept.find,
    verdicts.find,
    unmeasured.find,
    worst.find,
    evidence.find,
    best.find,
    herd.find,
    constraints.find,
    stated.find,
    limits.find,
    preference.find,
    throughput.find,
    sites.find,
    pipes.find,
)


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> list[Finding]:
    """Every finding, by kind in the order of KINDS and then by place; each once."""
    found = dict.fromkeys(one for family in FAMILIES for one in family(adoption, specs))
    order = {kind: number for number, kind in enumerate(KINDS)}
    return sorted(found, key=lambda one: (order[one.kind], reading_order(one)))
