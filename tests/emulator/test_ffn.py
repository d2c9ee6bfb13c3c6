"""The fused gate and up block, against a slow reading of its datapath and against its band."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from registry_tool.emulator import ffn, gemm, numerics
from registry_tool.emulator.case import F32, Case
from registry_tool.emulator.compare import ComparisonResult
from registry_tool.errors import UsageError
from registry_tool.records import catalog, kernel
from tests.emulator.figures import BUDGET_MB, in_a_child, measure

RTOL, ATOL = 0.1, 4.0
NAME = "FFN_SwiGLU_bf16"


def mkn(m: int, k: int, n: int) -> dict[str, int]:
    return {"M": m, "K": k, "N": n}


def run(
    shape: Mapping[str, int], tile: Mapping[str, int] | None = None, dropped_k: float = 0.0
) -> ComparisonResult:
    return measure(ffn.swiglu, shape, RTOL, ATOL, tile=tile, dropped_k=dropped_k)


def whole(shape: Mapping[str, int], tile: Mapping[str, int] | None = None) -> tuple[F32, F32]:
    blocks = list(ffn.swiglu(Case(NAME, shape, tile=tile or {})))
    return np.vstack([block.out for block in blocks]), np.vstack([block.ref for block in blocks])


# --- a second reading, one element at a time -----------------------------------------------------


def _bf16(x: float) -> float:
    """Nearest bf16, ties to even, by exact arithmetic."""
    if x == 0.0:
        return 0.0
    unit = 2.0 ** (math.frexp(x)[1] - 8)
    return round(x / unit) * unit


def _bfp16(values: list[float]) -> list[float]:
    """Eight values on the grid of the largest one's exponent; a grid up if one reaches +128."""
    largest = max(abs(value) for value in values)
    unit = 2.0 ** (math.frexp(largest)[1] - 1 - 6) if largest else 1.0
    if max(round(value / unit) for value in values) >= 128:
        unit *= 2
    return [round(value / unit) * unit for value in values]


def _along_k(values: NDArray[Any]) -> list[float]:
    return [
        value
        for start in range(0, len(values), 8)
        for value in _bfp16([float(value) for value in values[start : start + 8]])
    ]


def _sum(a: list[float], b: list[float], depth: int) -> float:
    total = 0.0
    for start in range(0, len(a), depth):
        part = sum(x * y for x, y in zip(a[start:][:depth], b[start:][:depth], strict=True))
        total = _bf16(total + part)
    return total


def _draws(m: int, k: int, n: int) -> list[NDArray[Any]]:
    np.random.seed(42)
    x, gate, up = (np.random.randn(*size) * 0.5 for size in ((m, k), (k, n), (k, n)))
    # A cast of float64 to bf16 goes by way of float32.
    return [np.vectorize(_bf16)(drawn.astype(np.float32).astype(float)) for drawn in (x, gate, up)]


@pytest.mark.parametrize("depth", [16, 32])
def test_a_second_reading_of_the_kernel_gives_the_same_values(depth: int) -> None:
    m, k, n = 8, 64, 8
    x, gate, up = _draws(m, k, n)
    out, ref = whole(mkn(m, k, n), {"tile_k_l1": depth})
    rows = [_along_k(row) for row in x]
    wanted = np.empty_like(out)
    for j in range(n):
        gate_column, up_column = _along_k(gate[:, j]), _along_k(up[:, j])
        for i in range(m):
            g, u = (_sum(rows[i], column, depth) for column in (gate_column, up_column))
            tanh = float(numerics.tanh(np.array([g / 2], np.float32))[0])
            silu = _bf16(g * _bf16(1.0 + tanh) / 2)
            wanted[i, j] = _bf16(silu * u)
            exact_gate, exact_up = (float(x[i] @ weights[:, j]) for weights in (gate, up))
            exact = exact_gate / (1 + math.exp(-exact_gate)) * exact_up
            assert ref[i, j] == pytest.approx(exact, rel=2**-8)
    # Sums in f32 and in float64 may part at a tie, by one bf16 step.
    np.testing.assert_allclose(out, wanted, rtol=2**-7)
    assert np.mean(out == wanted) > 0.97


def test_the_sums_are_those_of_the_direct_gemm() -> None:
    """The low tier of the GEMM, drawn by another seed and scale, has the same product inside."""
    rng = np.random.default_rng(1)
    a = numerics.round_rne(rng.standard_normal((64, 256)).astype(np.float32))
    b = numerics.round_rne(rng.standard_normal((256, 320)).astype(np.float32))
    total = np.zeros((64, 320), np.float32)
    gemm._rounding_every(32)(total, numerics.pack(a), b.copy())
    found = ffn._rounded_product(numerics.bfp16_across(a.copy()), numerics.pack(b), 32)
    np.testing.assert_array_equal(found, total)


