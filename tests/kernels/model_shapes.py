"""The kernel shapes of real decoder configs, derived here on purpose and not by `models/`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tests.shared_data import shared

SEQUENCES = (128, 256, 512, 1000, 1024, 2048, 4096)
LM_HEAD_PARTITION = 16384


@dataclass(frozen=True)
class Decoder:
    """The widths of one dense decoder."""

    name: str
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int

    @property
    def projections(self) -> set[tuple[int, int]]:
        """(K, N) of every weight projection."""
        q_dim, kv_dim = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            (self.hidden, q_dim),
            (self.hidden, kv_dim),
            (q_dim, self.hidden),
            (self.hidden, self.intermediate),
            (self.intermediate, self.hidden),
        }


def decoders() -> list[Decoder]:
    """Every dense decoder of the shared configs, and two that their list leaves out."""
    folder = shared("hf_configs")
    expected = json.loads((folder / "EXPECTED.json").read_text(encoding="utf-8"))
    found = [
        Decoder(
            name=name,
            hidden=facts["hidden"],
            intermediate=facts["intermediate"],
            heads=facts["q_dim"] // facts["head_dim"],
            kv_heads=facts["kv_dim"] // facts["head_dim"],
            head_dim=facts["head_dim"],
        )
        for name, facts in expected.items()
        if facts["scope"].startswith("dense decoder")
    ]
    for name in ("gemma-2-27b", "phi-3.5-vision"):
        config = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        heads = config["num_attention_heads"]
        found.append(
            Decoder(
                name=name,
                hidden=config["hidden_size"],
                intermediate=config["intermediate_size"],
                heads=heads,
                kv_heads=config["num_key_value_heads"],
                head_dim=config.get("head_dim") or config["hidden_size"] // heads,
            )
        )
    return found


def shapes(kernel: str) -> list[dict[str, int]]:
    """The distinct shapes of ``kernel`` over all decoders and sequence lengths."""
    distinct = {
        tuple(shape.items()): shape
        for decoder in decoders()
        for name, shape in _needs(decoder)
        if name == kernel
    }
    return list(distinct.values())


def _needs(decoder: Decoder) -> Iterator[tuple[str, dict[str, int]]]:
    for seq in SEQUENCES:
        yield from _prefill(decoder, seq)
    for k, n in decoder.projections:
        yield "GEMV_bf16", {"M": n, "K": k}
    yield "GEMV_bf16", {"M": LM_HEAD_PARTITION, "K": decoder.hidden}
    for norm in ("RMSNorm_bf16", "LayerNorm_bf16"):
        yield norm, {"M": 1, "N": decoder.hidden}
    for rows in (1, decoder.heads, decoder.kv_heads):
        yield "RMSNorm_bf16", {"M": rows, "N": decoder.head_dim}
        yield "RoPE_bf16", {"rows": rows, "head_dim": decoder.head_dim}


def _prefill(decoder: Decoder, seq: int) -> Iterator[tuple[str, dict[str, int]]]:
    for k, n in decoder.projections:
        for name in ("GEMM_bf16_in_bf16_out", "GEMM_bf16_in_fp32_out"):
            yield name, {"M": seq, "K": k, "N": n}
    for norm in ("RMSNorm_bf16", "LayerNorm_bf16"):
        yield norm, {"M": seq, "N": decoder.hidden}
    yield "RMSNorm_bf16", {"M": seq, "N": decoder.head_dim}
    for heads in (decoder.heads, decoder.kv_heads):
        yield "RoPE_bf16", {"rows": heads * seq, "head_dim": decoder.head_dim}
        yield "RMSNorm_bf16", {"M": heads * seq, "N": decoder.head_dim}
    for causal in (0, 1):
        yield (
            "FlashAttention_bf16",
            {
                "lq": seq,
                "lk": seq,
                "dk": decoder.head_dim,
                "dv": decoder.head_dim,
                "num_heads": decoder.heads,
                "num_kv_heads": decoder.kv_heads,
                "causal": causal,
            },
        )
    yield "EltwiseAdd_bf16", {"N": seq * decoder.hidden}
    yield "SiLU_Mul_bf16", {"N": seq * decoder.intermediate}
    yield "GELU_bf16", {"N": seq * decoder.intermediate}
