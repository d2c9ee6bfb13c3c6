"""Heads, windows and rotation of every layer, from a tower's keys and its family's row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from registry_tool.models.decoder import Attention
from registry_tool.models.document import short
from registry_tool.models.families import Family
from registry_tool.models.keys import Keys
from registry_tool.models.size import CONFIG, Size

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
_KV = ("num_key_value_heads", "num_kv_heads", "n_head_kv")
_HEAD_DIM = ("head_dim", "kv_channels", "attention_head_dim")
_SLIDING = ("sliding_attention", "local")


class _Layer(NamedTuple):
    """What may differ from layer to layer; equal ones are one group."""

    window: int | None
    rotary: int | None
    head_dim: int
    kv_heads: int


def read_heads(keys: Keys, family: Family) -> tuple[Size | None, Size | None]:
    """Heads of keys and head_dim as they stand, None to be derived; lists what is missing."""
    head_dim = keys.size(_HEAD_DIM)
    if head_dim is None and family.head_dim == "named":
        keys.lack(_HEAD_DIM[0])
    if family.kv_heads == "every head":
        return None, head_dim
    if family.kv_heads == "falcon":
        return _falcon_kv(keys), head_dim
    if family.kv_heads == "multi_query":
        return _multi_query_kv(keys), head_dim
    if family.kv_heads == "groups":
        return _group_kv(keys), head_dim
    found = keys.size(_KV)
    null = any(name in keys.present for name in _KV)
    if found is None and family.kv_heads == "named" and not null:
        keys.lack(_KV[0])
    return found, head_dim


def _falcon_kv(keys: Keys) -> Size | None:
    """FalconConfig: num_kv_heads counts only in the new architecture; else multi_query decides."""
    if keys.flag("new_decoder_architecture", False):
        return keys.size(_KV)
    return _multi_query_kv(keys)


def _multi_query_kv(keys: Keys) -> Size | None:
    if not keys.has("multi_query"):
        keys.lack("multi_query")
        return None
    if not keys.flag("multi_query", True):
        return None
    stated = keys.size(_KV)
    if stated is not None and stated.value != 1:
        keys.notes.append(
            f"{stated.text} is not what multi_query says: one head of keys serves all "
            "(new_decoder_architecture is not true)"
        )
    return Size(1, "kv heads 1", (CONFIG + keys.named("multi_query"),))


def _group_kv(keys: Keys) -> Size | None:
    """ChatGLMConfig: multi_query_group_num counts only where multi_query_attention is true."""
    if not keys.has("multi_query_attention"):
        keys.lack("multi_query_attention")
        return None
    if not keys.flag("multi_query_attention", False):
        return None
    return keys.required(("multi_query_group_num",))


def groups(
    keys: Keys,
    family: Family,
    hidden: Size,
    layers: int,
    heads: Size,
    kv_heads: Size | None,
    head_dim: Size | None,
) -> tuple[Attention, ...]:
    """The layers' attention, alike ones together; raises InputError for widths that do not fit."""
    head_dim = head_dim or _derived_head_dim(keys, hidden, heads)
    if kv_heads is None:
        kv_heads = Size(heads.value, heads.text, heads.sources)
        if family.kv_heads in ("per head", "named"):
            null = next((name for name in _KV if name in keys.present), None)
            told = f"{null} is null" if null else f"{_KV[0]} is absent"
            keys.notes.append(f"{told}: every one of {heads.value} heads has its own K and V")
    kinds = _kinds(keys, family, layers)
    windows = {kind: _window(keys, family) if kind == "sliding" else None for kind in set(kinds)}
    made = {
        kind: _of_kind(keys, family, kind, windows[kind], heads, kv_heads, head_dim)
        for kind in sorted(set(kinds))
    }
    count: dict[_Layer, int] = {}
    first: dict[_Layer, Attention] = {}
    for kind, turns in zip(kinds, _rotated(keys, family, kinds), strict=True):
        one = made[kind] if turns else replace(made[kind], rotary=None)
        rotary = one.rotary.value if one.rotary else None
        layer = _Layer(one.window, rotary, one.head_dim.value, one.kv_heads.value)
        count[layer] = count.get(layer, 0) + 1
        first.setdefault(layer, one)
    labels = _labels(first)
    return tuple(
        replace(one, label=labels[layer], layers=count[layer]) for layer, one in first.items()
    )


def _of_kind(
    keys: Keys,
    family: Family,
    kind: str,
    window: int | None,
    heads: Size,
    kv_heads: Size,
    head_dim: Size,
) -> Attention:
    """One layer's attention; raises InputError where its heads do not fit together."""
    if kind == "full" and family.full_head_dim:
        head_dim = keys.required((family.full_head_dim,))
        if keys.flag("attention_k_eq_v", False):
            kv_heads = keys.size(("num_global_key_value_heads",)) or kv_heads
            keys.notes.append("attention_k_eq_v: the full layers take K as V, and project no V")
    if heads.value % kv_heads.value:
        raise keys.refuse(
            f"`{_name(kv_heads, _KV[0])}` = {kv_heads.value} does not divide "
            f"`{_name(heads, HEADS[0])}` = {heads.value}"
        )
    rotary = _rotary(keys, family, head_dim, kind)
    return Attention(kind, 1, heads, kv_heads, head_dim, window, rotary)


