"""What puts a config out of scope, by what its keys say and never by its name.

One row per kind of model: which keys speak of it, which of their values decide, and what deriving
its needs would take. Key names are those of the public configuration classes of transformers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry_tool.errors import InputError
from registry_tool.models.document import short

Decides = Callable[[Any], bool]


@dataclass(frozen=True)
class Kind:
    """A kind of model whose needs are not derived, and what that would take."""

    what: str
    needed: str


MOE = Kind("mixture of experts", "a page for the routing and for GEMMs over the experts of a token")
LATENT = Kind("latent attention", "pages for the low-rank projections and attention over them")
ENCODER_DECODER = Kind(
    "an encoder-decoder", "needs of an encoder, and a page for attention across the two"
)
ENCODER = Kind("an encoder, not a causal decoder", "needs without decode, of attention both ways")
HYBRID = Kind(
    "hybrid (linear or recurrent) attention", "pages for the recurrent layers' scans and gates"
)
CHUNKED = Kind("chunked attention", "a page for attention that is cut into chunks of the sequence")
SPARSE = Kind("sparse attention", "a page for attention over selected keys, and for the selection")
CROSS = Kind("cross attention", "a page for attention over another tower's keys")
UNEVEN = Kind("layers of different make", "the widths of each layer, as this config does not give")
GATED = Kind("gated attention outputs", "the gate's projection, and a page that multiplies by it")
SHARED = Kind("layers that take the keys and values of another layer", "which layers project none")
ODD_INPUT = Kind("inputs of their own for every layer", "needs of the per-layer projections")

# A count of experts decides alone: 0 and 1 mean that there are none, whatever stands beside it.
_COUNT = re.compile(
    r"(moe_)?(num|n)_(local_|routed_|moe_|total_)?experts|moe_num_experts|num_moe_experts|expert_num"
)
_EXPERT = re.compile(r"(.*_)?(experts?|moe)(_.*)?")
_SCAN = re.compile(
    r"(mamba|ssm|rwkv|lru|linear_(num|key|value|conv|attn)|xlstm|lightning)[a-z0-9_]*"
)


def _is_size(value: Any) -> bool:
    """Anything but null, false, 0 and text: a size, a list of layers, an object."""
    return bool(value) and not isinstance(value, str)


def _is_set(value: Any) -> bool:
    return bool(value)


def _is_several(value: Any) -> bool:
    return value not in (None, False, 0, 1, "", "0", "1") and value != [] and value != {}


def _says_moe(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value > 1
    return isinstance(value, list | dict) and bool(value)


def _is_false(value: Any) -> bool:
    return value is False


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_object(value: Any) -> bool:
    """Even an empty one: Mamba's first configs say no more."""
    return isinstance(value, dict)


def _all_ways(value: Any) -> bool:
    return value is True or value == "all"


_ATTENTION = ("full_attention", "sliding_attention", "attention", "global", "local", "full")


def _odd_kinds(value: Any) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return bool(value) and any(kind not in _ATTENTION for kind in kinds)


def _chunked_kinds(value: Any) -> bool:
    return isinstance(value, list) and "chunked_attention" in value


def _mixed_numbers(value: Any) -> bool:
    """MiniMax's list: 0 is a linear layer, 1 one of full attention."""
    return isinstance(value, list) and any(one != 1 for one in value)


def _masked(value: Any) -> bool:
    names = value if isinstance(value, list) else []
    return any(isinstance(one, str) and one.endswith("ForMaskedLM") for one in names)


