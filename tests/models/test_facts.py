"""Facts that bite: windows, rotation, activations, caps, towers, quantisation, remote code."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from registry_tool.errors import InputError
from tests.models.configs import (
    GEMMA3,
    LLAMA,
    changed,
    kernels,
    model_of,
    said,
    shape,
    sites,
    uncovered,
    without,
)

QWEN2 = changed(model_type="qwen2")


@pytest.mark.parametrize(
    "fields",
    [
        {"sliding_window": 1024, "use_sliding_window": False},
        {"sliding_window": 2048},
        {"sliding_window": None},
        {"sliding_window": 16, "layer_types": ["full_attention"] * 16},
    ],
)
def test_a_window_that_is_off_or_wide_enough_changes_no_need(fields: dict[str, Any]) -> None:
    assert model_of(changed(**fields)).needs == model_of(LLAMA).needs


def test_a_window_that_is_set_but_off_is_said() -> None:
    model = model_of(changed(QWEN2, sliding_window=1024, use_sliding_window=False))
    assert said(model, "sliding_window 1024 is off (use_sliding_window is false)")


def test_a_window_that_is_on_for_no_layer_is_said() -> None:
    model = model_of(
        changed(QWEN2, sliding_window=64, use_sliding_window=True, max_window_layers=16)
    )
    assert "attention" in sites(model)
    assert said(model, "on for no layer")


def test_a_window_on_for_some_layers_leaves_the_others_their_page() -> None:
    model = model_of(
        changed(QWEN2, sliding_window=64, use_sliding_window=True, max_window_layers=12)
    )
    (need,) = [one for one in model.needs if one.site == "attention [full layers]"]
    assert need.layers == 12
    assert "sliding_window 64 is shorter" in uncovered(model)["attention in 4 of 16 layers"]


def test_a_window_shorter_than_the_prefill_has_no_page() -> None:
    model = model_of(changed(model_type="mistral", sliding_window=1024))
    assert "attention" not in sites(model)
    assert "sliding_window 1024 is shorter" in uncovered(model)["attention"]


def test_mistral_has_a_window_if_its_file_says_nothing_of_it() -> None:
    document = changed(model_type="mistral")
    assert said(model_of(document), "sliding_window is absent: 4096 and on, as in MistralConfig")
    assert "attention" in sites(model_of(document))
    assert "attention" not in sites(model_of(document, seqs=(8192,)))


def test_listed_layer_types_win_over_the_pattern() -> None:
    kinds = ["sliding_attention"] * 20 + ["full_attention"] * 6
    model = model_of(changed(GEMMA3, layer_types=kinds))
    assert "attention in 20 of 26 layers" in uncovered(model)
    assert "attention in 22 of 26 layers" in uncovered(model_of(GEMMA3))


def test_sliding_layers_without_a_window_are_refused() -> None:
    kinds = ["sliding_attention"] * 16
    for fields in ({"sliding_window": None}, {}):
        with pytest.raises(InputError, match="sliding"):
            model_of(changed(layer_types=kinds, **fields))


def test_gemma2_has_a_window_in_every_other_layer_and_caps() -> None:
    document = changed(
        GEMMA3,
        model_type="gemma2",
        sliding_window=64,
        attn_logit_softcapping=50.0,
        final_logit_softcapping=30.0,
    )
    model = model_of(document)
    assert "attention" not in sites(model)
    assert "attn_logit_softcapping = 50" in uncovered(model)["attention"]
    assert "attention in 13 of 26 layers" in uncovered(model)
    assert "LM head soft cap" in uncovered(model, "decode")
    plain = model_of(changed(document, attn_logit_softcapping=None, final_logit_softcapping=None))
    assert "attention [full layers]" in sites(plain)
    assert "LM head soft cap" not in uncovered(plain, "decode")


def test_gemma_s_gate_is_gelu_and_its_product_has_no_page() -> None:
    model = model_of(GEMMA3)
    assert shape(model, "prefill", "GELU of the gate") == (2048 * 6912,)
    assert "gate times up" in uncovered(model)
    assert "SiLU_Mul_bf16" not in kernels(model)
    assert shape(model, "prefill", "RMSNorm after attention and MLP") == (2048, 1152)
    assert shape(model, "prefill", "Q/K norm (per head)") == (2048, 256)


@pytest.mark.parametrize(
    ("activation", "words"),
    [("gelu", "by erf"), ("relu", "ReLU"), ("quick_gelu", "1.702"), ("relu2", "square of ReLU")],
)
def test_an_activation_without_a_page_is_listed(activation: str, words: str) -> None:
    model = model_of(changed(hidden_act=activation))
    assert words in uncovered(model)["MLP activation"]
    assert not {"SwiGLU", "GELU of the gate"} & set(sites(model))


def test_the_first_gemma_s_gelu_is_the_approximation() -> None:
    document = without(changed(GEMMA3, model_type="gemma", hidden_act="gelu"), "hidden_activation")
    assert "GELU of the gate" in sites(model_of(document))


def test_a_scale_other_than_that_of_head_dim_belongs_into_the_weights() -> None:
    assert said(model_of(changed(GEMMA3, query_pre_attn_scalar=144)), "belongs into the weights")
    assert not said(model_of(GEMMA3), "query_pre_attn_scalar")


@pytest.mark.parametrize(
    "fields",
    [
        {"partial_rotary_factor": 0.5},
        {"rotary_dim": 32},
        {"rope_scaling": {"partial_rotary_factor": 0.5}},
        {"rope_parameters": {"partial_rotary_factor": 0.5, "rope_theta": 1e4}},
        {"rope_parameters": {"full_attention": {"partial_rotary_factor": 0.5}}},
    ],
)
def test_a_partial_rotation_is_found_in_old_and_new_places(fields: dict[str, Any]) -> None:
    model = model_of(changed(**fields))
    assert shape(model, "prefill", "RoPE Q (32 of 64)") == (32 * 2048, 32)
    assert shape(model, "decode", "RoPE K (32 of 64)") == (8, 32)


def test_layers_rotated_differently_have_needs_of_their_own() -> None:
    rope = {
        "full_attention": {"partial_rotary_factor": 0.25},
        "sliding_attention": {"partial_rotary_factor": 1.0},
    }
    model = model_of(changed(GEMMA3, rope_parameters=rope))
    assert shape(model, "prefill", "RoPE Q (64 of 256) [full]") == (4 * 2048, 64)
    assert shape(model, "prefill", "RoPE Q [sliding]") == (4 * 2048, 256)


def test_a_rotation_of_an_odd_width_is_refused() -> None:
    with pytest.raises(InputError, match="rotary halves do not exist"):
        model_of(changed(head_dim=68, partial_rotary_factor=0.25))


def test_interleaved_rotation_has_no_page() -> None:
    model = model_of(changed(rope_interleaved=True))
    assert "RoPE_bf16" not in kernels(model)
    assert "half-split" in uncovered(model)["RoPE"]


@pytest.mark.parametrize(
    ("fields", "site"),
    [({"attention_bias": True}, "Q/K/V and O bias"), ({"mlp_bias": True}, "MLP bias")],
)
def test_a_bias_is_listed_as_having_no_page(fields: dict[str, Any], site: str) -> None:
    assert site in uncovered(model_of(changed(**fields)))
    assert site not in uncovered(model_of(LLAMA))


def test_a_quantised_checkpoint_is_flagged_and_derived() -> None:
    model = model_of(changed(quantization_config={"quant_method": "gptq", "bits": 4}))
    assert model.needs == model_of(LLAMA).needs
    assert said(model, 'quantised checkpoint ("gptq")')


def test_remote_code_is_named_and_never_run() -> None:
    model = model_of(changed(auto_map={"AutoModel": "modeling.Model"}))
    assert model.needs == model_of(LLAMA).needs
    assert said(model, "auto_map names remote code, which was not run")


def test_a_vocabulary_of_whole_partitions_is_not_padded() -> None:
    model = model_of(changed(vocab_size=32768))
    assert said(model, "LM head: 32768 rows in 2 partition(s) of 16384")
    assert not said(model, "padded")


@pytest.mark.parametrize("holder", ["text_config", "llm_config", "language_config"])
def test_a_nested_text_tower_has_the_needs_of_the_model_alone(holder: str) -> None:
    model = model_of({"model_type": "a-wrapper", holder: dict(LLAMA)})
    assert model.needs == model_of(LLAMA).needs
    assert said(model, f"the text tower, {holder}")


def test_a_text_tower_two_levels_down_is_found() -> None:
    document = {"model_type": "omni", "thinker_config": {"text_config": dict(LLAMA)}}
    assert model_of(document).needs == model_of(LLAMA).needs


def test_a_tower_without_model_type_is_of_its_wrapper_s_class() -> None:
    document = {"model_type": "gemma3", "text_config": without(GEMMA3, "model_type")}
    assert model_of(document).needs == model_of(GEMMA3).needs


def test_layers_of_one_shape_share_their_projections_whatever_their_window() -> None:
    model = model_of(GEMMA3)
    for site in ("Q proj", "O proj", "Q/K norm (per head)", "RoPE Q"):
        (need,) = [one for one in model.needs if one.phase == "prefill" and one.site == site]
        assert need.layers is UNSET


def test_what_a_nested_tower_lacks_is_named_with_its_place() -> None:
    with pytest.raises(InputError, match=r"text_config\.vocab_size"):
        model_of({"model_type": "a-wrapper", "text_config": without(LLAMA, "vocab_size")})
    with pytest.raises(InputError, match=r"text_config\.model_type"):
        model_of({"model_type": "a-wrapper", "text_config": without(LLAMA, "model_type")})


def test_towers_that_are_not_derived_are_named() -> None:
    document = changed(audio_config={"hidden_size": 8}, img_processor={"model_name": "clip"})
    model = model_of(document)
    assert said(model, "audio_config: the needs of this tower are not derived")
    assert said(model, 'img_processor names a model ("clip")')


@pytest.mark.parametrize("none", [0, -1, False])
@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2"])
def test_what_people_write_for_no_window_is_none(family: str, none: object) -> None:
    model = model_of(changed(model_type=family, sliding_window=none))
    assert "attention" in sites(model)
    assert said(model, "is no window")


def test_sliding_layers_with_a_window_of_nothing_are_refused() -> None:
    kinds = ["sliding_attention", "full_attention"] * 8
    with pytest.raises(InputError, match="`layer_types` names sliding layers"):
        model_of(changed(layer_types=kinds, sliding_window=0))


@pytest.mark.parametrize("key", ["window_size", "attention_window_size", "local_attention"])
def test_a_window_that_the_class_does_not_read_is_said(key: str) -> None:
    model = model_of(changed(**{key: 256}))
    assert model.needs == model_of(LLAMA).needs
    assert said(model, f"{key} 256 is no key of LlamaConfig")
    assert not said(model_of(changed(**{key: None})), key)


@pytest.mark.parametrize(
    "fields",
    [
        {"quantization": {"group_size": 64, "bits": 4}},
        {"quantization_bit": 4},
        {"compression_config": {"format": "int-quantized"}},
    ],
)
def test_other_ways_to_say_quantised_are_flagged(fields: dict[str, Any]) -> None:
    (key,) = fields
    assert said(model_of(changed(**fields)), f"{key} ")
    assert said(model_of({"model_type": "x", "text_config": changed(**fields)}), f"{key} ")
    assert not said(model_of(changed(**{key: 0})), f"{key} ")
