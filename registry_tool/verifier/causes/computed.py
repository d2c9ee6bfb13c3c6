"""What a spec's own constraints say of a configuration: which fail, and which values would do.

No kernel is named here: what differs per kernel are the constraints and choices of its spec, and
what a symptom is about are the `About` of the catalogue.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from msgspec.structs import replace

from registry_tool.planning.search import Configuration, blocking_constraints, search
from registry_tool.records import expressions, kernel
from registry_tool.records.spec import Constraint, KernelSpec
from registry_tool.verifier.causes.setup import Setup
from registry_tool.verifier.logs.judge import Judgement

_MOST = 10
"""Values named of a knob, and herds named."""
_FEW = 6
_LONGEST_COUNT = 512
"""Dims up to this are head sizes and counts, which nobody pads; larger ones are lengths."""


@dataclass(frozen=True)
class Split:
    """A dim that is cut into at most ``most`` pieces: dim = ``name`` * inner."""

    dim: str
    name: str
    most: int


@dataclass(frozen=True)
class About:
    """What of a spec a symptom is about.

    ``constraints`` are patterns of ids (`fnmatch`); ``knobs`` are tile knobs and herd axes whose
    other legal values are worth naming even if no constraint fails; ``figures`` are expressions
    to be shown with their value, where the spec knows their names. ``doctor`` is for what that
    command tells of the kernel.
    """

    constraints: tuple[str, ...] = ()
    knobs: tuple[str, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    pad_to: int | None = None
    split: Split | None = None
    herds: bool = False
    variants: bool = False
    bands: bool = False
    doctor: bool = False


def advice(setup: Setup, about: About, judgement: Judgement) -> Iterator[str]:
    """What the spec says of this configuration in the matter of ``about``, a sentence each."""
    known = kernel.names(setup.spec, setup.shape, setup.variant, setup.tile, setup.herd)
    yield from _figures(about, known)
    failing = _failing(setup, about.constraints)
    yield from (_sentence(setup, rule, known) for rule in failing)
    yield from (reason for reason in _known_bad(setup) if failing or about.knobs)
    if setup.is_whole and about.constraints and not failing:
        yield from _holding(setup, about.constraints, known)
    required = frozenset(rule.id for rule in _matching(setup.spec, about.constraints))
    knobs = dict.fromkeys(
        name
        for name in (*_read_by(failing, setup.spec), *about.knobs)
        if name in setup.spec.tile or name in setup.spec.herd
    )
    if knobs:
        yield from _values(setup, knobs, required)
    if about.herds:
        yield from _herds(setup, required)
    if about.pad_to is not None:
        yield from _padding(setup, about.pad_to)
    if about.split is not None and about.split.dim in setup.shape:
        yield _splitting(setup, about.split)
    if about.variants:
        yield from _variants(setup)
    if about.bands:
        yield from _bands(setup, judgement)
    if about.doctor:
        yield f"registry-tool doctor --kernel {setup.spec.kernel}"


def broken(setup: Setup) -> list[tuple[str, str, str]]:
    """Every hard constraint that the configuration breaks: id, sentence, and what would do."""
    if not setup.is_whole:
        return []
    known = kernel.names(setup.spec, setup.shape, setup.variant, setup.tile, setup.herd)
    found = []
    for rule in _failing(setup, ("*",)):
        if rule.kind == "hard":
            knobs = dict.fromkeys(_read_by([rule], setup.spec))
            remedy = "; ".join(_values(setup, knobs, frozenset({rule.id})))
            found.append((rule.id, _sentence(setup, rule, known), remedy))
    knobs = dict.fromkeys((*setup.spec.tile, *setup.spec.herd))
    for sentence in _known_bad(setup):
        found.append(("known-bad", sentence, "; ".join(_values(setup, knobs, frozenset()))))
    return found


# Constraints.


def _matching(spec: KernelSpec, patterns: Iterable[str]) -> list[Constraint]:
    patterns = tuple(patterns)
    return [
        rule
        for rule in spec.constraints
        if any(fnmatchcase(rule.id, pattern) for pattern in patterns)
    ]


def _failing(setup: Setup, patterns: Iterable[str]) -> list[Constraint]:
    if not setup.is_whole:
        return []
    found = kernel.violations(setup.spec, setup.shape, setup.variant, setup.tile, setup.herd)
    ids = {violation.id for violation in found}
    return [rule for rule in _matching(setup.spec, patterns) if rule.id in ids]


def _known_bad(setup: Setup) -> Iterator[str]:
    if setup.is_whole:
        for found in kernel.violations(
            setup.spec, setup.shape, setup.variant, setup.tile, setup.herd
        ):
            if found.id == "known-bad":
                yield found.message


def _sentence(setup: Setup, rule: Constraint, known: Mapping[str, expressions.Value]) -> str:
    values = ", ".join(
        f"{name}={known[name]}"
        for name in sorted(expressions.names_in(rule.holds))
        if name in known
    )
    kind = "" if rule.kind == "hard" else "guideline "
    computed = _sides(rule.holds, known)
    return f"{kind}{rule.id} fails: {rule.holds} ({values}{computed}); {rule.reason}"


def _sides(condition: str, known: Mapping[str, expressions.Value]) -> str:
    """The computed left side of a comparison, where there is one to compute."""
    tree = ast.parse(condition.strip(), mode="eval").body
    if not isinstance(tree, ast.Compare) or isinstance(tree.left, ast.Name):
        return ""
    try:
        value = expressions.number(ast.unparse(tree.left), known)
    except expressions.ExpressionError:
        return ""
    return (
        f": the left side is {value:g}"
        if isinstance(value, float)
        else (f": the left side is {value}")
    )


def _holding(
    setup: Setup, patterns: Iterable[str], known: Mapping[str, expressions.Value]
) -> Iterator[str]:
    ids = [
        rule.id
        for rule in _matching(setup.spec, patterns)
        if rule.when is None or expressions.holds(rule.when, known)
    ]
    if len(ids) > _FEW:
        yield f"all {len(ids)} constraints of the page in this matter hold for this tile and herd"
    elif ids:
        verb = "hold" if len(ids) > 1 else "holds"
        yield f"{', '.join(ids)} of the page {verb} for this tile and herd"


def _read_by(rules: Iterable[Constraint], spec: KernelSpec) -> Iterator[str]:
    for rule in rules:
        read = expressions.names_in(rule.holds)
        yield from (name for name in (*spec.tile, *spec.herd) if name in read)


# Values that would do.


def _narrowed(spec: KernelSpec, fixed: Mapping[str, int], required: frozenset[str]) -> KernelSpec:
    """The spec with ``fixed`` knobs and axes as their only choice, and ``required`` all hard."""
    return replace(
        spec,
        tile={
            name: replace(knob, choices=[fixed[name]]) if name in fixed else knob
            for name, knob in spec.tile.items()
        },
        herd={
            name: replace(axis, choices=[fixed[name]]) if name in fixed else axis
            for name, axis in spec.herd.items()
        },
        constraints=[
            replace(rule, kind="hard") if rule.id in required else rule for rule in spec.constraints
        ],
    )


def _legal(
    setup: Setup, fixed: Mapping[str, int], required: frozenset[str]
) -> Iterator[Configuration]:
    return search(_narrowed(setup.spec, fixed, required), setup.shape, setup.variant)


def _values(setup: Setup, knobs: Iterable[str], required: frozenset[str]) -> Iterator[str]:
    """Per knob its legal values; if no change of one knob will do, a whole configuration."""
    without: list[str] = []
    told = False
    if next(_legal(setup, {}, required), None) is None:
        knobs = ()  # nothing is legal, whichever knob changes
    for knob in knobs:
        alone = _values_alone(setup, knob, required)
        among = () if alone else _values_among(setup, knob, required)
        if alone:
            yield f"{knob} that is legal with all else as it is: {', '.join(alone)}"
        elif among:
            follow = " if the other knobs follow" if setup.is_whole else ""
            yield f"{knob} that is legal{follow}: {', '.join(among)}"
        else:
            without.append(knob)
        told = told or bool(alone or among)
    if not told:
        yield _whole(setup, required)
    elif without:
        herd = f" on herd {'x'.join(map(str, setup.herd))}" if setup.herd else ""
        yield f"no other {', '.join(without)} is legal{herd}"


def _values_alone(setup: Setup, knob: str, required: frozenset[str]) -> list[str]:
    if not setup.is_whole:
        return []
    fixed = {name: value for name, value in setup.chosen.items() if name != knob}
    found: dict[int, str] = {}
    for configuration in _legal(setup, fixed, required):
        value = _all_of(setup.spec, configuration)[knob]
        if value != setup.chosen[knob]:
            found.setdefault(value, _against(setup, configuration))
    # A value that breaks a guideline is named only where every value does.
    clean = [value for value, against in found.items() if not against] or list(found)
    return [f"{value}{found[value]}" for value in clean[:_MOST]]


def _values_among(setup: Setup, knob: str, required: frozenset[str]) -> list[str]:
    """Values of ``knob`` for which some other tile is legal, on the herd as it is (if known)."""
    choices = (setup.spec.tile | setup.spec.herd)[knob].choices
    found = []
    for value in choices:
        configuration = _nearest(setup, knob, value, required)
        if configuration is not None and value != setup.chosen.get(knob):
            others = ", ".join(
                f"{name}={chosen}"
                for name, chosen in _all_of(setup.spec, configuration).items()
                if name != knob and setup.is_whole and chosen != setup.chosen[name]
            )
            found.append(f"{value} ({others})" if others else str(value))
    return found[:_MOST]


def _nearest(setup: Setup, knob: str, value: int, required: frozenset[str]) -> Configuration | None:
    """A legal configuration with ``value``, in which one tile knob follows, or else all do."""
    herd = dict(zip(setup.spec.herd, setup.herd, strict=False))
    for follower in (*setup.tile, None):
        kept = {name: size for name, size in setup.tile.items() if follower not in (name, None)}
        found = next(_legal(setup, {**herd, **kept, knob: value}, required), None)
        if found is not None:
            return found
    return None


def _all_of(spec: KernelSpec, configuration: Configuration) -> dict[str, int]:
    return {**configuration.tile, **dict(zip(spec.herd, configuration.herd, strict=True))}


def _against(setup: Setup, configuration: Configuration) -> str:
    ids = [
        violation.id
        for violation in kernel.violations(
            setup.spec, setup.shape, setup.variant, configuration.tile, configuration.herd
        )
    ]
    return f" (against the guideline {', '.join(ids)})" if ids else ""


def _whole(setup: Setup, required: frozenset[str]) -> str:
    for wanted in (required, frozenset[str]()):
        found = next(_legal(setup, {}, wanted), None)
        if found is not None:
            herd = "x".join(map(str, found.herd))
            tile = "".join(f"{name}={value}, " for name, value in found.tile.items())
            return f"no change of one knob is legal; {tile}herd {herd} is"
    reasons = blocking_constraints(setup.spec, setup.shape, setup.variant)
    return f"no configuration is legal for this shape: {'; '.join(reasons)}"


def _herds(setup: Setup, required: frozenset[str]) -> Iterator[str]:
    """Other herds that are legal, those with the most tiles first."""
    spec = setup.spec
    every = sorted(
        itertools.product(*(axis.choices for axis in spec.herd.values())),
        key=lambda herd: -kernel.tiles_in_flight(herd),
    )
    for tile, how in ((setup.tile, "with the tile as it is"), ({}, "with another tile")):
        herds = [
            "x".join(map(str, herd))
            for herd in every
            if herd != setup.herd
            and next(
                _legal(setup, {**tile, **dict(zip(spec.herd, herd, strict=True))}, required), 0
            )
        ]
        if herds and (setup.is_whole or not tile):
            words = how if setup.is_whole and spec.tile else "for this shape"
            yield f"herds that are legal {words}: {', '.join(herds[:_MOST])}"
            return


# Dims, variants, bands.


def _figures(about: About, known: Mapping[str, expressions.Value]) -> Iterator[str]:
    for name, expression in about.figures:
        if expressions.names_in(expression) <= set(known):
            yield f"{name} = {expression} = {expressions.evaluate(expression, known)}"


def _padding(setup: Setup, multiple: int) -> Iterator[str]:
    lengths = {dim: size for dim, size in setup.shape.items() if size > _LONGEST_COUNT}
    padded = [
        f"{dim}={size} to {-(-size // multiple) * multiple}"
        for dim, size in lengths.items()
        if size % multiple
    ]
    if padded:
        yield f"pad {', '.join(padded)}"
    elif lengths:
        yield f"{', '.join(lengths)}: a multiple of {multiple} already"


def _splitting(setup: Setup, split: Split) -> str:
    size = setup.shape[split.dim]
    parts = [part for part in range(min(split.most, size), 1, -1) if size % part == 0]
    if not parts:
        return f"no {split.name} from 2 to {split.most} divides {split.dim}={size}: pad it"
    named = ", ".join(f"{part} (inner {size // part})" for part in parts[:5])
    return f"{split.dim}={size} = {split.name} * inner with {split.name} <= {split.most}: {named}"


def _variants(setup: Setup) -> Iterator[str]:
    order = [
        variant
        for variant in kernel.variant_order(setup.spec, setup.shape)
        if variant is not None and variant != setup.variant
    ]
    named = [
        f"{variant} (tier {kernel.precision_of(setup.spec, variant)})"
        for variant in order
        if next(search(setup.spec, setup.shape, variant), None) is not None
    ]
    if named:
        yield f"methods that are left for this shape, in order: {', '.join(named)}"


def _bands(setup: Setup, judgement: Judgement) -> Iterator[str]:
    worst = judgement.worst
    if worst is None or worst.mean_rel_L1 is None or not setup.is_whole:
        return
    for variant in setup.spec.variants:
        band = kernel.band(setup.spec, setup.shape, variant, setup.tile, setup.herd)
        if variant == setup.variant or band is None:
            continue
        if band.low <= worst.mean_rel_L1 <= band.high:
            yield (
                f"{worst.mean_rel_L1:g} lies in the band of {variant} at this shape, "
                f"{band.low:.3g} to {band.high:.3g}"
            )
