"""What the layer table of `make diagnosis` proves: the run itself always says PASS."""

from __future__ import annotations

import math
from collections.abc import Iterator

from registry_tool.verifier.logs.facts import Layer, LogFacts
from registry_tool.verifier.logs.request import Complaint, Request

CLIFF = 0.05
"""A cosine that falls by more than this from one layer to the next."""
CLIFF_OF_MINIMUM = 0.2
"""The same for the minimum over all tokens, which scatters more."""
_ROUNDING = 1e-4
LOWEST_COSINE = 0.9
"""A median cosine below this is wrong, however slowly the layers got there."""


def complete(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    """Every layer of the model is there once, and was compared with something."""
    torn = facts.first("torn_layer")
    if torn is not None:
        yield Complaint("incomplete", f"a row of the layer table is torn (line {torn.line})")
    if not facts.layers:
        yield Complaint("unverified", "no per-layer table in the log")
        return
    seen = [layer.index for layer in facts.layers]
    wanted = max(request.layers or 0, facts.layers_claimed or 0, max(seen) + 1)
    missing = [str(index) for index in range(wanted) if index not in seen]
    if missing:
        yield Complaint("incomplete", f"layers are missing (of {wanted}): {_some(missing)}")
    if request.layers is not None and max(seen) >= request.layers:
        yield Complaint("unverified", f"more layers than the model's {request.layers}")
    if len(seen) != len(set(seen)):
        yield Complaint("unverified", "a layer is reported more than once")
    if all(layer.max_abs == 0.0 for layer in facts.layers):
        yield Complaint("unverified", "no layer differs at all: compared with itself")


def continuous(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    """No layer falls off against the one before it, and none hides NaN as a cosine of 0."""
    before: Layer | None = None
    for layer in sorted(facts.layers, key=lambda layer: layer.index):
        problem = _problem(layer, before)
        if problem is not None:
            yield Complaint("fail", f"layer {layer.index} (line {layer.line}): {problem}")
            return
        before = layer


def _problem(layer: Layer, before: Layer | None) -> str | None:
    cosines = (layer.cos_p5, layer.cos_min, layer.cos_median)
    if not all(map(math.isfinite, (*cosines, layer.max_abs))):
        return "the figures are not finite"
    if 0.0 in cosines:
        return "a cosine of exactly 0: rows of NaN are shown so"
    if max(cosines) > 1.0001:
        return "a cosine above 1"
    if layer.max_abs < 0:
        return "a max_abs below 0"
    for name, limit in (
        ("cos_median", CLIFF),
        ("cos_p5", CLIFF),
        ("cos_min", CLIFF_OF_MINIMUM),
    ):
        now, last = getattr(layer, name), 1.0 if before is None else getattr(before, name)
        if last - now > limit:
            after = "" if before is None else f" after layer {before.index}"
            return f"a cliff: {name} falls from {last:g} to {now:g}{after}"
    if layer.cos_median < LOWEST_COSINE:
        return f"cos_median {layer.cos_median:g} is below {LOWEST_COSINE:g}"
    if layer.cos_min > min(layer.cos_p5, layer.cos_median) + _ROUNDING:
        return "a minimum of the cosines above their other figures"
    return None


def _some(words: list[str]) -> str:
    return ", ".join(words[:8]) + (", ..." if len(words) > 8 else "")
