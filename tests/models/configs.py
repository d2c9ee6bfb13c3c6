"""Configs to derive from: a plain Llama to change, and the published widths of other families."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from registry_tool.models.load import load_derived, load_model
from registry_tool.models.needs import Derived
from registry_tool.models.options import Options
from registry_tool.records.model import Model

LLAMA: Mapping[str, Any] = {
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "hidden_act": "silu",
    "vocab_size": 128256,
}
GPT2: Mapping[str, Any] = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "n_embd": 768,
    "n_head": 12,
    "n_layer": 12,
    "n_positions": 1024,
    "vocab_size": 50257,
}
FALCON: Mapping[str, Any] = {
    "model_type": "falcon",
    "alibi": False,
    "bias": False,
    "hidden_size": 4544,
    "multi_query": True,
    "new_decoder_architecture": False,
    "num_attention_heads": 71,
    "num_hidden_layers": 32,
    "num_kv_heads": 71,
    "parallel_attn": True,
    "vocab_size": 65024,
}
CHATGLM: Mapping[str, Any] = {
    "model_type": "chatglm",
    "add_bias_linear": False,
    "add_qkv_bias": True,
    "ffn_hidden_size": 13696,
    "hidden_size": 4096,
    "kv_channels": 128,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "num_attention_heads": 32,
    "num_layers": 28,
    "padded_vocab_size": 65024,
    "rmsnorm": True,
    "seq_length": 8192,
}
GEMMA3: Mapping[str, Any] = {
    "model_type": "gemma3_text",
    "head_dim": 256,
    "hidden_activation": "gelu_pytorch_tanh",
    "hidden_size": 1152,
    "intermediate_size": 6912,
    "num_attention_heads": 4,
    "num_hidden_layers": 26,
    "num_key_value_heads": 1,
    "query_pre_attn_scalar": 256,
    "sliding_window": 512,
    "sliding_window_pattern": 6,
    "vocab_size": 262144,
}


def write(folder: Path, document: object, name: str = "a-model") -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return path


def changed(base: Mapping[str, Any] = LLAMA, /, **fields: object) -> dict[str, Any]:
    return {**base, **fields}


def without(base: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in base.items() if key not in keys}


def model_of(document: object, **options: Any) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        return load_model(write(Path(folder), document), None, Options(**options))


def derived_of(document: object, options: Options) -> Derived:
    with tempfile.TemporaryDirectory() as folder:
        return load_derived(write(Path(folder), document), None, options)


def shape(model: Model, phase: str, site: str) -> tuple[int, ...]:
    (need,) = [one for one in model.needs if one.phase == phase and one.site == site]
    return tuple(need.shape.values())


def sites(model: Model, phase: str = "prefill") -> list[str]:
    return [need.site for need in model.needs if need.phase == phase]


def kernels(model: Model) -> set[str]:
    return {need.kernel for need in model.needs}


def uncovered(model: Model, phase: str = "prefill") -> dict[str, str]:
    return {part.site: part.reason for part in model.uncovered if part.phase == phase}


def said(model: Model, words: str) -> bool:
    return any(words in note for note in model.notes)
