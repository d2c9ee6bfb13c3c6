"""The accuracy bands: wide enough for every honest run, too narrow for a fifth more or less."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from registry_tool.emulator.case import Block, Case
from registry_tool.records import catalog, kernel
from registry_tool.records.verdict import Band
from tests.kernels import upstream
from tests.shared_data import shared

every_kernel = pytest.mark.parametrize("name", upstream.KERNELS)


def _band(
    name: str, shape: Mapping[str, int], variant: str | None, tile: Mapping[str, int]
) -> Band:
    found = kernel.band(catalog.built_in()[name], shape, variant, tile, ())
    assert found is not None
    return found


def _emulate(
    name: str, shape: Mapping[str, int], variant: str | None, tile: Mapping[str, int]
) -> float:
    module, _, function = (catalog.built_in()[name].emulator or "").partition(":")
    emulator: Callable[[Case], Iterator[Block]] = getattr(
        importlib.import_module(f"registry_tool.emulator.{module}"), function
    )
    off = total = 0.0
    for block in emulator(Case(kernel=name, shape=shape, variant=variant, tile=tile)):
        off += float(np.abs(block.out - block.ref).sum(dtype=np.float64))
        total += float(np.abs(block.ref).sum(dtype=np.float64))
    return off / total


@every_kernel
def test_every_recorded_accuracy_lies_inside(name: str) -> None:
    outside, compared = [], 0
    for row in upstream.rows(name, shared("upstream_registry")):
        if row.works and row.mean_rel_L1 is not None:
            band = _band(name, row.shape, row.variant, row.tile)
            compared += 1
            recorded = (row.mean_rel_L1.low + row.mean_rel_L1.high) / 2
            if not band.low <= recorded <= band.high:
                outside.append(f"{row}: {recorded:.3e} not in {band.low:.3e}..{band.high:.3e}")
    assert compared
    assert not outside


# Most runs of a GEMV are exact: its band has no lower end, and an upper one far from any run.
@pytest.mark.parametrize("factor", [0.8, 1.2])
@pytest.mark.parametrize("name", [name for name in upstream.KERNELS if name != "GEMV_bf16"])
def test_a_fifth_off_a_recorded_accuracy_lies_outside(name: str, factor: float) -> None:
    spec = catalog.built_in()[name]
    inside = []
    for row in upstream.rows(name, shared("upstream_registry")):
        few = kernel.output_elements(spec, row.shape)[0] < 4096
        if row.works and row.mean_rel_L1 is not None and not few:
            band = _band(name, row.shape, row.variant, row.tile)
            wrong = factor * (row.mean_rel_L1.low + row.mean_rel_L1.high) / 2
            if band.low <= wrong <= band.high:
                inside.append(f"{row}: {wrong:.3e} in {band.low:.3e}..{band.high:.3e}")
    assert not inside


def _gemm(m: int, k: int, n: int) -> dict[str, int]:
    return {"M": m, "K": k, "N": n}


_SPREAD: list[tuple[str, dict[str, int], str | None, dict[str, int]]] = [
    *(
        ("GEMM_bf16_in_fp32_out", _gemm(m, k, n), "external", {})
        for m, k, n in ((16, 64, 32), (64, 720, 96), (128, 2048, 64), (256, 1024, 320))
    ),
    *(
        ("GEMM_bf16_in_bf16_out", _gemm(m, k, n), variant, {"tile_k_l1": step})
        for m, k, n in ((16, 32, 32), (64, 4096, 64), (192, 320, 64), (256, 1536, 256))
        for variant, step in (("drain", 32), ("fused-cast", 32), ("direct", 32), ("direct", 16))
    ),
    *(
        ("FFN_SwiGLU_bf16", _gemm(m, k, n), None, {"tile_k_l1": step})
        for m, k, n in ((16, 32, 32), (64, 720, 256), (192, 320, 64), (128, 2048, 128))
        for step in (16, 32)
    ),
    *(("GEMV_bf16", {"M": m, "K": k}, None, {}) for m, k in ((128, 896), (512, 2048), (1536, 960))),
    *(
        (name, {"M": m, "N": n}, None, {})
        for name in ("RMSNorm_bf16", "LayerNorm_bf16")
        for m, n in ((1, 512), (1, 2048), (3, 1280), (8, 128), (64, 960), (1024, 768), (2048, 128))
    ),
    *(
        (name, {"N": n}, None, {})
        for name in ("EltwiseAdd_bf16", "SiLU_Mul_bf16", "GELU_bf16")
        for n in (256, 3072, 8192, 65536, 262144)
    ),
    *(
        ("RoPE_bf16", {"rows": rows, "head_dim": dim}, None, {})
        for rows, dim in ((1, 64), (2, 128), (5, 64), (8, 96), (14, 64), (32, 64), (2048, 128))
    ),
]


@pytest.mark.parametrize(("name", "shape", "variant", "tile"), _SPREAD)
def test_an_honest_emulated_run_lies_inside(
    name: str, shape: dict[str, int], variant: str | None, tile: dict[str, int]
) -> None:
    band = _band(name, shape, variant, tile)
    assert band.low <= _emulate(name, shape, variant, tile) <= band.high


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize(
    ("length", "heads", "kv_heads", "dim"), [(256, 1, 1, 64), (512, 4, 2, 128)]
)
def test_honest_emulated_attention_lies_inside(
    length: int, heads: int, kv_heads: int, dim: int, causal: int
) -> None:
    sizes = (length, length, dim, dim, heads, kv_heads, causal)
    shape = dict(zip(upstream.ATTENTION_DIMS, sizes, strict=True))
    found = _emulate("FlashAttention_bf16", shape, None, upstream.ATTENTION_TILE)
    band = _band("FlashAttention_bf16", shape, None, upstream.ATTENTION_TILE)
    assert band.low <= found <= band.high


@pytest.mark.parametrize("name", catalog.built_in())
def test_a_band_is_a_range_at_any_size(name: str) -> None:
    spec = catalog.built_in()[name]
    smallest = (64,) if name == "FlashAttention_bf16" else (1, 2, 16)
    for size in (*smallest, 1000, 65536):
        shape = dict.fromkeys(spec.dims, size)
        for causal in (0, 1):
            if "causal" in shape:
                shape["causal"] = causal
            for variant in spec.variants or [None]:
                tile = dict.fromkeys(spec.tile, 32)
                band = _band(name, shape, variant, tile)
                assert 0 <= band.low <= band.high
                assert math.isfinite(band.high)


@pytest.mark.parametrize(
    ("name", "shape", "variant", "wrong"),
    [
        ("GEMM_bf16_in_bf16_out", _gemm(256, 960, 960), "drain", 0.77),
        ("GEMM_bf16_in_bf16_out", _gemm(2048, 2048, 2048), "drain", 0.0128),
        ("GEMM_bf16_in_bf16_out", _gemm(2048, 8192, 2048), "direct", 0.0094),
        ("FFN_SwiGLU_bf16", _gemm(2048, 2048, 8192), None, 0.0156),
        ("FFN_SwiGLU_bf16", _gemm(256, 256, 256), None, 0.88),
        ("FFN_SwiGLU_bf16", _gemm(64, 720, 2048), None, 1.0),
        ("EltwiseAdd_bf16", {"N": 245760}, None, 0.46),
        ("RoPE_bf16", {"rows": 65536, "head_dim": 64}, None, 1.0),
        ("GEMV_bf16", {"M": 2048, "K": 2048}, None, 9e-3),
        ("SiLU_Mul_bf16", {"N": 2097152}, None, 5.1e-3),
        ("GELU_bf16", {"N": 1048576}, None, 6.8e-3),
    ],
)
def test_another_datapath_and_silent_corruption_lie_outside(
    name: str, shape: dict[str, int], variant: str | None, wrong: float
) -> None:
    band = _band(name, shape, variant, {"tile_k_l1": 32})
    assert not band.low <= wrong <= band.high
