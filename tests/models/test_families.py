"""One test for each family that is more than plain Llama, at the published widths of a model."""

from __future__ import annotations

from typing import Any

import pytest

from registry_tool.errors import InputError
from registry_tool.models.families import FAMILIES
from tests.models.configs import (
    CHATGLM,
    FALCON,
    GEMMA3,
    GPT2,
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

GLM4 = {
    "model_type": "glm4",
    "attention_bias": False,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 13696,
    "num_attention_heads": 32,
    "num_hidden_layers": 40,
    "num_key_value_heads": 2,
    "partial_rotary_factor": 0.5,
    "vocab_size": 151552,
}
OPT_350M = {
    "model_type": "opt",
    "activation_function": "relu",
    "do_layer_norm_before": False,
    "ffn_dim": 4096,
    "hidden_size": 1024,
    "max_position_embeddings": 2048,
    "num_attention_heads": 16,
    "num_hidden_layers": 24,
    "vocab_size": 50272,
    "word_embed_proj_dim": 512,
}
BIGCODE = {**GPT2, "model_type": "gpt_bigcode", "multi_query": True, "n_inner": 3072}
NEOX = {
    "model_type": "gpt_neox",
    "hidden_act": "gelu",
    "hidden_size": 512,
    "intermediate_size": 2048,
    "num_attention_heads": 8,
    "num_hidden_layers": 6,
    "rotary_pct": 0.25,
    "vocab_size": 50304,
}
STARCODER2 = {
    "model_type": "starcoder2",
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_size": 3072,
    "intermediate_size": 12288,
    "num_attention_heads": 24,
    "num_hidden_layers": 30,
    "num_key_value_heads": 2,
    "sliding_window": 4096,
    "use_bias": True,
    "vocab_size": 49152,
}
SMOLLM3 = {
    "model_type": "smollm3",
    "hidden_act": "silu",
    "hidden_size": 2048,
    "intermediate_size": 11008,
    "no_rope_layers": [1, 1, 1, 0] * 9,
    "num_attention_heads": 16,
    "num_hidden_layers": 36,
    "num_key_value_heads": 4,
    "use_sliding_window": False,
    "vocab_size": 128256,
}
MINISTRAL3 = {
    "model_type": "ministral3",
    "dtype": "bfloat16",
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 3072,
    "intermediate_size": 9216,
    "num_attention_heads": 32,
    "num_hidden_layers": 26,
    "num_key_value_heads": 8,
    "rope_parameters": {"rope_theta": 1e6, "rope_type": "yarn", "factor": 16.0},
    "sliding_window": None,
    "vocab_size": 131072,
}
GEMMA4 = {
    **GEMMA3,
    "model_type": "gemma4_text",
    "attention_k_eq_v": True,
    "global_head_dim": 512,
    "hidden_size_per_layer_input": 0,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 4 + ["full_attention"] * 2,
    "num_attention_heads": 16,
    "num_global_key_value_heads": 4,
    "num_key_value_heads": 8,
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_reads_a_complete_config(name: str) -> None:
    extra: dict[str, Any] = {
        "multi_query": False,
        "multi_query_attention": False,
        "global_head_dim": 64,
        "hidden_size_per_layer_input": 0,
    }
    model = model_of(changed(model_type=name, **extra), seqs=(512,))
    assert shape(model, "prefill", "Q proj") == (512, 2048, 2048)
    assert shape(model, "prefill", "O proj") == (512, 2048, 2048)
    assert shape(model, "prefill", "Down proj") == (512, 8192, 2048)
    assert FAMILIES[name].config_class


def test_qwen3_norms_each_head_of_q_and_k() -> None:
    model = model_of(changed(model_type="qwen3", head_dim=128))
    assert shape(model, "prefill", "Q/K norm (per head)") == (2048, 128)
    assert shape(model, "decode", "Q/K norm (per head)") == (1, 128)


def test_qwen2_has_a_bias_on_q_k_and_v_that_no_page_adds() -> None:
    model = model_of(changed(model_type="qwen2"))
    assert "Q/K/V bias" in uncovered(model)
    assert "Q/K/V bias" in uncovered(model, "decode")
    assert model.needs == model_of(LLAMA).needs


def test_gpt2_has_layer_norms_gelu_learned_positions_and_no_gate() -> None:
    model = model_of(GPT2, seqs=(1024,))
    assert shape(model, "prefill", "Up proj") == (1024, 768, 3072)
    assert shape(model, "prefill", "K/V proj") == (1024, 768, 768)
    assert shape(model, "prefill", "LayerNorm") == (1024, 768)
    assert shape(model, "prefill", "GELU") == (1024 * 3072,)
    assert shape(model, "prefill", "position embedding add") == (1024 * 768,)
    assert "RoPE_bf16" not in kernels(model)
    assert "SiLU_Mul_bf16" not in kernels(model)
    assert said(model, "1024x768x2304: --fuse qkv")
    assert not said(model, "table of positions")


def test_a_prefill_longer_than_the_table_of_positions_is_said() -> None:
    model = model_of(GPT2)
    assert said(model, "n_positions 1024 is less than a prefill of 2048 tokens")


@pytest.mark.parametrize("document", [GPT2, {**GPT2, "n_inner": None}])
def test_gpt2_documents_four_times_hidden_for_a_null_or_absent_inner_width(
    document: dict[str, Any],
) -> None:
    model = model_of(document)
    assert shape(model, "prefill", "Down proj") == (2048, 3072, 768)
    assert said(model, "4 times the hidden size")


def test_no_other_family_fills_in_the_width_of_the_mlp() -> None:
    with pytest.raises(InputError, match="lacks intermediate_size"):
        model_of(changed(intermediate_size=None))


def test_falcon_7b_has_one_head_of_keys_whatever_its_file_says() -> None:
    model = model_of(FALCON)
    assert shape(model, "prefill", "K/V proj") == (2048, 4544, 64)
    assert shape(model, "prefill", "attention")[4:6] == (71, 1)
    assert shape(model, "prefill", "Up proj") == (2048, 4544, 18176)
    assert said(model, "num_kv_heads 71 is not what multi_query says")
    fused = model_of(FALCON, fuse=frozenset({"qkv"}))
    assert shape(fused, "prefill", "QKV proj (fused)") == (2048, 4544, 4672)


def test_falcon_40b_takes_its_heads_of_keys_from_the_file() -> None:
    document = changed(
        FALCON,
        hidden_size=8192,
        num_attention_heads=128,
        num_kv_heads=8,
        new_decoder_architecture=True,
    )
    assert shape(model_of(document), "prefill", "K/V proj") == (2048, 8192, 512)


def test_falcon_without_multi_query_has_keys_for_every_head() -> None:
    model = model_of(changed(FALCON, multi_query=False))
    assert shape(model, "prefill", "K/V proj") == (2048, 4544, 4544)


def test_falcon_that_does_not_say_multi_query_is_incomplete() -> None:
    with pytest.raises(InputError, match="lacks multi_query"):
        model_of(without(FALCON, "multi_query"))


def test_alibi_takes_the_place_of_rotation_and_has_no_page() -> None:
    model = model_of(changed(FALCON, alibi=True))
    assert "RoPE_bf16" not in kernels(model)
    assert "attention" not in sites(model)
    assert "ALiBi" in uncovered(model)["attention"]


def test_gpt_bigcode_has_one_head_of_keys_if_it_says_so() -> None:
    assert shape(model_of(BIGCODE), "prefill", "K/V proj") == (2048, 768, 64)
    every = model_of({**BIGCODE, "multi_query": False})
    assert shape(every, "prefill", "K/V proj") == (2048, 768, 768)


def test_chatglm_names_its_widths_its_own_way() -> None:
    model = model_of(CHATGLM)
    assert shape(model, "prefill", "K/V proj") == (2048, 4096, 256)
    assert shape(model, "prefill", "Gate/Up proj") == (2048, 4096, 13696)
    assert said(model, "LM head: 65024 rows")
    assert "interleaved" in uncovered(model)["RoPE"]
    assert "Q/K/V bias" in uncovered(model)
    stored = model_of(CHATGLM, fuse=frozenset({"stored"}))
    assert shape(stored, "prefill", "QKV proj (fused)") == (2048, 4096, 4608)
    assert shape(stored, "prefill", "Gate+Up proj (fused)") == (2048, 4096, 27392)


def test_chatglm_without_groups_has_keys_for_every_head() -> None:
    model = model_of(changed(CHATGLM, multi_query_attention=False))
    assert shape(model, "prefill", "K/V proj") == (2048, 4096, 4096)


def test_glm4_has_two_more_norms_and_interleaved_rotation() -> None:
    model = model_of(GLM4)
    assert shape(model, "prefill", "RMSNorm after attention and MLP") == (2048, 4096)
    assert shape(model, "prefill", "K/V proj") == (2048, 4096, 256)
    assert "RoPE Q" not in sites(model)


def test_opt_350m_projects_its_embeddings_in_and_out() -> None:
    model = model_of(OPT_350M)
    assert shape(model, "prefill", "embedding proj in") == (2048, 512, 1024)
    assert shape(model, "prefill", "embedding proj out") == (2048, 1024, 512)
    assert shape(model, "decode", "embedding proj out") == (512, 1024)
    assert shape(model, "decode", "LM head (per partition)") == (16384, 512)
    assert "ReLU" in uncovered(model)["MLP activation"]


def test_gpt_neox_rotates_a_quarter_of_a_head() -> None:
    model = model_of(NEOX)
    assert shape(model, "prefill", "RoPE Q (16 of 64)") == (8 * 2048, 16)
    assert "by erf" in uncovered(model)["MLP activation"]


def test_starcoder2_has_a_plain_mlp_layer_norms_and_biases() -> None:
    model = model_of(STARCODER2)
    assert shape(model, "prefill", "Up proj") == (2048, 3072, 12288)
    assert shape(model, "prefill", "GELU") == (2048 * 12288,)
    assert "Q/K/V, O and MLP bias" in uncovered(model)
    assert "Q/K/V, O and MLP bias" not in uncovered(model_of({**STARCODER2, "use_bias": False}))


def test_smollm3_does_not_rotate_every_layer() -> None:
    model = model_of(SMOLLM3)
    (need,) = [one for one in model.needs if one.phase == "prefill" and one.site == "RoPE Q"]
    assert need.layers == 27
    assert shape(model, "prefill", "attention") == (2048, 2048, 128, 128, 16, 4, 1)


def test_smollm3_with_a_window_must_list_its_layers() -> None:
    document = {**SMOLLM3, "use_sliding_window": True, "sliding_window": 64}
    with pytest.raises(InputError, match="lacks layer_types"):
        model_of(document)
    kinds = (["full_attention"] * 3 + ["sliding_attention"]) * 9
    model = model_of({**document, "layer_types": kinds})
    assert "attention in 9 of 36 layers" in uncovered(model)


def test_ministral_is_read_with_the_keys_of_transformers_5() -> None:
    model = model_of(MINISTRAL3)
    assert shape(model, "prefill", "Q proj") == (2048, 3072, 4096)
    assert shape(model, "prefill", "O proj") == (2048, 4096, 3072)
    assert shape(model, "prefill", "RoPE K") == (8 * 2048, 128)


def test_olmo2_norms_the_whole_width_of_q_and_k() -> None:
    model = model_of(changed(model_type="olmo2"))
    assert shape(model, "prefill", "Q norm (whole width)") == (2048, 2048)
    assert shape(model, "prefill", "K norm (whole width)") == (2048, 512)


def test_granite_s_factors_belong_into_the_weights() -> None:
    document = changed(model_type="granite", attention_multiplier=0.0078125, logits_scaling=8.0)
    assert said(model_of(document), "attention_multiplier, logits_scaling: factors")


def test_cohere_has_layer_norms_interleaved_rotation_and_qk_norm_if_it_says_so() -> None:
    model = model_of(changed(model_type="cohere"))
    assert "LayerNorm_bf16" in kernels(model)
    assert "RoPE" in uncovered(model)
    assert "Q/K norm (per head)" not in sites(model)
    normed = model_of(changed(model_type="cohere", use_qk_norm=True))
    assert shape(normed, "prefill", "Q/K norm (per head)") == (2048, 64)


def test_gemma4_has_two_shapes_of_heads() -> None:
    model = model_of(GEMMA4, seqs=(512,))
    assert shape(model, "prefill", "Q proj [sliding layers]") == (512, 1152, 16 * 256)
    assert shape(model, "prefill", "K/V proj [sliding layers]") == (512, 1152, 8 * 256)
    assert shape(model, "prefill", "Q proj [full layers]") == (512, 1152, 16 * 512)
    assert shape(model, "prefill", "K/V proj [full layers]") == (512, 1152, 4 * 512)
    layers = {one.site: one.layers for one in model.needs if one.phase == "prefill"}
    assert layers["Q proj [sliding layers]"] == 20
    assert layers["O proj [full layers]"] == 6
    assert shape(model, "prefill", "attention [full layers]")[2] == 512
    for key in ("global_head_dim", "hidden_size_per_layer_input"):
        with pytest.raises(InputError, match=f"lacks {key}"):
            model_of(without(GEMMA4, key))


OLMO3 = {
    "model_type": "olmo3",
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 8,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 32,
    "sliding_window": 4096,
    "vocab_size": 100278,
}


def test_olmo3_has_windows_beside_the_norms_of_olmo2() -> None:
    assert "attention" in sites(model_of(OLMO3, seqs=(4096,)))
    model = model_of(OLMO3, seqs=(8192,))
    assert "attention in 24 of 32 layers" in uncovered(model)
    assert shape(model, "prefill", "Q norm (whole width)") == (8192, 4096)
    absent = model_of(without(OLMO3, "layer_types"), seqs=(8192,))
    assert uncovered(absent) == uncovered(model)


def test_exaone4_does_not_rotate_full_layers_beside_sliding_ones() -> None:
    exaone = changed(model_type="exaone4", sliding_window=None)
    alike = model_of(exaone)
    (need,) = [one for one in alike.needs if one.phase == "prefill" and one.site == "RoPE Q"]
    assert not isinstance(need.layers, int)
    kinds = (["sliding_attention"] * 3 + ["full_attention"]) * 4
    mixed = model_of({**exaone, "sliding_window": 4096, "layer_types": kinds})
    (need,) = [one for one in mixed.needs if one.phase == "prefill" and one.site == "RoPE Q"]
    assert need.layers == 12
    assert shape(mixed, "prefill", "Q/K norm (per head)") == (2048, 64)


@pytest.mark.parametrize("family", ["arcee", "nemotron"])
def test_the_square_of_relu_is_a_plain_mlp_without_a_page(family: str) -> None:
    model = model_of(changed(model_type=family, hidden_act="relu2"))
    assert shape(model, "prefill", "Up proj") == (2048, 2048, 8192)
    assert "Gate/Up proj" not in sites(model)
    assert "square of ReLU" in uncovered(model)["MLP activation"]


def test_nemotron_rotates_half_of_a_head_and_ernie_turns_pairs() -> None:
    model = model_of(changed(model_type="nemotron", hidden_act="relu2"))
    assert shape(model, "prefill", "RoPE Q (32 of 64)") == (32 * 2048, 32)
    assert "interleaved" in uncovered(model_of(changed(model_type="ernie4_5")))["RoPE"]


def test_internlm2_holds_q_k_and_v_as_one_weight() -> None:
    model = model_of(changed(model_type="internlm2", bias=False), fuse=frozenset({"stored"}))
    assert shape(model, "prefill", "QKV proj (fused)") == (2048, 2048, 3072)
    assert "Q/K/V and O bias" not in uncovered(model)
    assert "Q/K/V and O bias" in uncovered(model_of(changed(model_type="internlm2")))


def test_minicpm_s_factors_belong_into_the_weights() -> None:
    model = model_of(changed(model_type="minicpm", scale_emb=12, scale_depth=1.4))
    assert said(model, "scale_emb, scale_depth: factors")
    assert model.needs == model_of(LLAMA).needs


def test_a_gate_with_gelu_needs_the_page_in_decode_too() -> None:
    model = model_of(GEMMA3)
    assert shape(model, "decode", "GELU of the gate") == (6912,)
    assert "gate times up" in uncovered(model, "decode")


def test_clipped_q_k_and_v_have_no_page() -> None:
    model = model_of(changed(model_type="olmo", clip_qkv=8.0))
    assert "clip_qkv = 8" in uncovered(model)["Q/K/V clamp"]
    assert "Q/K/V clamp" in uncovered(model, "decode")
    assert "Q/K/V clamp" not in uncovered(model_of(changed(model_type="olmo", clip_qkv=None)))


@pytest.mark.parametrize(
    ("wrapper", "family"), [("llava", "llama"), ("paligemma", "gemma"), ("mistral3", "mistral")]
)
def test_a_text_tower_without_a_model_type_is_of_its_wrapper_s_class(
    wrapper: str, family: str
) -> None:
    tower = changed(model_type=family)
    nested = {"model_type": wrapper, "text_config": without(tower, "model_type")}
    assert model_of(nested).needs == model_of(tower).needs


def test_paligemma_is_complete_with_the_defaults_of_its_class() -> None:
    tower = {
        "hidden_size": 2048,
        "intermediate_size": 16384,
        "model_type": "gemma",
        "num_attention_heads": 8,
        "num_hidden_layers": 18,
        "num_key_value_heads": 1,
        "vocab_size": 257216,
    }
    document = {"model_type": "paligemma", "text_config": tower}
    with pytest.raises(InputError, match=r"lacks text_config\.head_dim") as refusal:
        model_of(document)
    assert "--defaults gemma" in str(refusal.value)
    model = model_of(document, defaults="gemma")
    assert shape(model, "prefill", "K/V proj") == (2048, 2048, 256)
