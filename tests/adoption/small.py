"""A small registry in the upstream form, with figures of our own, and ways to write and read it."""

# ruff: noqa: E501 -- tables are as wide as they are

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from registry_tool import adoption
from registry_tool.adoption.model import Adoption
from registry_tool.records import catalog

GEMM = "details/GEMM_bf16_in_bf16_out.md"
GEMM_JSON = "details/GEMM_bf16_in_bf16_out.json"
GEMV = "details/GEMV_bf16.md"
ATTENTION = "details/FlashAttention_bf16.md"
ADD = "details/EltwiseAdd_bf16.md"
INDEX = "supported_kernels.md"

FILES: dict[str, str] = {
    GEMM: """\
# A matrix product

## Tunable parameters

| Knob | Recommended | Note |
|---|---|---|
| `tile_k_l1` | 32 | steps |
| `tile_n` | 128 or less | wide |

## Tested shapes

### high-precision, `--method fused-cast`

| (M, K, N) | tile (m/kl2/kl1/n) | GFLOPS (incl. cast) | mean_rel_L1 | Status |
|---|---|---|---|---|
| 1024×2048×1024 | 64/**128**/32/128 | **3100** | 9.7e-3 | ✅ Tiny-1B Q proj (square) |
| 1024×2048×512 | 64/256/32/128 | 2900† | 9.8e-3 | ✅ Tiny-1B K/V proj |

> † The figure is carried over from another row.

### high-precision, `--method drain`

| (M, K, N) | tile (m/kl2/kl1/n) | GFLOPS | mean_rel_L1 | Status |
|---|---|---|---|---|
| 1024×2048×1024 | 32/128/32/128 | 2500 | 9.4e-3 | ✅ |
| 64×720×960 | 16/144/48/80 (herd **4×3**) | 540 | 9.4e-3 | ✅ TinyVLA expert q_proj — padded, thin |

### low-precision (`--high-precision false`), direct-codegen

| (M, K, N) | tile (m/kl2/kl1/n) | GFLOPS | mean_rel_L1 | abs_err max | Status |
|---|---|---|---|---|---|
| 1024×2048×4096 | 64/128/32/64 | 2700 | 1.3e-2 | 2.9e-3 | ⚠️ Tiny-1B Gate/Up proj |

## Why the tile matters

The sweep at 1024×2048×1024:

| tile_k_l2 | GFLOPS | result |
|---|---|---|
| 64 | 2700 | ✅ |
| 512 | — | ❌ too wide |
""",
    GEMM_JSON: """\
{
  "_comment": "words about the file",
  "kernel": "GEMM",
  "target": "npu2",
  "herd": [8, 4],
  "shapes": [
    {
      "M": 1024, "K": 2048, "N": 1024,
      "used_by": "Tiny-1B Q proj + Tiny-3B K/V proj",
      "methods": {
        "fused-cast": {
          "tile": {"tile_m": 64, "tile_k_l2": 128, "tile_k_l1": 32, "tile_n": 128},
          "gflops": 3100, "mean_rel_L1": 0.00973, "tier": "high", "correlation": 0.9999
        },
        "drain": {
          "tile": {"tile_m": 32, "tile_k_l2": 128, "tile_k_l1": 32, "tile_n": 128},
          "gflops": 2500, "mean_rel_L1": 0.0094, "tier": "high"
        }
      },
      "best": {"high": "fused-cast"},
      "_note": "A remark about the shape."
    },
    {
      "M": 64, "K": 720, "N": 960,
      "used_by": "TinyVLA expert q_proj",
      "methods": {
        "drain": {
          "tile": {"tile_m": 16, "tile_k_l2": 144, "tile_k_l1": 48, "tile_n": 80},
          "gflops": 540, "mean_rel_L1": 0.00939, "tier": "high", "herd": [4, 3],
          "_note": "Measured twice."
        }
      },
      "best": {"high": "drain"}
    },
    {
      "M": 2048, "K": 512, "N": 512,
      "used_by": "K-sweep",
      "methods": {
        "drain": {
          "tile": {"tile_m": 32, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128},
          "gflops": null, "mean_rel_L1": 0.0095, "tier": "high"
        }
      }
    }
  ]
}
""",
    GEMV: """\
# A product with a vector

## Tested shapes

| (M, K) | tile (herd_m/tile_m/m_input) | latency | GFLOPS | mean_rel_L1 | rel_err max | abs_err max | Used by | Status |
|---|---|---|---|---|---|---|---|---|
| 1024×1024 | 8/8/8 | 150 µs | 14.0 | 0.0 | 0.0 | 0.0 | Tiny-1B decode K/V proj | ✅ |
| 4096×1024 | 8/16/4 | 0.4 ms | 21.0 | 2.0e-8 | 5.3e-3 | 1.25e-1 | coverage | ✅ |
""",
    ATTENTION: """\
# Attention

## Numerical accuracy

| Metric (lq=lk=1024, dk=dv=64, 16 heads / 4 KV, causal, randn inputs) | Measured |
|---|---|
| `mean_rel_L1 = mean|o−ref| / mean|ref|` | **3.91e-2** |
| `rel_err max` | 2.5e+3 (near zero) |

## Parameters & constraints

| Param | Value | Constraint |
|---|---|---|
| `lqp` | 256 | divides lq |
| `lkp` | 64 | is dk |
| `num_q_tiles` | 4 | columns |
| `num_heads_per_unroll` | 2 | channels |
| `num_cascade_stages` | 4 | rows |

## Tested shapes

| lq×lk | dk/dv | heads q/kv | causal | dv_chunks | latency | GFLOP/s | mean_rel_L1 | Status |
|---|---|---|---|---|---|---|---|---|
| 1024×1024 | 64/64 | 16/4 | ✓ | 1 | 4.0–4.4 ms | **975–1072** | 3.9e-2 | ✅ |
| 1024×1024 | 64/64 | 16/4 | ✗ | 1 | 8.0 ms | 1073 | 4.5e-2 | ✅ Tiny-1B prefill |
""",
    ADD: """\
# Addition

## Tested shapes

| N | (as 2-D) | best config (cols/rows/tile) | latency | bandwidth | mean_rel_L1 | abs_err max | Status |
|---|---|---|---|---|---|---|---|
| 1048576 | 1024×1024 | 8/1/2048 | 180 µs | 35.0 GB/s | 1.9e-3 | 3.1e-2 | ✅ |
| 1966080 | — | 8/1/**1920** | 300 µs | **39.3 GB/s** | 1.9e-3 | 3.1e-2 | ✅ Tiny-1B residual (seq·emb) |
""",
    INDEX: """\
# Supported kernels

## Kernels

| Kernel | Detail | Best | Status |
|---|---|---|---|
| GEMM (BF16 in, BF16 out) | [`page`](details/GEMM_bf16_in_bf16_out.md) | **3100 GFLOP/s** | ✅ |

## GEMM (bf16 out) — tested shapes

All of it is in [`details/GEMM_bf16_in_bf16_out.md`](details/GEMM_bf16_in_bf16_out.md).

| (M×K×N) | high-prec fused-cast | high-prec drain | low-prec direct | mean_rel_L1 (high / low) | Used by | Status |
|---|---|---|---|---|---|---|
| 1024×2048×1024 | **3100** | 2500 | — | 9.7e-3 / — | Tiny-1B Q proj | ✅ |
| 1024×2048×512 | **fused-cast (m64/k256/n128)** | — | — | max_abs 1.22e-3 | Tiny-1B K/V proj | ✅ |
| 1024×2048×4096 | ⚠️ | — (drain n64) | **2700** (n64, tile_k_l2=128) | — / 1.31e-2 | Tiny-1B Gate/Up proj | ⚠️ |

## GEMV — tested shapes

See [`details/GEMV_bf16.md`](details/GEMV_bf16.md).

| (M×K) | best tile (herd_m/tile_m/m_input) | GFLOPS | mean_rel_L1 | Used by | Status |
|---|---|---|---|---|---|
| 1024×1024 | 8/8/8 | 14.0 | 0.0 | Tiny-1B decode K/V proj | ✅ |

## Element-wise Add — tested shapes

See [`details/EltwiseAdd_bf16.md`](details/EltwiseAdd_bf16.md).

| N | best config (hx/hy/tile_n) | latency | bandwidth | mean_rel_L1 | Status |
|---|---|---|---|---|---|
| 1966080 (2048×960) | 8/1/1920 | 300 µs | 39.3 GB/s | 1.9e-3 | ✅ (Tiny-1B residual, seq·emb) |
""",
}


def write(folder: Path, changes: Mapping[str, str | bytes | None] = {}) -> Path:
    """The registry in ``folder``, with whole files replaced, or left out for None."""
    for name, text in {**FILES, **changes}.items():
        if text is None:
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def edited(name: str, old: str, new: str) -> dict[str, str | bytes | None]:
    """One file with a piece of it replaced, everywhere; the piece must be there."""
    assert old in FILES[name], old
    return {name: FILES[name].replace(old, new)}


def read(
    folder: Path,
    changes: Mapping[str, str | bytes | None] = {},
    columns: Mapping[str, str] = {},
    without: tuple[str, ...] = (),
) -> Adoption:
    """The small registry, written and read."""
    return adoption.read(write(folder, changes), catalog.built_in(), columns, without)


def line_of(name: str, text: str) -> int:
    """The line of the first file line that holds ``text``."""
    return next(at for at, line in enumerate(FILES[name].split("\n"), 1) if text in line)
