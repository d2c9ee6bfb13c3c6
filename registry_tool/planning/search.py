"""Legal tiles and herds of a shape: a backtracking search over a spec's choices, constraints first.

Nothing here knows which rows exist; `planning.tiling` prefers what was already verified.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from registry_tool.records import expressions
from registry_tool.records.kernel import names, shape_text, tiles_in_flight
from registry_tool.records.remarks import COMPUTED as COMPUTED
from registry_tool.records.spec import KernelSpec


@dataclass(frozen=True)
class Configuration:
    """A tile and a herd that satisfy every hard constraint of a shape."""

    tile: dict[str, int]
    herd: tuple[int, ...]


@dataclass(frozen=True)
class _Condition:
    id: str
    hard: bool
    when: str | None
    holds: str
    reads: frozenset[str]

    def broken(self, known: Mapping[str, expressions.Value]) -> bool:
        if self.when is not None and not expressions.holds(self.when, known):
            return False
        return not expressions.holds(self.holds, known)


def _conditions(spec: KernelSpec) -> list[_Condition]:
    found = []
    for rule in spec.constraints:
        reads = expressions.names_in(rule.holds) | expressions.names_in(rule.when or "0")
        found.append(_Condition(rule.id, rule.kind == "hard", rule.when, rule.holds, reads))
    for bad in spec.known_bad:
        reads = expressions.names_in(bad.when)
        found.append(_Condition("known-bad", True, None, f"not ({bad.when})", reads))
    return found


def search(
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None,
) -> Iterator[Configuration]:
    """Legal configurations, most tiles in flight first; guidelines and choice order break ties."""
    conditions = _conditions(spec)
    for herd in _herds(spec):
        kept = _tiles(spec, shape, variant, herd, conditions)
        seen: list[dict[str, int]] = []
        for tile in kept:
            seen.append(tile)
            yield Configuration(tile, herd)
        hard = [rule for rule in conditions if rule.hard]
        if len(hard) < len(conditions):
            for tile in _tiles(spec, shape, variant, herd, hard):
                if tile not in seen:
                    yield Configuration(tile, herd)


def _herds(spec: KernelSpec) -> list[tuple[int, ...]]:
    every = itertools.product(*(axis.choices for axis in spec.herd.values()))
    return sorted(every, key=lambda herd: -tiles_in_flight(herd))


def _tiles(
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None,
    herd: tuple[int, ...],
    conditions: list[_Condition],
) -> Iterator[dict[str, int]]:
    known = names(spec, shape, variant, {}, herd)
    knobs = list(spec.tile)
    # A condition is tried as soon as the last knob that it reads has a value.
    stages: list[list[_Condition]] = [[] for _ in range(len(knobs) + 1)]
    for rule in conditions:
        last = max((knobs.index(name) + 1 for name in rule.reads if name in spec.tile), default=0)
        stages[last].append(rule)
    if any(rule.broken(known) for rule in stages[0]):
        return
    yield from _extend(spec, knobs, stages, known, {})


def _extend(
    spec: KernelSpec,
    knobs: list[str],
    stages: list[list[_Condition]],
    known: dict[str, expressions.Value],
    tile: dict[str, int],
) -> Iterator[dict[str, int]]:
    if len(tile) == len(knobs):
        yield dict(tile)
        return
    knob = knobs[len(tile)]
    for size in spec.tile[knob].choices:
        known[knob] = tile[knob] = size
        if not any(rule.broken(known) for rule in stages[len(tile)]):
            yield from _extend(spec, knobs, stages, known, tile)
        del tile[knob]
    del known[knob]


def best(spec: KernelSpec, shape: Mapping[str, int], variant: str | None) -> Configuration | None:
    """The first configuration of `search`, or None if there is no legal one."""
    return next(search(spec, shape, variant), None)


def legal_herds(
    spec: KernelSpec, shape: Mapping[str, int], variant: str | None
) -> list[tuple[int, ...]]:
    """Every herd for which some tile is legal, most tiles in flight first."""
    hard = [rule for rule in _conditions(spec) if rule.hard]
    return [
        herd
        for herd in _herds(spec)
        if next(_tiles(spec, shape, variant, herd, hard), None) is not None
    ]


def under_target_note(
    spec: KernelSpec, shape: Mapping[str, int], variant: str | None
) -> str | None:
    """The reason that verify writes where no legal herd reaches the target; None if one does."""
    found = best(spec, shape, variant)
    tiles = tiles_in_flight(found.herd) if found else 0
    if found is None or tiles >= spec.tiles_target:
        return None
    herd = "×".join(map(str, found.herd))
    return (
        f"{COMPUTED}no legal herd of {spec.kernel} at {shape_text(spec, shape)} has more than "
        f"{tiles} of {spec.tiles_target} tiles in flight ({herd})"
    )


def blocking_constraints(
    spec: KernelSpec, shape: Mapping[str, int], variant: str | None
) -> list[str]:
    """Why no configuration is legal: each constraint whose absence alone would allow one.

    Empty if a configuration is legal; if several constraints block together, all that no choice
    satisfies are named.
    """
    if is_possible(spec, shape, variant):
        return []
    hard = [rule for rule in spec.constraints if rule.kind == "hard"]
    alone = [
        f"{rule.holds} ({rule.reason})"
        for rule in hard
        if is_possible(spec, shape, variant, rule.id)
    ]
    if alone:
        return alone
    known = names(spec, shape, variant)
    return [
        f"{rule.holds} ({rule.reason})" for rule in hard if not _satisfiable(spec, rule.id, known)
    ] or [f"{rule.holds} ({rule.reason})" for rule in hard]


def is_possible(
    spec: KernelSpec, shape: Mapping[str, int], variant: str | None, without: str | None = None
) -> bool:
    """Whether some configuration keeps every hard constraint but the one named ``without``."""
    hard = [rule for rule in _conditions(spec) if rule.hard and rule.id != without]
    return any(
        next(_tiles(spec, shape, variant, herd, hard), None) is not None for herd in _herds(spec)
    )


def _satisfiable(spec: KernelSpec, rule_id: str, known: Mapping[str, expressions.Value]) -> bool:
    rule = next(rule for rule in _conditions(spec) if rule.id == rule_id)
    ranges = {name: knob.choices for name, knob in spec.tile.items()}
    ranges.update({name: axis.choices for name, axis in spec.herd.items()})
    if "tiles" in rule.reads:
        ranges["tiles"] = sorted({tiles_in_flight(herd) for herd in _herds(spec)})
    read = [name for name in ranges if name in rule.reads]
    return any(
        not rule.broken({**known, **dict(zip(read, values, strict=True))})
        for values in itertools.product(*(ranges[name] for name in read))
    )
