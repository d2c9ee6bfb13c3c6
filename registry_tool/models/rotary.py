"""How many values of a head are rotated, and in which layers, from wherever a config says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from registry_tool.models.document import short
from registry_tool.models.families import Family
from registry_tool.models.keys import Keys
from registry_tool.models.size import CONFIG, Size


def rotated(keys: Keys, family: Family, kinds: Sequence[str]) -> list[bool]:
    """Whether each layer rotates its heads."""
    if family.positions != "rope":
        return [False] * len(kinds)
    if family.no_rope == "full layers":
        return [kind == "sliding" for kind in kinds]
    if family.no_rope == "full beside sliding":
        return [kind == "sliding" or "sliding" not in kinds for kind in kinds]
    if family.no_rope != "listed":
        return [True] * len(kinds)
    listed = keys.raw("no_rope_layers")
    if listed is None:
        every = keys.whole("no_rope_layer_interval")
        if every is None:
            every = 4
            keys.notes.append(
                "no_rope_layers is absent: every 4th layer is not rotated, as in "
                f"{family.config_class}"
            )
        return [(layer + 1) % every != 0 for layer in range(len(kinds))]
    fits = isinstance(listed, list) and len(listed) >= len(kinds)
    if not fits or any(one not in (0, 1) for one in listed):
        raise keys.refuse(
            f"`{keys.named('no_rope_layers')}` must list 0 or 1 for every layer, "
            f"found {short(listed)}"
        )
    return [bool(one) for one in listed[: len(kinds)]]


def rotary(keys: Keys, family: Family, head_dim: Size, kind: str) -> Size | None:
    """How many values of a head are rotated."""
    if family.positions != "rope":
        return None
    stated = keys.size(("rotary_dim",))
    if stated is not None and stated.value <= head_dim.value:
        found = stated
    else:
        share, source = _share(keys, family, kind)
        value = int(head_dim.value * share)
        found = head_dim
        if share != 1.0:
            found = Size(value, f"{share:g} of {head_dim.text}", (*head_dim.sources, source), True)
    if found.value < 2 or found.value % 2:
        name = "head_dim" if found is head_dim else "the rotated part of head_dim"
        raise keys.refuse(
            f"`{name}` = {found.value}: rotary halves do not exist"
            if found is head_dim
            else f"{name} is {found.text} = {found.value}: rotary halves do not exist"
        )
    return found


def _share(keys: Keys, family: Family, kind: str) -> tuple[float, str]:
    """The rotated part of head_dim, from wherever it stands, and where that is."""
    rope = keys.table("rope_parameters") or keys.table("rope_scaling")
    own = rope.get(f"{kind}_attention")
    if isinstance(own, dict) and own.get("rope_type") == "proportional":
        # Every pair is turned, most of them by a zero angle: the page runs over the whole head.
        return 1.0, CONFIG + "rope_parameters: rope_type"
    places: list[tuple[str, Mapping[str, Any] | None]] = [
        ("partial_rotary_factor", None),
        ("rotary_pct", None),
        ("rope_pct", None),
        ("partial_rotary_factor", own if isinstance(own, dict) else None),
        ("partial_rotary_factor", rope),
    ]
    for at, (name, holder) in enumerate(places):
        if at >= 3 and holder is None:
            continue
        value = keys.number(name, holder)
        if value is None:
            continue
        if not 0 < value <= 1:
            raise keys.refuse(
                f"`{keys.named(name)}` must be above 0 and at most 1, found {value:g}"
            )
        where = keys.named(name) if holder is None else f"rope_parameters: {name}"
        return value, CONFIG + where
    if family.rotary_share != 1.0:
        keys.notes.append(
            f"partial_rotary_factor is absent: {family.rotary_share:g}, as in {family.config_class}"
        )
    return family.rotary_share, family.config_class
