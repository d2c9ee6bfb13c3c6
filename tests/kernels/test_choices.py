"""Real model shapes find a legal tile and herd among the choices, or it is known which do not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from registry_tool.records import catalog, kernel
from registry_tool.records.spec import KernelSpec
from tests.kernels import legality, model_shapes, upstream


def _why_nothing_is_legal(name: str, shape: Mapping[str, int]) -> set[str] | None:
    """The constraint that no choice can satisfy at ``shape``; None where a choice must exist."""
    if name.startswith("GEMM") and shape["M"] % 16:
        return {"tile-m-blocks"}  # a prefill of 1000 tokens has to be padded to 1008
    if name == "GEMV_bf16" and shape["K"] > 16127:
        return {"l1"}  # one row of A and the vector take more than the 64 KiB of a compute tile
    if name == "FlashAttention_bf16":
        blocked = {"lq-divides", "lk-divides"} if shape["lq"] % 64 else set()
        return blocked | ({"dk-divides", "dv-divides"} if shape["dk"] % 64 else set()) or None
    return None


def _variants(spec: KernelSpec) -> list[str | None]:
    return [*spec.variants] or [None]


@pytest.mark.parametrize("name", upstream.KERNELS)
def test_every_model_shape_has_a_legal_configuration_or_a_known_obstacle(name: str) -> None:
    spec = catalog.built_in()[name]
    wrong = []
    for shape in model_shapes.shapes(name):
        expected = _why_nothing_is_legal(name, shape)
        for variant in _variants(spec):
            found = next(legality.legal(spec, shape, variant), None)
            if (found is None) != (expected is not None):
                wrong.append(f"{kernel.shape_text(spec, shape)} {variant}: {found}")
    assert not wrong


@pytest.mark.parametrize(
    ("name", "shape", "obstacles"),
    [
        ("GEMM_bf16_in_bf16_out", {"M": 1000, "K": 64, "N": 64}, {"m-divides", "tile-m-blocks"}),
        ("GEMV_bf16", {"M": 3584, "K": 18944}, {"l1"}),
        ("GEMV_bf16", {"M": 4608, "K": 36864}, {"l1"}),
    ],
)
def test_the_obstacle_is_the_one_that_is_named(
    name: str, shape: dict[str, int], obstacles: set[str]
) -> None:
    spec = catalog.built_in()[name]
    for variant in _variants(spec):
        assert next(legality.legal(spec, shape, variant), None) is None
        assert legality.blocking(spec, shape, variant) <= obstacles
    if obstacles == {"l1"}:
        assert legality.blocking(spec, shape, None) == {"l1"}


def test_a_head_of_96_is_stopped_by_its_chunks_and_a_prefill_of_1000_by_its_length() -> None:
    spec = catalog.built_in()["FlashAttention_bf16"]
    phi = dict(zip(spec.dims, (2048, 2048, 96, 96, 32, 32, 1), strict=True))
    assert not list(legality.legal(spec, phi, None, without=frozenset({"dk-divides"})))
    split = frozenset({"dk-divides", "dv-divides"})
    assert next(legality.legal(spec, phi, None, without=split)).herd == (8, 4)
    odd = dict(zip(spec.dims, (1000, 1000, 64, 64, 32, 8, 1), strict=True))
    assert not list(legality.legal(spec, odd, None, without=frozenset({"lq-divides"})))
    length = frozenset({"lq-divides", "lk-divides"})
    assert next(legality.legal(spec, odd, None, without=length)).herd == (8, 4)


@pytest.mark.parametrize("name", upstream.KERNELS)
def test_a_prefill_of_2048_reaches_the_tiles_target(name: str) -> None:
    spec = catalog.built_in()[name]
    for shape in model_shapes.shapes(name):
        if shape.get("M", shape.get("lq")) != 2048 or _why_nothing_is_legal(name, shape):
            continue
        for variant in _variants(spec):
            assert next(legality.legal(spec, shape, variant)).tiles >= spec.tiles_target, shape


@pytest.mark.parametrize(
    ("heads", "herd"), [(1, (1, 1)), (2, (2, 1)), (5, (5, 1)), (14, (7, 1)), (15, (5, 1))]
)
def test_few_rows_use_as_many_columns_as_divide_them(heads: int, herd: tuple[int, ...]) -> None:
    spec = catalog.built_in()["RoPE_bf16"]
    found = next(legality.legal(spec, {"rows": heads, "head_dim": 64}, None))
    assert found.herd == herd


def test_fifteen_heads_fill_the_chip_one_at_a_time() -> None:
    spec = catalog.built_in()["FlashAttention_bf16"]
    shape = dict(zip(spec.dims, (2048, 2048, 64, 64, 15, 5, 1), strict=True))
    found = next(legality.legal(spec, shape, None, guidelines=True))
    assert list(found.tile.values()) == [512, 64, 8, 1, 4]
    assert found.tiles == 32


@pytest.mark.parametrize(
    ("name", "shape", "variant", "tile", "herd"),
    [
        ("GEMM_bf16_in_bf16_out", (2048, 8192, 2048), "fused-cast", (64, 256, 32, 128), (8, 4)),
        ("GEMM_bf16_in_bf16_out", (2048, 2048, 512), "drain", (32, 256, 32, 128), (8, 4)),
        ("GEMM_bf16_in_bf16_out", (256, 960, 960), "drain", (32, 320, 32, 80), (8, 4)),
        ("GEMM_bf16_in_bf16_out", (64, 720, 960), "drain", (16, 144, 48, 80), (4, 4)),
        ("GEMM_bf16_in_bf16_out", (64, 12288, 960), "drain", (16, 256, 32, 240), (4, 4)),
        ("GEMM_bf16_in_bf16_out", (192, 320, 64), "drain", (32, 320, 32, 16), (6, 4)),
        ("GEMM_bf16_in_bf16_out", (2048, 3584, 3584), "fused-cast", (64, 128, 32, 128), (8, 4)),
        ("GEMM_bf16_in_bf16_out", (2048, 2560, 9728), "fused-cast", (64, 64, 32, 128), (8, 4)),
        ("GEMM_bf16_in_fp32_out", (2048, 8192, 2048), "external", (64, 256, 32, 128), (8, 4)),
        ("GEMV_bf16", (2048, 2048), None, (8, 8), (8,)),
        ("GEMV_bf16", (16384, 1536), None, (16, 16), (8,)),
        ("GEMV_bf16", (2048, 11008), None, (2, 1), (8,)),
        ("RMSNorm_bf16", (2048, 2048), None, (), (8,)),
        ("FlashAttention_bf16", (2048, 2048, 64, 64, 32, 8, 1), None, (256, 64, 4, 2, 4), (8, 4)),
        ("EltwiseAdd_bf16", (4194304,), None, (2048,), (8, 1)),
        ("EltwiseAdd_bf16", (245760,), None, (1920,), (8, 1)),
        ("SiLU_Mul_bf16", (16777216,), None, (4096,), (8, 1)),
        ("GELU_bf16", (3145728,), None, (4096,), (8, 2)),
        ("RoPE_bf16", (65536, 64), None, (), (8, 1)),
    ],
)
def test_the_first_choice_is_the_best_known_one(
    name: str,
    shape: tuple[int, ...],
    variant: str | None,
    tile: tuple[int, ...],
    herd: tuple[int, ...],
) -> None:
    spec = catalog.built_in()[name]
    sizes = dict(zip(spec.dims, shape, strict=True))
    # As the plan's search does: the guidelines first, and without them where nothing keeps all.
    best = next(legality.legal(spec, sizes, variant))
    kept = legality.legal(spec, sizes, variant, guidelines=True)
    best = next((found for found in kept if found.tiles == best.tiles), best)
    assert (tuple(best.tile.values()), best.herd) == (tile, herd)
