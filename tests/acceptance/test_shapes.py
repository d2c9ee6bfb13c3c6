"""`shapes` as a person types it: needs on a line each, the arithmetic, choices, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance import world as worlds
from tests.acceptance.world import TINY_LLAMA, World

GEMMA = {
    "model_type": "gemma3_text",
    "head_dim": 64,
    "hidden_activation": "gelu_pytorch_tanh",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "num_hidden_layers": 6,
    "num_key_value_heads": 1,
    "sliding_window": 128,
    "sliding_window_pattern": 6,
    "vocab_size": 16384,
}
VISION = {
    "model_type": "siglip_vision_model",
    "hidden_size": 128,
    "image_size": 224,
    "intermediate_size": 256,
    "num_attention_heads": 2,
    "num_channels": 3,
    "num_hidden_layers": 3,
    "patch_size": 14,
}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world that nothing is written into, for the tests that only ask."""
    return worlds.make(tmp_path_factory.mktemp("shapes"))


def test_sites_of_one_shape_share_a_line_and_json_keeps_them_apart(reader: World) -> None:
    config = reader.write_config({**TINY_LLAMA, "num_key_value_heads": 8, "hidden_size": 512})
    lines = reader.ok("shapes", str(config)).splitlines()
    (line,) = [one for one in lines if "M=2048 K=512 N=512 [high]" in one and "Q proj" in one]
    assert line.startswith("prefill  GEMM_bf16_in_bf16_out")
    assert line.endswith("Q proj, K/V proj, O proj, Gate/Up proj, Down proj")
    document = reader.json("shapes", str(config))
    assert list(document) == ["model", "needs", "notes"]
    first = document["needs"][0]
    assert first == {
        "phase": "prefill",
        "site": "Q proj",
        "kernel": "GEMM_bf16_in_bf16_out",
        "precision": "high",
        "shape": {"M": 2048, "K": 512, "N": 512},
    }
    assert [one["site"] for one in document["needs"]].count("K/V proj") == 2


def test_explain_shows_where_every_dimension_comes_from(reader: World) -> None:
    config = reader.write_config()
    said = reader.ok("shapes", str(config), "--explain", "--seq", "128")
    assert (
        "N = num_attention_heads 8 x head_dim 64 = 512 "
        "(config.json: num_attention_heads, head_dim)" in said
    )
    assert "M = seq 128 (--seq)" in said
    assert "fact: family llama (LlamaConfig)" in said
    document = reader.json("shapes", str(config), "--explain")
    for need in document["needs"]:
        assert list(need["why"]) == list(need["shape"])
    assert {fact["name"] for fact in document["facts"]} >= {"family", "layers", "vocabulary"}


def test_choices_change_the_needs_and_are_stated(reader: World) -> None:
    config = reader.write_config()
    said = reader.ok(
        *("shapes", str(config), "--seq", "100,200", "--batch", "2"),
        *("--fuse", "qkv", "--pad", "M=64,N=512"),
    )
    assert "M=256 K=256 N=1024 [high]  QKV proj (fused)" in said
    assert "M=512 K=256 N=1024 [high]  QKV proj (fused)" in said
    assert "decode   GEMM_bf16_in_bf16_out  M=64 K=256 N=1024" in said
    assert "note: prefill of 100 and 200 tokens" in said
    assert "note: padded (--pad): M to a multiple of 64, N to a multiple of 512" in said
    assert "note: run as one projection (--fuse): qkv" in said


def test_layers_with_a_window_and_a_vision_tower_are_told_apart(reader: World) -> None:
    wrapper = {"model_type": "gemma3", "text_config": GEMMA, "vision_config": VISION}
    config = reader.write_config({**wrapper, "mm_tokens_per_image": 64})
    said = reader.ok("shapes", str(config), "--seq", "256")
    assert "causal=1  attention [full layers] (once)" in said
    assert "attention in 5 of 6 layers: no page for attention in a window" in said
    assert "M=256 K=588 N=128 [high]  vision patch embedding (once)" in said
    assert "causal=0  vision attention (3 layers)" in said
    assert "M=64 K=128 N=256 [high]  vision connector proj (once)" in said


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"num_local_experts": 8}, "`num_local_experts` = 8 says: mixture of experts"),
        ({"kv_lora_rank": 64}, "it would need: pages for the low-rank projections"),
        ({"hidden_size": None}, "the config lacks hidden_size; nothing is guessed"),
        ({"model_type": "brand-new"}, "next: if its arithmetic is that of a known family"),
        ({"head_dim": None, "hidden_size": 250}, "not divisible by `num_attention_heads` = 8"),
    ],
)
def test_a_refusal_is_exit_status_two_with_the_key_that_decided(
    reader: World, fields: dict[str, Any], words: str
) -> None:
    config = reader.write_config({**TINY_LLAMA, **fields})
    done = reader.tool("shapes", str(config))
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert str(config) in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--seq", "0"),
        ("--seq", "many"),
        ("--batch", "-1"),
        ("--batch", "99999999999999999999"),
        ("--fuse", "everything"),
        ("--pad", "Q=8"),
        ("--pad", "M=0"),
        ("--image", "big"),
        ("--image", "224"),
        ("--as", "nobody"),
        ("--defaults", "nobody"),
    ],
)
def test_a_choice_that_cannot_be_is_exit_status_two(reader: World, words: tuple[str, str]) -> None:
    done = reader.tool("shapes", str(reader.write_config()), *words)
    assert done.returncode == 2
    assert words[0] in done.stderr


def test_plan_takes_the_same_choices(reader: World) -> None:
    config = reader.write_config()
    document = reader.json(
        "plan", "--config", str(config), "--seq", "128", "--batch", "2", status=1
    )
    text = str(document)
    assert "GEMV_bf16" not in text
    assert "GEMM_bf16_in_bf16_out" in text


def test_a_saved_model_is_not_replaced_by_one_of_other_choices(world: World) -> None:
    config = world.write_config()
    base = ("verify", "--config", str(config), "--model", "tiny", "--seq", "64")
    narrow = ("--kernel", "EltwiseAdd_bf16")
    world.ok(*base, *narrow)
    saved = (world.registry / "models" / "tiny.json").read_bytes()
    done = world.tool(*base, *narrow, "--fuse", "qkv")
    assert done.returncode == 2
    assert "was saved from another config" in done.stderr
    assert (world.registry / "models" / "tiny.json").read_bytes() == saved
    world.ok(*base, *narrow, "--fuse", "qkv", "--force")
    assert b"--fuse qkv" in (world.registry / "models" / "tiny.json").read_bytes()
    assert world.json("check")["findings"] == []
