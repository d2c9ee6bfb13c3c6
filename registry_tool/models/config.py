"""A Hugging Face config.json as the few facts that shapes follow from; refuses what it cannot read.

Facts and key names: the public configuration classes of transformers (LlamaConfig, Qwen2Config,
Qwen3Config), and the configs of the models themselves. Nothing is guessed: a missing key is named.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry_tool.errors import InputError


@dataclass(frozen=True)
class DecoderConfig:
    """The dimensions of a dense decoder-only model, in elements."""

    family: str
    sha256: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    qk_norm: bool
    notes: tuple[str, ...]

    @property
    def q_dim(self) -> int:
        """Width of the query projection."""
        return self.heads * self.head_dim

    @property
    def kv_dim(self) -> int:
        """Width of the key projection, and of the value projection."""
        return self.kv_heads * self.head_dim


@dataclass(frozen=True)
class Family:
    """What distinguishes one model_type from the plain Llama arithmetic."""

    qk_norm: bool = False
    bias_note: str | None = None


FAMILIES: Mapping[str, Family] = {
    "llama": Family(),
    "qwen2": Family(bias_note="Q, K and V carry a bias; adding it has no page of its own"),
    "qwen3": Family(qk_norm=True),
}

# A key that decides that the config is out of scope, with why; the value makes it decide.
_REFUSALS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("num_local_experts", bool, "mixture of experts"),
    ("num_experts", bool, "mixture of experts"),
    ("n_routed_experts", bool, "mixture of experts"),
    ("moe_intermediate_size", bool, "mixture of experts"),
    ("num_experts_per_tok", bool, "mixture of experts"),
    ("kv_lora_rank", bool, "latent attention"),
    ("q_lora_rank", bool, "latent attention"),
    ("is_encoder_decoder", bool, "an encoder-decoder"),
    ("attention_chunk_size", bool, "chunked attention"),
    ("dual_chunk_attention_config", bool, "chunked attention"),
    ("full_attention_interval", bool, "hybrid (linear) attention"),
    ("linear_num_value_heads", bool, "linear attention"),
    ("ssm_cfg", bool, "a state-space model"),
    ("mamba_d_state", bool, "a state-space model"),
    ("layer_types", lambda types: bool(_odd_layers(types)), "layers that are not full attention"),
    ("auto_map", bool, "remote code, which is never run"),
    ("quantization_config", bool, "a quantised checkpoint; the kernels here take bf16 weights"),
    ("vision_config", bool, "a multimodal model with a vision tower"),
    ("text_config", bool, "a multimodal model; its text tower is nested"),
    ("partial_rotary_factor", lambda f: f is not None and f != 1.0, "partial rotary embedding"),
    ("rope_interleaved", bool, "interleaved rotary embedding; the RoPE page is half-split"),
    ("mlp_bias", bool, "a bias in the MLP"),
    ("add_cross_attention", bool, "cross attention"),
)
_REQUIRED = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "vocab_size",
)


def _odd_layers(types: Any) -> list[str]:
    if not isinstance(types, list):
        return ["layer_types"]
    return sorted({str(kind) for kind in types} - {"full_attention"})


def read_config(path: Path, seq: int) -> DecoderConfig:
    """The facts in the config.json at ``path``, for a prefill of ``seq`` tokens.

    Raises InputError, naming the deciding key, for a file that is no config, lacks a key, or is of
    a kind whose shapes are not derived here.
    """
    data = _read(path)
    try:
        document = json.loads(data, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"not a JSON config: {error}", path=path, line=line) from None
    if not isinstance(document, dict):
        raise InputError("not a config: expected a JSON object", path=path, line=1)
    return _derive(document, hashlib.sha256(data).hexdigest(), path, seq)


def _read(path: Path) -> bytes:
    if path.is_dir():
        path = path / "config.json"
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the config: {error.strerror}", path=path) from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _derive(document: dict[str, Any], sha256: str, path: Path, seq: int) -> DecoderConfig:
    for key, decides, what in _REFUSALS:
        if key in document and decides(document[key]):
            raise InputError(
                f"`{key}` = {_short(document[key])} says: {what}; out of scope", path=path
            )
    kind = document.get("model_type")
    if kind is None:
        missing = ", ".join(["model_type", *(key for key in _REQUIRED if key not in document)])
        elsewhere = document.get("vlm_model_name")
        fix = f"give the config.json of {elsewhere}" if elsewhere else None
        raise InputError(f"not a decoder's config: it lacks {missing}", path=path, fix=fix)
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        known = ", ".join(FAMILIES)
        raise InputError(
            f"`model_type` = {_short(kind)} is not known; known are {known}", path=path
        )
    absent = [key for key in _REQUIRED if document.get(key) is None]
    if absent:
        raise InputError(f"the config lacks {', '.join(absent)}; nothing is guessed", path=path)
    number = _Numbers(document, path)
    hidden, heads = number("hidden_size"), number("num_attention_heads")
    notes = [family.bias_note] if family.bias_note else []
    kv_heads = number("num_key_value_heads", heads)
    if document.get("num_key_value_heads") is None:
        notes.append(
            f"num_key_value_heads is absent: every one of {heads} heads has its own K and V"
        )
    if heads % kv_heads:
        raise InputError(
            f"`num_key_value_heads` = {kv_heads} does not divide `num_attention_heads` = {heads}",
            path=path,
        )
    head_dim = _head_dim(document, number, hidden, heads, path, notes)
    _check_activation(document, path)
    notes += _sliding(document, seq, path)
    if document.get("attention_bias") and not family.bias_note:
        notes.append("attention_bias is true: adding the bias has no page of its own")
    return DecoderConfig(
        family=kind,
        sha256=sha256,
        hidden=hidden,
        intermediate=number("intermediate_size"),
        layers=number("num_hidden_layers"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=number("vocab_size"),
        qk_norm=family.qk_norm,
        notes=tuple(notes),
    )


class _Numbers:
    """Whole numbers from 1 out of a config, by key."""

    def __init__(self, document: dict[str, Any], path: Path) -> None:
        self._document = document
        self._path = path

    def __call__(self, key: str, default: int | None = None) -> int:
        value = self._document.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(
                f"`{key}` must be a whole number from 1, found {value!r}", path=self._path
            )
        return value


def _head_dim(
    document: dict[str, Any],
    number: _Numbers,
    hidden: int,
    heads: int,
    path: Path,
    notes: list[str],
) -> int:
    if document.get("head_dim") is not None:
        head_dim = number("head_dim")
    elif hidden % heads:
        raise InputError(
            f"no `head_dim`, and `hidden_size` = {hidden} is not divisible by "
            f"`num_attention_heads` = {heads}",
            path=path,
        )
    else:
        head_dim = hidden // heads
        notes.append(f"head_dim is absent: hidden_size / num_attention_heads = {head_dim}")
    if head_dim % 2:
        raise InputError(f"`head_dim` = {head_dim} is odd; rotary halves do not exist", path=path)
    return head_dim


def _check_activation(document: dict[str, Any], path: Path) -> None:
    activation = document.get("hidden_act", "silu")
    if activation not in ("silu", "swish"):
        raise InputError(
            f"`hidden_act` = {_short(activation)}: only SiLU-gated MLPs are derived here", path=path
        )


def _sliding(document: dict[str, Any], seq: int, path: Path) -> list[str]:
    window = document.get("sliding_window")
    if window is None or document.get("use_sliding_window") is False:
        return []
    if not isinstance(window, int) or isinstance(window, bool) or window < 1:
        raise InputError(
            f"`sliding_window` must be a whole number or null, found {window!r}", path=path
        )
    if seq > window:
        raise InputError(
            f"`sliding_window` = {window} is shorter than the prefill of {seq} tokens; windowed "
            "attention has no page",
            path=path,
            fix=f"--seq {window} or less",
        )
    return [f"sliding_window {window} has no effect at {seq} tokens"]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
