"""Vision towers: encoder layers, patch embedding as GEMM, connectors, and what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from registry_tool.errors import InputError, UsageError
from registry_tool.records.model import Model
from tests.models.configs import LLAMA, changed, model_of, said, shape, uncovered, without

SIGLIP: dict[str, Any] = {
    "model_type": "siglip_vision_model",
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_size": 768,
    "image_size": 512,
    "intermediate_size": 3072,
    "num_attention_heads": 12,
    "num_channels": 3,
    "num_hidden_layers": 12,
    "patch_size": 16,
}
QWEN: dict[str, Any] = {
    "depth": 32,
    "hidden_act": "silu",
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "num_heads": 16,
    "in_chans": 3,
    "out_hidden_size": 2048,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "window_size": 112,
    "fullatt_block_indexes": [7, 15, 23, 31],
    "temporal_patch_size": 2,
}


def with_vision(vision: object, **fields: object) -> dict[str, Any]:
    return changed(vision_config=vision, **fields)


def vision_sites(model: Model) -> dict[str, int]:
    return {
        need.site: need.layers
        for need in model.needs
        if need.site.startswith("vision") and isinstance(need.layers, int)
    }


def test_a_siglip_tower_has_the_needs_of_its_layers() -> None:
    model = model_of(with_vision(SIGLIP))
    assert shape(model, "prefill", "vision patch embedding") == (1024, 3 * 16 * 16, 768)
    assert shape(model, "prefill", "vision Q/K/V proj") == (1024, 768, 768)
    assert shape(model, "prefill", "vision Up proj") == (1024, 768, 3072)
    assert shape(model, "prefill", "vision Down proj") == (1024, 3072, 768)
    assert shape(model, "prefill", "vision LayerNorm") == (1024, 768)
    assert shape(model, "prefill", "vision GELU") == (1024 * 3072,)
    assert shape(model, "prefill", "vision attention") == (1024, 1024, 64, 64, 12, 12, 0)
    assert vision_sites(model)["vision attention"] == 12
    assert vision_sites(model)["vision patch embedding"] == 1
    assert not [need for need in model.needs if need.phase == "decode" and "vision" in need.site]


def test_the_decoder_s_needs_stand_as_without_a_tower() -> None:
    needs = model_of(with_vision(SIGLIP)).needs
    assert [need for need in needs if not need.site.startswith("vision")] == model_of(LLAMA).needs


def test_an_image_can_be_chosen() -> None:
    model = model_of(with_vision(SIGLIP), image=(256, 512))
    assert shape(model, "prefill", "vision Q/K/V proj") == (16 * 32, 768, 768)
    assert said(model, "one image of 256x512 pixels")
    assert model.options == ["--image 256x512"]


def test_pixels_beyond_the_last_patch_are_said_to_be_unseen() -> None:
    model = model_of(with_vision(SIGLIP, patch=1) | {"vision_config": {**SIGLIP, "patch_size": 14}})
    assert shape(model, "prefill", "vision O proj")[0] == 36 * 36
    assert said(model, "pixels beyond the last whole patch of 14 are not seen")


def test_clip_has_a_class_token_and_an_activation_without_a_page() -> None:
    clip = {**SIGLIP, "model_type": "clip_vision_model", "hidden_act": "quick_gelu"}
    model = model_of(with_vision(clip))
    assert shape(model, "prefill", "vision Q/K/V proj")[0] == 1025
    assert shape(model, "prefill", "vision patch embedding")[0] == 1024
    assert "1.702" in uncovered(model)["vision MLP activation"]


def test_qwen_s_tower_needs_an_image_and_says_so() -> None:
    model = model_of(with_vision(QWEN, model_type="qwen2_5_vl"))
    assert not vision_sites(model)
    assert said(model, "it lacks vision_config.image_size (or give --image HxW)")


def test_qwen_s_tower_has_windows_a_gate_and_a_merger() -> None:
    model = model_of(with_vision(QWEN, model_type="qwen2_5_vl"), image=(448, 448))
    assert shape(model, "prefill", "vision patch embedding") == (1024, 3 * 2 * 14 * 14, 1280)
    assert shape(model, "prefill", "vision Gate/Up proj") == (1024, 1280, 3420)
    assert shape(model, "prefill", "vision attention (one window)")[:3] == (64, 64, 80)
    assert shape(model, "prefill", "vision attention (all patches)")[:2] == (1024, 1024)
    layers = vision_sites(model)
    assert layers["vision attention (one window)"] == 28
    assert layers["vision attention (all patches)"] == 4
    assert shape(model, "prefill", "vision connector Up proj") == (256, 5120, 5120)
    assert shape(model, "prefill", "vision connector proj") == (256, 5120, 2048)
    assert shape(model, "prefill", "vision RoPE Q/K") == (16 * 1024, 80)


def test_qwen3_s_tower_has_positions_of_both_kinds_and_more_connectors() -> None:
    vision = {**QWEN, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 1024, "patch_size": 16}
    vision |= {"deepstack_visual_indexes": [5, 11, 17], "window_size": None}
    model = model_of(with_vision(vision, model_type="qwen3_vl_text"), image=(512, 512))
    assert not vision_sites(model)
    wrapper = {"model_type": "qwen3_vl", "text_config": changed(), "vision_config": vision}
    model = model_of(wrapper, image=(512, 512), read_as="llama")
    assert shape(model, "prefill", "vision LayerNorm") == (1024, 1024)
    assert shape(model, "prefill", "vision position add") == (1024 * 1024,)
    assert shape(model, "prefill", "vision RoPE Q/K") == (16 * 1024, 64)
    assert said(model, "3 more connectors of the same shapes")


def test_fusing_reaches_the_tower_where_it_is_stored_as_one() -> None:
    fuse = frozenset({"stored"})
    assert "vision Q/K/V proj" in vision_sites(model_of(with_vision(SIGLIP), fuse=fuse))
    qwen = model_of(with_vision(QWEN, model_type="qwen2_5_vl"), image=(448, 448), fuse=fuse)
    assert shape(qwen, "prefill", "vision QKV proj (fused)") == (1024, 1280, 3840)
    both = model_of(
        with_vision(QWEN, model_type="qwen2_5_vl"),
        image=(448, 448),
        fuse=frozenset({"qkv", "gate_up"}),
    )
    assert shape(both, "prefill", "vision Gate+Up proj (fused)") == (1024, 1280, 6840)


def test_gemma3_s_connector_pools_to_the_tokens_of_an_image() -> None:
    model = model_of(with_vision(SIGLIP, mm_tokens_per_image=256))
    assert shape(model, "prefill", "vision connector proj") == (256, 768, 2048)
    assert shape(model, "prefill", "vision connector norm") == (256, 768)
    assert "1024 patches to 256" in uncovered(model)["vision pooling"]


def test_a_shuffling_connector_joins_squares_of_patches() -> None:
    model = model_of(with_vision({**SIGLIP, "model_type": "smolvlm_vision"}, scale_factor=4))
    assert shape(model, "prefill", "vision connector proj") == (64, 12288, 2048)


def test_a_connector_that_no_key_describes_is_listed() -> None:
    assert "does not say what joins" in uncovered(model_of(with_vision(SIGLIP)))["vision connector"]


@pytest.mark.parametrize(
    ("vision", "words"),
    [
        ({"model_type": "a-new-tower"}, 'model_type "a-new-tower" is not known'),
        ({"hidden_size": 8}, "it names no model_type"),
        (without(SIGLIP, "patch_size", "hidden_size"), "lacks vision_config.hidden_size, vision"),
    ],
)
def test_a_tower_that_cannot_be_derived_is_a_note_and_no_need(
    vision: dict[str, Any], words: str
) -> None:
    model = model_of(with_vision(vision))
    assert model.needs == model_of(LLAMA).needs
    assert said(model, words)


@pytest.mark.parametrize(
    "vision",
    [
        "siglip",
        {**SIGLIP, "hidden_size": "768"},
        {**SIGLIP, "num_attention_heads": 7},
        {**SIGLIP, "patch_size": 1024},
        {**SIGLIP, "hidden_act": "tanh"},
        {**SIGLIP, "patch_size": 2**24, "image_size": 2**24, "num_channels": 2**24},
    ],
)
def test_a_tower_that_contradicts_itself_is_refused(vision: object) -> None:
    with pytest.raises(InputError):
        model_of(with_vision(vision))


def test_an_image_smaller_than_a_patch_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="--image"):
        model_of(with_vision(SIGLIP), image=(8, 8))


PIXTRAL = {
    "head_dim": 64,
    "hidden_act": "silu",
    "hidden_size": 1024,
    "image_size": 1540,
    "intermediate_size": 4096,
    "model_type": "pixtral",
    "num_attention_heads": 16,
    "num_channels": 3,
    "num_hidden_layers": 24,
    "patch_size": 14,
}


def test_the_connector_of_ministral_3_merges_patches_and_projects_twice() -> None:
    document = {
        "model_type": "mistral3",
        "projector_hidden_act": "gelu",
        "spatial_merge_size": 2,
        "text_config": dict(LLAMA),
        "vision_config": PIXTRAL,
    }
    model = model_of(document)
    rows = (1540 // 14) ** 2 // 4
    assert shape(model, "prefill", "vision connector merge proj") == (rows, 4096, 1024)
    assert shape(model, "prefill", "vision connector Up proj") == (rows, 1024, 2048)
    assert shape(model, "prefill", "vision connector proj") == (rows, 2048, 2048)
    assert shape(model, "prefill", "vision connector norm") == (4 * rows, 1024)
    assert "by erf" in uncovered(model)["vision connector activation"]
    assert "vision connector" not in uncovered(model)


def test_the_connector_of_llava_projects_the_patches_twice() -> None:
    clip = {**PIXTRAL, "model_type": "clip_vision_model", "image_size": 336}
    document = {"model_type": "llava", "text_config": dict(LLAMA), "vision_config": clip}
    model = model_of({**document, "projector_hidden_act": "gelu_pytorch_tanh"})
    assert shape(model, "prefill", "vision connector Up proj") == (576, 1024, 2048)
    assert shape(model, "prefill", "vision connector GELU") == (576 * 2048,)
    assert shape(model, "prefill", "vision connector proj") == (576, 2048, 2048)
    several = model_of({**document, "vision_feature_layer": [-2, -5]})
    assert "vision connector" in uncovered(several)
