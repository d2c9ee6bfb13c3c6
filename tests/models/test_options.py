"""Choices: lengths, batch, fused projections, padding, defaults; each of them stated."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from registry_tool.errors import InputError, UsageError
from tests.models.configs import (
    GPT2,
    LLAMA,
    changed,
    kernels,
    model_of,
    said,
    shape,
    sites,
    without,
)


def test_several_lengths_have_their_needs_and_one_decode() -> None:
    model = model_of(LLAMA, seqs=(512, 2048))
    (short, long) = [
        need.shape for need in model.needs if need.phase == "prefill" and need.site == "Q proj"
    ]
    assert (short["M"], long["M"]) == (512, 2048)
    assert sites(model, "decode") == sites(model_of(LLAMA), "decode")
    assert (model.seq, model.seqs, model.batch) == (512, [512, 2048], UNSET)
    assert said(model, "prefill of 512 and 2048 tokens")


def test_a_length_given_twice_changes_nothing() -> None:
    assert model_of(LLAMA, seqs=(512, 512)).needs == model_of(LLAMA, seqs=(512,)).needs


def test_the_defaults_leave_no_trace_in_the_file() -> None:
    model = model_of(LLAMA)
    assert (model.seqs, model.batch, model.options) == (UNSET, UNSET, UNSET)
    assert all(need.layers is UNSET for need in model.needs)


def test_a_batch_multiplies_tokens_and_makes_decode_a_gemm() -> None:
    model = model_of(LLAMA, seqs=(512,), batch=4)
    assert shape(model, "prefill", "Q proj") == (2048, 2048, 2048)
    assert shape(model, "prefill", "RoPE K") == (8 * 2048, 64)
    assert shape(model, "prefill", "attention")[:2] == (512, 512)
    assert shape(model, "decode", "Q proj") == (4, 2048, 2048)
    assert shape(model, "decode", "LM head (per partition)") == (4, 2048, 16384)
    assert shape(model, "decode", "SwiGLU") == (4 * 8192,)
    assert shape(model, "decode", "residual add") == (4 * 2048,)
    assert shape(model, "decode", "RoPE Q") == (4 * 32, 64)
    assert "GEMV_bf16" not in kernels(model)
    assert {part.site for part in model.uncovered} == {"attention"}
    assert model.batch == 4
    assert said(model, "attention runs once for each of 4 sequences")


def test_fused_projections_take_the_place_of_the_separate_ones() -> None:
    model = model_of(LLAMA, fuse=frozenset({"qkv", "gate_up"}))
    assert shape(model, "prefill", "QKV proj (fused)") == (2048, 2048, 2048 + 2 * 512)
    assert shape(model, "prefill", "Gate+Up proj (fused)") == (2048, 2048, 16384)
    assert shape(model, "decode", "QKV proj (fused)") == (3072, 2048)
    assert not {"Q proj", "K/V proj", "Gate/Up proj"} & set(sites(model))
    assert said(model, "run as one projection (--fuse): gate_up, qkv")
    assert model.options == ["--fuse gate_up", "--fuse qkv"]


def test_stored_fuses_only_what_the_checkpoint_holds_as_one() -> None:
    assert "Q proj" in sites(model_of(LLAMA, fuse=frozenset({"stored"})))
    phi = changed(model_type="phi3")
    assert said(model_of(phi), "gate and up as one weight (gate_up_proj)")
    assert said(model_of(phi), "2048x2048x16384: --fuse gate_up")
    stored = model_of(phi, fuse=frozenset({"stored"}))
    assert {"QKV proj (fused)", "Gate+Up proj (fused)"} <= set(sites(stored))
    assert not said(stored, "listed apart")


def test_a_gate_cannot_be_fused_where_there_is_none() -> None:
    with pytest.raises(UsageError, match="has no gate"):
        model_of(GPT2, fuse=frozenset({"gate_up"}))


def test_padding_rounds_tokens_and_widths_up_and_says_so() -> None:
    document = changed(num_attention_heads=15, num_key_value_heads=5, hidden_size=960)
    model = model_of(document, seqs=(241,), pad={"M": 256, "N": 512, "K": 512})
    assert shape(model, "prefill", "Q proj") == (256, 1024, 1024)
    assert shape(model, "prefill", "K/V proj") == (256, 1024, 512)
    assert shape(model, "decode", "K/V proj") == (512, 1024)
    assert shape(model, "prefill", "attention")[:2] == (256, 256)
    assert shape(model, "prefill", "RMSNorm") == (256, 960)
    assert shape(model, "prefill", "RoPE Q") == (15 * 256, 64)
    assert said(model, "padded (--pad)")
    assert model.options == ["--pad K=512", "--pad M=256", "--pad N=512"]


def test_without_padding_no_size_is_rounded() -> None:
    model = model_of(changed(hidden_size=961), seqs=(241,))
    assert shape(model, "prefill", "Q proj") == (241, 961, 2048)


def test_defaults_fill_absent_keys_only_by_name_and_each_is_said() -> None:
    document = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240}
    with pytest.raises(InputError, match="lacks num_hidden_layers"):
        model_of(document)
    model = model_of(document, defaults="gemma3_text")
    assert shape(model, "prefill", "Q proj") == (2048, 2560, 8 * 256)
    for key in ("num_attention_heads is absent: 8", "head_dim is absent: 256", "vocab_size"):
        assert said(model, key)
    assert model.options == ["--defaults gemma3_text"]


def test_a_null_is_an_answer_and_no_default_replaces_it() -> None:
    with pytest.raises(InputError, match="lacks vocab_size"):
        model_of(changed(vocab_size=None), defaults="llama")
    assert said(model_of(without(LLAMA, "vocab_size"), defaults="llama"), "vocab_size is absent")


@pytest.mark.parametrize(
    "options",
    [
        {"seqs": (0,)},
        {"seqs": ()},
        {"batch": 0},
        {"seqs": (2**20,), "batch": 2**20},
        {"pad": {"M": 0}},
        {"pad": {"X": 8}},
        {"image": (0, 1)},
        {"read_as": "nobody"},
        {"defaults": "nobody"},
        {"image": (896, 896)},
    ],
)
def test_a_choice_that_cannot_be_is_wrong_use(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        model_of(LLAMA, **options)
