"""What holds for every config: scaling scales what it should, order is nothing, no traceback."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.errors import ToolError
from registry_tool.records import canonical
from registry_tool.records.model import Model
from tests.models.configs import (
    CHATGLM,
    FALCON,
    GEMMA3,
    GPT2,
    LLAMA,
    changed,
    model_of,
    shape,
)
from tests.models.test_vision import QWEN, SIGLIP
from tests.shared_data import SHARED

BASES: list[dict[str, Any]] = [
    dict(LLAMA),
    dict(GPT2),
    dict(FALCON),
    dict(CHATGLM),
    dict(GEMMA3),
    {"model_type": "gemma3", "text_config": dict(GEMMA3), "vision_config": SIGLIP},
    {**LLAMA, "model_type": "qwen2_5_vl", "vision_config": {**QWEN, "image_size": 448}},
    {
        **LLAMA,
        "model_type": "qwen2",
        "sliding_window": 64,
        "use_sliding_window": True,
        "max_window_layers": 8,
        "rope_scaling": {"type": "yarn", "factor": 4.0},
        "layer_types": ["full_attention"] * 16,
    },
]
if (SHARED / "hf_configs").is_dir():
    BASES += [
        json.loads(path.read_text()) for path in sorted((SHARED / "hf_configs").glob("*.json"))
    ]


@given(heads=st.integers(1, 64), group=st.integers(1, 8), half=st.integers(1, 128))
@settings(deadline=None)
def test_scaling_the_heads_scales_what_hangs_on_them(heads: int, group: int, half: int) -> None:
    document = changed(
        num_attention_heads=heads * group, num_key_value_heads=heads, head_dim=2 * half
    )
    model = model_of(document, seqs=(512,))
    assert shape(model, "prefill", "Q proj") == (512, 2048, heads * group * 2 * half)
    assert shape(model, "prefill", "K/V proj") == (512, 2048, heads * 2 * half)
    assert shape(model, "decode", "RoPE K") == (heads, 2 * half)
    assert shape(model, "prefill", "Gate/Up proj") == (512, 2048, 8192)


@given(layers=st.integers(1, 200))
@settings(deadline=None)
def test_scaling_the_layers_changes_no_need(layers: int) -> None:
    model = model_of(changed(num_hidden_layers=layers))
    assert model.layers == layers
    assert model.needs == model_of(LLAMA).needs


@given(width=st.integers(1, 2**20), seq=st.integers(1, 8192), batch=st.integers(1, 64))
@settings(deadline=None)
def test_scaling_the_mlp_the_length_or_the_batch_scales_what_it_should(
    width: int, seq: int, batch: int
) -> None:
    model = model_of(changed(intermediate_size=width), seqs=(seq,), batch=batch)
    tokens = seq * batch
    assert shape(model, "prefill", "Gate/Up proj") == (tokens, 2048, width)
    assert shape(model, "prefill", "Down proj") == (tokens, width, 2048)
    assert shape(model, "prefill", "SwiGLU") == (tokens * width,)
    assert shape(model, "prefill", "O proj") == (tokens, 2048, 2048)
    assert shape(model, "prefill", "attention")[:2] == (seq, seq)


@given(multiple=st.integers(1, 4096), seq=st.integers(1, 4096))
@settings(deadline=None)
def test_padding_gives_the_next_multiple_and_touches_no_other_dim(multiple: int, seq: int) -> None:
    model = model_of(LLAMA, seqs=(seq,), pad={"M": multiple})
    padded = shape(model, "prefill", "Q proj")[0]
    assert padded % multiple == 0
    assert 0 <= padded - seq < multiple
    assert shape(model, "prefill", "Q proj")[1:] == (2048, 2048)


@given(data=st.data(), base=st.sampled_from(BASES))
@settings(max_examples=60, deadline=None)
def test_neither_the_order_of_keys_nor_unknown_keys_change_anything(
    data: st.DataObject, base: dict[str, Any]
) -> None:
    keys = data.draw(st.permutations(sorted(base)))
    shuffled = {key: base[key] for key in keys}
    extra = data.draw(st.dictionaries(st.from_regex(r"x_[a-d]{1,6}", fullmatch=True), _VALUES))
    assert _outcome({**extra, **shuffled}) == _outcome(base)


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["", "silu", "llama", "2048", "full_attention", "\ud800"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


# Keys that some rule reads and few configs have.
_KEYS = [
    "alibi",
    "attn_logit_softcapping",
    "auto_map",
    "audio_config",
    "ffn_config",
    "final_logit_softcapping",
    "img_processor",
    "layer_types",
    "max_window_layers",
    "mm_tokens_per_image",
    "no_rope_layers",
    "num_experts",
    "partial_rotary_factor",
    "quantization_config",
    "query_pre_attn_scalar",
    "rope_parameters",
    "rope_scaling",
    "rotary_dim",
    "scale_factor",
    "sliding_window",
    "sliding_window_pattern",
    "text_config",
    "thinker_config",
    "tie_word_embeddings",
    "use_sliding_window",
    "vision_config",
    "vlm_model_name",
    "word_embed_proj_dim",
]


def _outcome(document: dict[str, Any]) -> object:
    """The model without its digest, or the words of the refusal without the file's path."""
    try:
        model = model_of(document)
    except ToolError as error:
        return error.message
    return model.needs, model.uncovered, model.notes, model.layers


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _paths(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value[:3]):
            found += _paths(inner, (*path, at))
    return found


def _mutated(base: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(base))
    holder: Any
    for key in data.draw(st.lists(st.sampled_from(_KEYS), max_size=2)):
        tower = document.get("text_config")
        holder = tower if isinstance(tower, dict) else document
        holder[key] = data.draw(_VALUES)
    for _ in range(data.draw(st.integers(1, 4))):
        paths = _paths(document)
        if not paths:
            break
        path = data.draw(st.sampled_from(paths))
        holder = document
        for step in path[:-1]:
            holder = holder[step]
        if data.draw(st.booleans()) and isinstance(holder, dict):
            del holder[path[-1]]
        else:
            holder[path[-1]] = data.draw(_VALUES)
    return document


@given(data=st.data(), base=st.sampled_from(BASES))
@settings(max_examples=300, deadline=None)
def test_any_mutated_config_is_a_model_that_can_be_written_or_one_clear_error(
    data: st.DataObject, base: dict[str, Any]
) -> None:
    document = _mutated(base, data)
    model, refusal = _attempt(document)
    if model is None:
        assert refusal is not None
        assert refusal.exit_status == 2
        # What a person reads is text that every terminal takes.
        str(refusal).encode()
        return
    written = canonical.encode(model)
    assert canonical.encode(canonical.decode(written, Model)) == written


def _attempt(document: dict[str, Any]) -> tuple[Model | None, ToolError | None]:
    try:
        return model_of(document), None
    except ToolError as error:
        return None, error


@pytest.mark.parametrize("base", BASES, ids=lambda base: str(base.get("model_type")))
def test_a_config_of_the_corpus_has_the_same_outcome_twice(base: dict[str, Any]) -> None:
    assert _outcome(base) == _outcome(base)
