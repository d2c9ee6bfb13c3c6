"""What is out of scope, by what the keys say: the key, its value, and what it would need."""

from __future__ import annotations

from typing import Any

import pytest

from registry_tool.errors import InputError
from tests.models.configs import LLAMA, changed, model_of, without

MOE = "mixture of experts"
HYBRID = "hybrid"


@pytest.mark.parametrize(
    ("fields", "key", "what"),
    [
        ({"num_local_experts": 8}, "num_local_experts", MOE),
        ({"num_experts": 64}, "num_experts", MOE),
        ({"num_experts": [64, 64]}, "num_experts", MOE),
        ({"n_routed_experts": 256}, "n_routed_experts", MOE),
        ({"moe_num_experts": 48}, "moe_num_experts", MOE),
        ({"num_routed_experts": 8}, "num_routed_experts", MOE),
        ({"n_experts": 2}, "n_experts", MOE),
        ({"expert_num": 16}, "expert_num", MOE),
        ({"num_experts_per_tok": 2}, "num_experts_per_tok", MOE),
        ({"experts_per_token": 4}, "experts_per_token", MOE),
        ({"moe_intermediate_size": 768}, "moe_intermediate_size", MOE),
        ({"moe_layers": [1, 3]}, "moe_layers", MOE),
        ({"enable_moe_block": True, "num_experts": None}, "enable_moe_block", MOE),
        ({"use_moe": True}, "use_moe", MOE),
        ({"ffn_config": {"moe_num_experts": 16, "moe_top_k": 4}}, "ffn_config.moe_num", MOE),
        ({"kv_lora_rank": 512}, "kv_lora_rank", "latent attention"),
        ({"q_lora_rank": 1536}, "q_lora_rank", "latent attention"),
        ({"is_encoder_decoder": True}, "is_encoder_decoder", "encoder-decoder"),
        ({"num_decoder_layers": 8}, "num_decoder_layers", "encoder-decoder"),
        ({"encoder_layers": 6}, "encoder_layers", "encoder-decoder"),
        ({"type_vocab_size": 2}, "type_vocab_size", "an encoder"),
        ({"use_bidirectional_attention": True}, "use_bidirectional_attention", "an encoder"),
        ({"architectures": ["BertForMaskedLM"]}, "architectures", "an encoder"),
        ({"layer_types": ["full_attention", "linear_attention"]}, "layer_types", HYBRID),
        ({"layer_types": ["mamba"]}, "layer_types", HYBRID),
        ({"layer_types": "linear"}, "layer_types", HYBRID),
        ({"layers_block_type": ["attention", "hybrid"]}, "layers_block_type", HYBRID),
        ({"block_types": ["recurrent", "attention"]}, "block_types", HYBRID),
        ({"attn_type_list": [0, 0, 1]}, "attn_type_list", HYBRID),
        ({"attn_layer_indices": [9, 18]}, "attn_layer_indices", HYBRID),
        ({"attn_layer_period": 8}, "attn_layer_period", HYBRID),
        ({"full_attention_interval": 4}, "full_attention_interval", HYBRID),
        ({"mamba_d_state": 16}, "mamba_d_state", HYBRID),
        ({"linear_num_value_heads": 32}, "linear_num_value_heads", HYBRID),
        ({"ssm_cfg": {"layer": "Mamba2"}}, "ssm_cfg", HYBRID),
        ({"lru_width": 2560}, "lru_width", HYBRID),
        ({"ssm_cfg": {}}, "ssm_cfg", HYBRID),
        ({"num_key_value_heads_per_layer": [4, 1]}, "num_key_value_heads_per_layer", "different"),
        ({"num_key_value_heads": [4, 1]}, "num_key_value_heads", "different make"),
        ({"num_attention_heads": [4, 1]}, "num_attention_heads", "different make"),
        ({"intermediate_size": [64, 32]}, "intermediate_size", "different make"),
        ({"rescale_every": 6}, "rescale_every", HYBRID),
        ({"attention_hidden_size": 768}, "attention_hidden_size", HYBRID),
        ({"cla_share_factor": 2}, "cla_share_factor", "another layer"),
        ({"hybrid_override_pattern": "M-M*"}, "hybrid_override_pattern", HYBRID),
        ({"layer_types": ["chunked_attention"]}, "layer_types", "chunked attention"),
        ({"attention_chunk_size": 8192}, "attention_chunk_size", "chunked attention"),
        ({"dual_chunk_attention_config": {"chunk_size": 1}}, "dual_chunk", "chunked attention"),
        ({"index_topk": 2048}, "index_topk", "sparse attention"),
        ({"add_cross_attention": True}, "add_cross_attention", "cross attention"),
        ({"cross_attention_layers": [3, 8]}, "cross_attention_layers", "cross attention"),
        ({"block_configs": [{"ffn": 1}]}, "block_configs", "different make"),
        ({"num_query_heads": [12, 12, 16]}, "num_query_heads", "different make"),
        ({"attn_output_gate": True}, "attn_output_gate", "gated attention"),
        ({"num_kv_shared_layers": 10}, "num_kv_shared_layers", "keys and values of another"),
        ({"hidden_size_per_layer_input": 256}, "hidden_size_per_layer_input", "of their own"),
    ],
)
def test_a_config_out_of_scope_names_the_key_its_value_and_what_it_needs(
    fields: dict[str, Any], key: str, what: str
) -> None:
    with pytest.raises(InputError) as refusal:
        model_of(changed(**fields))
    text = str(refusal.value)
    assert f"`{key}" in text
    assert what in text
    assert "it would need: " in text
    assert refusal.value.exit_status == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"num_local_experts": 0},
        {"num_local_experts": 1},
        {"num_experts": None},
        {"n_routed_experts": 0},
        {"num_experts_per_tok": 0},
        {"num_experts_per_tok": 1},
        {"moe_intermediate_size": None},
        {"n_routed_experts": None, "moe_intermediate_size": 1407, "num_experts_per_tok": 6},
        {"num_local_experts": 1, "num_experts_per_tok": 2},
        {"use_moe": False, "enable_moe_block": False},
        {"ffn_config": {"ffn_type": "mlp", "moe_num_experts": 1}},
        {"kv_lora_rank": None, "q_lora_rank": None},
        {"is_encoder_decoder": False, "add_cross_attention": False},
        {"layer_types": ["full_attention"] * 16},
        {"layers_block_type": ["attention"] * 16, "mamba_d_state": 0},
        {"layer_types": ["attention"] * 16, "mamba_d_state": 128, "num_local_experts": 0},
        {"attn_layer_indices": None, "hidden_size_per_layer_input": 0},
        {"attention_chunk_size": None, "mamba_ssm_dtype": "float32"},
        {"attn_type_list": [1] * 16},
        {"cla_share_factor": 2, "use_cla": False},
        {"use_bidirectional_attention": None, "architectures": ["LlamaForCausalLM"]},
    ],
)
def test_a_value_that_means_none_does_not_refuse(fields: dict[str, Any]) -> None:
    assert model_of(changed(**fields)).needs == model_of(LLAMA).needs