def _labels(first: Mapping[_Layer, Attention]) -> dict[_Layer, str]:
    """What tells the groups apart: their kind, or that some are not rotated; nothing if alike."""
    if len(first) == 1:
        return dict.fromkeys(first, "")
    kinds = [one.label for one in first.values()]
    labels = {}
    for layer, one in first.items():
        words = [one.label] if len(set(kinds)) > 1 else []
        if kinds.count(one.label) > 1:
            words.append("rotated" if layer.rotary else "not rotated")
        labels[layer] = ", ".join(words)
    return labels


def _name(size: Size, otherwise: str) -> str:
    """The key that a size was read from."""
    return size.text.split(" ")[0] if size.sources and not size.compound else otherwise


def _derived_head_dim(keys: Keys, hidden: Size, heads: Size) -> Size:
    if hidden.value % heads.value:
        raise keys.refuse(
            f"no `head_dim`, and `{_name(hidden, 'hidden_size')}` = {hidden.value} is not divisible "
            f"by `{_name(heads, HEADS[0])}` = {heads.value}"
        )
    value = hidden.value // heads.value
    keys.notes.append(f"head_dim is absent: hidden_size / num_attention_heads = {value}")
    return Size(value, f"head_dim {value}", (f"head_dim = {hidden.text} / {heads.text}",))


def _kinds(keys: Keys, family: Family, layers: int) -> list[str]:
    """``sliding`` or ``full`` for every layer."""
    if not _window_is_on(keys, family):
        return ["full"] * layers
    listed = keys.strings("layer_types")
    if listed is not None:
        if len(listed) != layers:
            raise keys.refuse(
                f"`{keys.named('layer_types')}` lists {len(listed)} layers, "
                f"`num_hidden_layers` = {layers}"
            )
        return ["sliding" if one in _SLIDING else "full" for one in listed]
    window = family.window
    if window.pattern == "all":
        return ["sliding"] * layers
    if window.pattern == "qwen":
        first = keys.whole("max_window_layers") if keys.raw("max_window_layers") != 0 else 0
        if first is None:
            keys.lack("max_window_layers")
            keys.check_complete(None)
            return []
        return ["full" if layer < first else "sliding" for layer in range(layers)]
    every = 2 if window.pattern == "alternate" else _every(keys, family)
    return ["full" if (layer + 1) % every == 0 else "sliding" for layer in range(layers)]


def _every(keys: Keys, family: Family) -> int:
    for name in ("sliding_window_pattern", "_sliding_window_pattern"):
        if keys.has(name):
            return keys.whole(name) or 1
    every = family.window.every
    keys.notes.append(
        f"sliding_window_pattern is absent: every {every}th layer is full, as in "
        f"{family.config_class}"
    )
    return every


def _window_is_on(keys: Keys, family: Family) -> bool:
    """Whether any layer may have a window, by the flag and the size of it."""
    listed = keys.strings("layer_types") or []
    qwen = family.window.pattern == "qwen"
    if not keys.flag("use_sliding_window", not qwen):
        return False
    if "sliding_window" in keys.present and keys.raw("sliding_window") is None:
        if any(one in _SLIDING for one in listed):
            raise keys.refuse(
                f"`{keys.named('layer_types')}` names sliding layers, and "
                f"`{keys.named('sliding_window')}` is null"
            )
        return False
    if listed and not any(one in _SLIDING for one in listed):
        return False
    absent = not keys.has("sliding_window")
    if absent and listed and family.window.size_if_absent is None:
        raise keys.refuse(
            f"`{keys.named('layer_types')}` names sliding layers: the config lacks "
            f"{keys.named('sliding_window')}; nothing is guessed"
        )
    return not absent or family.window.size_if_absent is not None


def _window(keys: Keys, family: Family) -> int | None:
    stated = keys.whole("sliding_window")
    if stated is not None:
        return stated
    size = family.window.size_if_absent
    keys.notes.append(f"sliding_window is absent: {size} and on, as in {family.config_class}")
    return size


def _rotated(keys: Keys, family: Family, kinds: list[str]) -> list[bool]:
    """Whether each layer rotates its heads."""
    if family.positions != "rope":
        return [False] * len(kinds)
    if family.no_rope == "full layers":
        return [kind == "sliding" for kind in kinds]
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


def _rotary(keys: Keys, family: Family, head_dim: Size, kind: str) -> Size | None:
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