# The order is that of the message: what says most of the model comes first.
_KEYS: tuple[tuple[str, Decides, Kind], ...] = (
    ("kv_lora_rank", _is_size, LATENT),
    ("q_lora_rank", _is_size, LATENT),
    ("qk_rope_head_dim", _is_size, LATENT),
    ("use_mla", _is_set, LATENT),
    ("is_encoder_decoder", _is_set, ENCODER_DECODER),
    ("num_decoder_layers", _is_size, ENCODER_DECODER),
    ("encoder_layers", _is_size, ENCODER_DECODER),
    ("num_encoder_layers", _is_size, ENCODER_DECODER),
    ("relative_attention_num_buckets", _is_size, ENCODER_DECODER),
    ("type_vocab_size", _is_size, ENCODER),
    ("is_causal", _is_false, ENCODER),
    ("use_bidirectional_attention", _all_ways, ENCODER),
    ("architectures", _masked, ENCODER),
    ("layer_types", _chunked_kinds, CHUNKED),
    ("layer_types", _odd_kinds, HYBRID),
    ("layers_block_type", _odd_kinds, HYBRID),
    ("block_types", _odd_kinds, HYBRID),
    ("attn_type_list", _mixed_numbers, HYBRID),
    ("full_attention_interval", _is_size, HYBRID),
    ("attn_layer_indices", _is_size, HYBRID),
    ("attn_layer_period", _is_several, HYBRID),
    ("hybrid_override_pattern", _is_set, HYBRID),
    ("hybrid_layer_ids", _is_size, HYBRID),
    ("full_attn_idxs", _is_size, HYBRID),
    ("conv_L_cache", _is_size, HYBRID),
    ("state_size", _is_size, HYBRID),
    ("ssm_cfg", _is_object, HYBRID),
    ("rescale_every", _is_size, HYBRID),
    ("attention_hidden_size", _is_size, HYBRID),
    ("attention_chunk_size", _is_size, CHUNKED),
    ("dual_chunk_attention_config", _is_set, CHUNKED),
    ("index_topk", _is_size, SPARSE),
    ("sparse_attention_config", _is_set, SPARSE),
    ("blocksparse_block_size", _is_size, SPARSE),
    ("add_cross_attention", _is_set, CROSS),
    ("cross_attention_layers", _is_size, CROSS),
    ("cross_attention_hidden_size", _is_size, CROSS),
    ("block_configs", _is_set, UNEVEN),
    ("per_layer_config", _is_set, UNEVEN),
    ("ffn_multipliers", _is_list, UNEVEN),
    ("num_query_heads", _is_list, UNEVEN),
    ("num_attention_heads", _is_list, UNEVEN),
    ("num_key_value_heads", _is_list, UNEVEN),
    ("num_key_value_heads_per_layer", _is_list, UNEVEN),
    ("intermediate_size", _is_list, UNEVEN),
    ("attn_output_gate", _is_set, GATED),
    ("num_kv_shared_layers", _is_size, SHARED),
    ("cla_share_factor", _is_several, SHARED),
    ("hidden_size_per_layer_input", _is_size, ODD_INPUT),
    ("altup_num_inputs", _is_several, ODD_INPUT),
    ("laurel_rank", _is_size, ODD_INPUT),
    (
        "position_encoding_2d",
        _is_set,
        Kind("ChatGLM's first form, of two-dimensional positions", "its rotary halves as a page"),
    ),
)
# A size that counts only where its switch is not off.
_SWITCH = {"cla_share_factor": "use_cla"}
# Objects whose keys say nothing of the text tower's make.
_FOREIGN = re.compile(
    r"(vision|audio|quant|generation|tokenizer|rope|task_specific|id2label|label2id|auto_map|img|"
    r"transformers|talker|token2wav|speech|perceiver|projector|compression)[A-Za-z0-9_.\-]*|"
    r".*(2id|2label|_features)"
)
_DEPTH = 3


@dataclass(frozen=True)
class Refused:
    """One key that decided, as it stands in the file."""

    key: str
    value: Any
    kind: Kind


def check(keys: Mapping[str, Any], path: Path) -> None:
    """Raise InputError with every key that puts the config at ``path`` out of scope."""
    found = list(refusals(keys))
    if not found:
        return
    first = found[0]
    others = "; ".join(f"`{one.key}` = {_shown(one.value)} ({one.kind.what})" for one in found[1:6])
    more = f"; also {others}" if others else ""
    kinds = list(dict.fromkeys(one.kind for one in found))
    needed = "; ".join(kind.needed for kind in kinds)
    raise InputError(
        f"`{first.key}` = {_shown(first.value)} says: {first.kind.what}; out of scope{more}\n"
        f"  it would need: {needed}",
        path=path,
    )


def _lists_attention(keys: Mapping[str, Any]) -> bool:
    lists = [keys.get(name) for name in ("layer_types", "layers_block_type", "block_types")]
    return any(_is_list(kinds) and not _odd_kinds(kinds) for kinds in lists)


def _shown(value: Any) -> str:
    """A value on one line, a list of names with each of them once."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = list(dict.fromkeys(value))
    return short(value)


def refusals(keys: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[Refused]:
    """Every key of ``keys``, and of the objects in it, that decides; experts first."""
    yield from _experts(keys, prefix)
    for key, decides, kind in _KEYS:
        if keys.get(_SWITCH.get(key, "")) is False:
            continue
        if key in keys and decides(keys[key]):
            yield Refused(prefix + key, keys[key], kind)
    # Where every layer is listed as attention, sizes of scans are a class's leftovers.
    if not _lists_attention(keys):
        known = {key for key, _, _ in _KEYS}
        for key, value in sorted(keys.items()):
            if key not in known and _SCAN.fullmatch(key) and _is_size(value):
                yield Refused(prefix + key, value, HYBRID)
    for key, value in sorted(keys.items()):
        if isinstance(value, dict) and not _FOREIGN.fullmatch(key) and depth < _DEPTH:
            yield from refusals(value, f"{prefix}{key}.", depth + 1)


def _experts(keys: Mapping[str, Any], prefix: str) -> Iterator[Refused]:
    counts = [key for key in sorted(keys) if _COUNT.fullmatch(key)]
    several = [key for key in counts if _is_several(keys[key])]
    yield from (Refused(prefix + key, keys[key], MOE) for key in several)
    for key in sorted(keys):
        if key in counts or not _EXPERT.fullmatch(key):
            continue
        # Where a count says none, widths of experts are leftovers; a switch still decides.
        if keys[key] is True or (_says_moe(keys[key]) and (several or not counts)):
            yield Refused(prefix + key, keys[key], MOE)