def test_every_key_that_decides_is_named() -> None:
    with pytest.raises(InputError) as refusal:
        model_of(changed(n_routed_experts=256, kv_lora_rank=512, attention_chunk_size=8192))
    text = str(refusal.value)
    assert "`n_routed_experts` = 256 says: mixture of experts" in text
    assert "`kv_lora_rank` = 512 (latent attention)" in text
    assert "`attention_chunk_size` = 8192 (chunked attention)" in text


def test_experts_in_a_nested_tower_are_found_and_a_vision_tower_s_are_not() -> None:
    with pytest.raises(InputError, match=r"`text_config\.num_local_experts` = 16"):
        model_of({"model_type": "x", "text_config": changed(num_local_experts=16)})
    model_of(changed(vision_config={"model_type": "x", "num_experts": 8}))


def test_a_known_name_does_not_save_a_config_and_an_unknown_one_does_not_damn_it() -> None:
    with pytest.raises(InputError, match="mixture of experts"):
        model_of(changed(model_type="llama", num_experts=8))
    with pytest.raises(InputError, match="mixture of experts"):
        model_of(changed(model_type="never-heard-of", num_experts=8))


def test_an_unknown_model_type_is_read_only_as_somebody_says() -> None:
    document = changed(model_type="a-new-one")
    with pytest.raises(InputError, match=r'`model_type` = "a-new-one" is not known') as refusal:
        model_of(document)
    assert "--as llama" in str(refusal.value)
    model = model_of(document, read_as="llama")
    assert model.needs == model_of(LLAMA).needs
    assert 'read as llama (--as); model_type is "a-new-one"' in model.notes
    assert model.options == ["--as llama"]


def test_reading_as_a_family_does_not_lift_a_refusal() -> None:
    with pytest.raises(InputError, match="mixture of experts"):
        model_of(changed(model_type="a-new-one", num_experts=8), read_as="llama")


def test_a_config_without_model_type_names_where_its_widths_are() -> None:
    with pytest.raises(InputError, match="lacks model_type, hidden_size") as refusal:
        model_of({"type": "vla", "vlm_model_name": "org/base", "num_expert_layers": 0})
    assert '"org/base" (vlm_model_name)' in str(refusal.value)
    with pytest.raises(InputError, match=r"lacks model_type\n") as refusal:
        model_of(without(LLAMA, "model_type"))
    assert "--as llama" in str(refusal.value)
