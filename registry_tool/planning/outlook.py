"""What to expect of a configuration before anything is compiled: walls, tiles, accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from registry_tool.planning.search import legal_herds
from registry_tool.planning.tiling import Candidate
from registry_tool.records import expressions, kernel
from registry_tool.records.spec import Constraint, KernelSpec
from registry_tool.records.verdict import Band


@dataclass(frozen=True)
class Check:
    """One constraint of the page at a configuration: its numbers filled in, and whether it holds.

    A guideline (``hard`` is False) that does not hold is a warning: recorded rows break it too.
    """

    id: str
    hard: bool
    holds: bool
    text: str
    reason: str


@dataclass(frozen=True)
class Outlook:
    """What a run of one configuration will meet.

    ``tiles`` of ``target`` tiles are in flight; ``larger_herds`` are the legal ones with more, if
    it is below. ``band`` is the range of mean_rel_L1 that the page expects.
    """

    checks: tuple[Check, ...]
    tiles: int
    target: int
    larger_herds: tuple[tuple[int, ...], ...]
    band: Band | None

    @property
    def warnings(self) -> tuple[Check, ...]:
        """The guidelines that do not hold."""
        return tuple(check for check in self.checks if not check.holds)


def outlook(spec: KernelSpec, shape: Mapping[str, int], candidate: Candidate) -> Outlook:
    """What ``spec`` says of ``shape`` at ``candidate``."""
    tiles = kernel.tiles_in_flight(candidate.herd)
    larger: tuple[tuple[int, ...], ...] = ()
    if tiles < spec.tiles_target:
        herds = legal_herds(spec, shape, candidate.variant)
        larger = tuple(herd for herd in herds if kernel.tiles_in_flight(herd) > tiles)
    return Outlook(
        checks=checks(spec, shape, candidate),
        tiles=tiles,
        target=spec.tiles_target,
        larger_herds=larger,
        band=kernel.band(spec, shape, candidate.variant, candidate.tile, candidate.herd),
    )


def checks(spec: KernelSpec, shape: Mapping[str, int], candidate: Candidate) -> tuple[Check, ...]:
    """Every constraint that applies and every known-bad tiling, in the page's order."""
    variant, tile, herd = candidate.variant, candidate.tile, candidate.herd
    known = kernel.names(spec, shape, variant, tile, herd)
    found = [
        Check(
            id=rule.id,
            hard=rule.kind == "hard",
            holds=expressions.holds(rule.holds, known),
            text=_filled(rule, known),
            reason=rule.reason,
        )
        for rule in spec.constraints
        if rule.when is None or expressions.holds(rule.when, known)
    ]
    found += [
        Check(
            "known-bad",
            True,
            not expressions.holds(bad.when, known),
            f"not ({bad.when})",
            bad.reason,
        )
        for bad in spec.known_bad
    ]
    return tuple(found)


def _filled(rule: Constraint, known: Mapping[str, expressions.Value]) -> str:
    read = [name for name in sorted(expressions.names_in(rule.holds)) if name in known]
    values = ", ".join(f"{name}={known[name]}" for name in read)
    return f"{rule.holds}  [{values}]" if values else rule.holds
