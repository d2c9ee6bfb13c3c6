"""Heads, windows and rotation of every layer, from a tower's keys and its family's row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from registry_tool.models import names
from registry_tool.models.decoder import Attention
from registry_tool.models.families import Family
from registry_tool.models.keys import Keys
from registry_tool.models.rotary import rotary, rotated
from registry_tool.models.size import CONFIG, Size
from registry_tool.models.windows import kinds, window_size


class _Layer(NamedTuple):
    """What may differ from layer to layer; equal ones are one group."""

    window: int | None
    rotary: int | None
    head_dim: int
    kv_heads: int


def read_heads(keys: Keys, family: Family) -> tuple[Size | None, Size | None]:
    """Heads of keys and head_dim as they stand, None to be derived; lists what is missing."""
    head_dim = keys.size(names.HEAD_DIM)
    if head_dim is None and family.head_dim == "named":
        keys.lack(names.HEAD_DIM[0])
    if family.kv_heads == "every head":
        return None, head_dim
    if family.kv_heads == "falcon":
        return _falcon_kv(keys), head_dim
    if family.kv_heads == "multi_query":
        return _multi_query_kv(keys), head_dim
    if family.kv_heads == "groups":
        return _group_kv(keys), head_dim
    found = keys.size(names.KV_HEADS)
    null = any(name in keys.present for name in names.KV_HEADS)
    if found is None and family.kv_heads == "named" and not null:
        keys.lack(names.KV_HEADS[0])
    return found, head_dim


def _falcon_kv(keys: Keys) -> Size | None:
    """FalconConfig: num_kv_heads counts only in the new architecture; else multi_query decides."""
    if keys.flag("new_decoder_architecture", False):
        return keys.size(names.KV_HEADS)
    return _multi_query_kv(keys)


def _multi_query_kv(keys: Keys) -> Size | None:
    if not keys.has("multi_query"):
        keys.lack("multi_query")
        return None
    if not keys.flag("multi_query", True):
        return None
    stated = keys.size(names.KV_HEADS)
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
            null = next((name for name in names.KV_HEADS if name in keys.present), None)
            told = f"{null} is null" if null else f"{names.KV_HEADS[0]} is absent"
            keys.notes.append(f"{told}: every one of {heads.value} heads has its own K and V")
    listed = kinds(keys, family, layers)
    made = {
        kind: _of_kind(keys, family, kind, heads, kv_heads, head_dim)
        for kind in sorted(set(listed))
    }
    count: dict[_Layer, int] = {}
    first: dict[_Layer, Attention] = {}
    for kind, turns in zip(listed, rotated(keys, family, listed), strict=True):
        one = made[kind] if turns else replace(made[kind], rotary=None)
        turned = one.rotary.value if one.rotary else None
        layer = _Layer(one.window, turned, one.head_dim.value, one.kv_heads.value)
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
    heads: Size,
    kv_heads: Size,
    head_dim: Size,
) -> Attention:
    """One layer's attention; raises InputError where its heads do not fit together."""
    if kind == "full" and family.full_head_dim:
        head_dim = keys.required((family.full_head_dim,))
        keys.check_complete(None)
        if keys.flag("attention_k_eq_v", False):
            kv_heads = keys.size(("num_global_key_value_heads",)) or kv_heads
            keys.notes.append("attention_k_eq_v: the full layers take K as V, and project no V")
    if heads.value % kv_heads.value:
        raise keys.refuse(
            f"`{_name(kv_heads, names.KV_HEADS[0])}` = {kv_heads.value} does not divide "
            f"`{_name(heads, names.HEADS[0])}` = {heads.value}"
        )
    window = window_size(keys, family) if kind == "sliding" else None
    turned = rotary(keys, family, head_dim, kind)
    return Attention(kind, 1, heads, kv_heads, head_dim, window, turned)


def _labels(first: Mapping[_Layer, Attention]) -> dict[_Layer, str]:
    """What tells the groups apart: their kind, or that some are not rotated; nothing if alike."""
    if len(first) == 1:
        return dict.fromkeys(first, "")
    kinds_of = [one.label for one in first.values()]
    labels = {}
    for layer, one in first.items():
        words = [one.label] if len(set(kinds_of)) > 1 else []
        if kinds_of.count(one.label) > 1:
            words.append("rotated" if layer.rotary else "not rotated")
        labels[layer] = ", ".join(words)
    return labels


def _name(size: Size, otherwise: str) -> str:
    """The key that a size was read from."""
    return size.text.split(" ")[0] if size.sources and not size.compound else otherwise


def _derived_head_dim(keys: Keys, hidden: Size, heads: Size) -> Size:
    if hidden.value % heads.value:
        raise keys.refuse(
            f"no `head_dim`, and `{_name(hidden, 'hidden_size')}` = {hidden.value} is not "
            f"divisible by `{_name(heads, names.HEADS[0])}` = {heads.value}"
        )
    value = hidden.value // heads.value
    keys.notes.append(f"head_dim is absent: hidden_size / num_attention_heads = {value}")
    return Size(value, f"head_dim {value}", (f"head_dim = {hidden.text} / {heads.text}",))