# --- figures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "depth"),
    [
        ((256, 256, 256), 32),  # what upstream's own test runs
        ((512, 512, 512), 32),  # the Makefile's own shape
        ((64, 720, 2048), 48),
        ((64, 64, 512), 32),
        ((256, 576, 1536), 64),
    ],
)
def test_an_honest_run_passes_within_its_band(shape: tuple[int, int, int], depth: int) -> None:
    tile = {"tile_k_l1": depth}
    found = run(mkn(*shape), tile)
    band = kernel.band(catalog.built_in()[NAME], mkn(*shape), None, tile, ())
    assert band is not None
    assert found.passed
    assert band.low <= found.mean_rel_L1 <= band.high
    assert found.elements == shape[0] * shape[2]


def test_a_long_reduction_honestly_exceeds_the_tolerance_in_a_few_elements() -> None:
    found = run(mkn(256, 2048, 512), {"tile_k_l1": 32})
    assert not found.passed
    assert 0 < found.mismatches < 0.002 * found.elements


def test_fewer_roundings_are_more_exact() -> None:
    figures = [run(mkn(128, 2048, 256), {"tile_k_l1": d}).mean_rel_L1 for d in (16, 32, 64, 128)]
    assert figures == sorted(figures, reverse=True)
    assert figures[0] > 1.3 * figures[-1]


def test_without_a_tile_it_rounds_as_the_makefile_has_it() -> None:
    np.testing.assert_array_equal(
        whole(mkn(64, 96, 64))[0], whole(mkn(64, 96, 64), {"tile_k_l1": 32})[0]
    )


def test_neither_rows_at_once_nor_columns_at_once_show() -> None:
    shape = mkn(ffn.ROWS + 64, 64, ffn.COLUMNS + 48)
    out, ref = whole(shape)
    x, gate, up = _draws(*shape.values())
    g, u = x @ gate, x @ up
    expected = g / (1 + np.exp(-g)) * u
    np.testing.assert_allclose(ref, expected, rtol=2**-7, atol=1e-4)
    # Nothing left unwritten at an edge of the work.
    error = np.abs(out - ref)
    for edge in (error[-64:], error[:, -48:], error[ffn.ROWS - 1 : ffn.ROWS + 1]):
        assert edge.sum() / np.abs(expected).mean() / edge.size < 0.03


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_a_dropped_part_of_the_reduction_falls_out_of_the_band(share: float) -> None:
    shape = mkn(64, 256, 256)
    found = run(shape, dropped_k=share)
    band = kernel.band(catalog.built_in()[NAME], shape, None, {"tile_k_l1": 32}, ())
    assert band is not None
    assert found.mean_rel_L1 > 10 * band.high
    assert not found.passed


@pytest.mark.parametrize("spoil", ["exchanged", "no SiLU", "zeros"])
def test_what_the_wide_tolerance_might_let_through_the_band_does_not(
    spoil: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = ffn._silu_mul_out
    wrong: dict[str, Callable[[F32, F32], F32]] = {
        "exchanged": lambda gate, up: honest(up, gate),
        "no SiLU": lambda gate, up: gate * up,
        "zeros": lambda gate, up: 0 * gate,
    }
    monkeypatch.setattr(ffn, "_silu_mul_out", wrong[spoil])
    shape = mkn(64, 64, 256)
    band = kernel.band(catalog.built_in()[NAME], shape, None, {"tile_k_l1": 32}, ())
    assert band is not None
    assert run(shape).mean_rel_L1 > 10 * band.high


def test_a_wide_model_stays_within_the_memory_budget() -> None:
    mean_rel_L1, peak_mb = in_a_child("ffn:swiglu", mkn(512, 2048, 8192))
    assert mean_rel_L1 == pytest.approx(2.02e-2, rel=0.01)
    assert peak_mb < BUDGET_MB


@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ({"M": 64, "K": 64}, {}),
        ({"M": 64, "K": 64, "N": 64, "L": 1}, {}),
        ({"M": 64, "K": 64, "N": 0}, {}),
        (mkn(64, 64, 64), {"tile_k_l1": 12}),
        (mkn(64, 64, 64), {"tile_k_l1": 4}),
    ],
)
def test_wrong_sizes_are_refused(shape: dict[str, int], tile: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        list(ffn.swiglu(Case(NAME, shape, tile=tile)))
