"""A small legal row of each kernel, for runs that must be quick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """A kernel, its harness folder, and a shape with tile and herd that pass."""

    kernel: str
    folder: str
    shape: Mapping[str, int]
    tile: Mapping[str, int] = field(default_factory=dict)
    herd: tuple[int, ...] = (8,)
    variant: str | None = None
    stateful: bool = False
    compares_timed: bool = True

    def __str__(self) -> str:
        return self.kernel

    @property
    def shape_words(self) -> str:
        """The shape as --shape takes it."""
        return ",".join(f"{dim}={size}" for dim, size in self.shape.items())


ROWS = (
    Row(
        "GEMM_bf16_in_bf16_out",
        "matrix_multiplication/bf16_in_bf16_out",
        {"M": 256, "K": 1024, "N": 256},
        {"tile_m": 32, "tile_k_l2": 64, "tile_k_l1": 32, "tile_n": 64},
        (8, 4),
        "drain",
    ),
    Row(
        "GEMM_bf16_in_fp32_out",
        "matrix_multiplication/bf16_in_fp32_out",
        {"M": 128, "K": 512, "N": 256},
        {"tile_m": 16, "tile_k_l2": 64, "tile_k_l1": 32, "tile_n": 64},
        (8, 4),
        "external",
    ),
    Row(
        "GEMV_bf16",
        "matrix_vector_multiplication/bf16",
        {"M": 512, "K": 256},
        {"tile_m": 8, "m_input": 4},
        (8,),
    ),
    Row("RMSNorm_bf16", "weighted_rms_norm", {"M": 128, "N": 256}),
    Row("LayerNorm_bf16", "layer_norm", {"M": 128, "N": 256}),
    Row(
        "FlashAttention_bf16",
        "flash_attention/kernel_fusion_based",
        {
            "lq": 256, "lk": 256, "dk": 64, "dv": 64, "num_heads": 2, "num_kv_heads": 2,
            "causal": 1,
        },
        {
            "lqp": 256, "lkp": 64, "num_q_tiles": 4, "num_heads_per_unroll": 2,
            "num_cascade_stages": 4,
        },
        (8, 4),
        stateful=True,
    ),
    Row("EltwiseAdd_bf16", "eltwise_add", {"N": 32768}, {"tile": 2048}, (8, 1)),
    Row("SiLU_Mul_bf16", "silu_and_mul", {"N": 32768}, {"tile_n": 4096}, (8, 1)),
    Row("GELU_bf16", "gelu", {"N": 65536}, {"tile_n": 4096}, (8, 2)),
    Row(
        "FFN_SwiGLU_bf16",
        "ffn_swiglu/fused",
        {"M": 256, "K": 256, "N": 256},
        {"tile_m": 64, "tile_k_l2": 128, "tile_k_l1": 32, "tile_n": 64},
        (4, 4),
        compares_timed=False,
    ),
    Row("RoPE_bf16", "rope_halfsplit", {"rows": 256, "head_dim": 64}, {}, (8, 1)),
)  # fmt: skip
