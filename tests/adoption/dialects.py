"""Registries of our own in other states of the upstream form, for whoever reads such folders.

Other kernels and specs of their own, renamed headings in another order, no JSON, no index section,
pages that are missing.
"""

# ruff: noqa: E501 -- tables are as wide as they are

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from registry_tool.records import catalog
from registry_tool.records.spec import KernelSpec


@dataclass(frozen=True)
class Made:
    """A registry that was written, the specs to read it with, how many rows it has, and what is wrong with it."""

    folder: Path
    specs: Mapping[str, KernelSpec]
    rows: int
    finds: frozenset[str]


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


GEMV = """\
# Decode products

## Verified shapes

| status | model | L1 | perf | lat | herd | K | M | tile_m | m_input | comment |
|---|---|---|---|---|---|---|---|---|---|---|
| ✅ | Toy-1B decode Q proj | 2.0e-8 | 14.0 GFLOP/s | 150 µs | 8 | 1024 | 1024 | 8 | 8 | seen twice (see log) |
| ⚠️ | Toy-1B decode Down proj | 1.1e-7 | 21.0 GFLOP/s | 0.4 ms | 8 | 1024 | 4096 | 16 | 4 | slow — re-run |

Nothing else was tried.
"""
GEMV_INDEX = """\
# What works

## Products — tested shapes

Details: [page](details/GEMV_bf16.md).

| (M×K) | throughput | accuracy note | state |
|---|---|---|---|
| 1024×1024 | 14.0 | bit-exact on three seeds | ✅ |
"""


def renamed(folder: Path) -> Made:
    """Short headings, the dims apart and last, people's columns first."""
    index = GEMV_INDEX.replace("accuracy note", "notes")
    _write(folder, {"details/GEMV_bf16.md": GEMV, "supported_kernels.md": index})
    return Made(folder, catalog.built_in(), 2, frozenset({"row-missing"}))


def own_kernel(folder: Path) -> Made:
    """A kernel without a built-in spec: one that is a copy of another under its own name."""
    specs = dict(catalog.built_in())
    base = specs["RMSNorm_bf16"]
    specs["Softmax_bf16"] = replace(base, kernel="Softmax_bf16", title="Softmax (BF16)")
    page = """\
# Softmax

## Tested shapes

| (M, N) | herd_x | latency | BW | mean_rel_L1 | max abs err | Used by | Status |
|---|---|---|---|---|---|---|---|
| 512×1024 | 8 | 90 µs | 23.3 GB/s | 4.3e-3 | 1.3e-1 | Toy-1B attention scores | ✅ |
| 256×1024 | 8 | n.a. (hung twice) | n.a. (hung twice) | 4.4e-3 | 1.2e-1 | Toy-3B attention scores | ❌ |

Both were measured on one board.
"""
    index = "# Kernels\n\nSee [Softmax](details/Softmax_bf16.md); its table is on its page.\n"
    _write(folder, {"details/Softmax_bf16.md": page, "supported_kernels.md": index})
    return Made(folder, specs, 2, frozenset({"section-missing"}))


def mixed(folder: Path) -> Made:
    """Two pages in different hands: methods as a column, and one table for each; no JSON."""
    gemm = """\
# Products

## Tested shapes

| (M, K, N) | Method | tile (m/kl2/kl1/n) | herd | TFLOP/s | rel L1 | remarks | Used by | ok? |
|---|---|---|---|---|---|---|---|---|
| 1024×2048×1024 | fused-cast | 64/128/32/128 | 8×4 | 3.1 | 9.7e-3 | square, cold start | Toy-1B Q proj | ✅ |
| 1024×2048×1024 | drain | 32/128/32/128 | 8×4 | 2.5 | 9.4e-3 | — | Toy-1B Q proj | ✅ |

Two methods, one shape.
"""
    add = """\
# Sums

## Verified shapes

| bandwidth | N | tile | cols | rows | mean_rel_L1 | Notes |
|---|---|---|---|---|---|---|
| 35.0 GB/s | 1048576 | 2048 | 8 | 1 | 1.9e-3 | warm cache; Toy-1B residual |

End of the list.
"""
    index = """\
# Index

## Products — tested shapes

In [the page](details/GEMM_bf16_in_bf16_out.md).

| Used by | (M×K×N) | drain | fused-cast | mean_rel_L1 | Status |
|---|---|---|---|---|---|
| Toy-1B Q proj | 1024×2048×1024 | 2500 | **3100** | 9.4e-3 | ✅ |
"""
    _write(
        folder,
        {
            "details/GEMM_bf16_in_bf16_out.md": gemm,
            "details/EltwiseAdd_bf16.md": add,
            "supported_kernels.md": index,
        },
    )
    return Made(folder, catalog.built_in(), 3, frozenset({"section-missing"}))


DIALECTS: Mapping[str, Callable[[Path], Made]] = {
    "renamed headings": renamed,
    "a kernel of its own": own_kernel,
    "two hands": mixed,
}
