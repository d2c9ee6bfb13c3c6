"""GEMM against the recorded tables, at full shapes.

A is drawn before B, so fewer rows would change B: no shape here is cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from registry_tool.emulator import gemm, numerics
from registry_tool.emulator.case import Block, Case
from registry_tool.errors import UsageError
from tests.emulator.figures import BUDGET_MB, agrees, in_a_child, measure

HIGH, LOW = 1.5e-3, 4e-3


def mkn(m: int, k: int, n: int) -> dict[str, int]:
    return {"M": m, "K": k, "N": n}


@pytest.mark.parametrize(
    ("shape", "recorded"),
    [
        ((512, 512, 512), "9.3e-3"),
        ((1024, 1024, 1024), "9.5e-3"),
        ((2048, 2048, 512), "9.3e-3"),
        ((2048, 2048, 2048), "9.3e-3"),
    ],
)
def test_f32_out_agrees_with_the_recorded_row(shape, recorded: str) -> None:
    assert agrees(measure(gemm.f32_out, mkn(*shape), atol=HIGH).mean_rel_L1, recorded)


@pytest.mark.parametrize(
    ("shape", "recorded"),
    [
        ((64, 32, 720), "9.26e-3"),
        ((64, 720, 32), "9.01e-3"),
        ((64, 720, 720), "9.45e-3"),
        ((64, 1440, 768), "9.34e-3"),
        ((64, 12288, 960), "9.450e-3"),
        ((192, 64, 320), "9.42e-3"),
        ((192, 320, 64), "9.27e-3"),
        ((1024, 768, 768), "9.465e-3"),
        ((1024, 768, 3072), "9.428e-3"),
        ((1024, 3072, 768), "9.423e-3"),
        ((2048, 896, 128), "9.4e-3"),
        ((2048, 2048, 512), "9.3e-3"),
    ],
)
def test_drain_agrees_with_the_recorded_row(shape, recorded: str) -> None:
    found = measure(gemm.bf16_out, mkn(*shape), atol=HIGH, variant="drain")
    assert agrees(found.mean_rel_L1, recorded, within=0.005)


@pytest.mark.parametrize(
    ("shape", "recorded"),
    [
        ((512, 512, 512), "9.7e-3"),
        ((1024, 1024, 1024), "9.9e-3"),
        ((2048, 1024, 2048), "9.9e-3"),
        ((2048, 1536, 1536), "9.7e-3"),
        ((2048, 4096, 1024), "9.87e-3"),
        pytest.param((2048, 8192, 2048), "9.7e-3", marks=pytest.mark.slow),
    ],
)
def test_fused_cast_agrees_with_the_recorded_row(shape, recorded: str) -> None:
    found = measure(gemm.bf16_out, mkn(*shape), atol=HIGH, variant="fused-cast")
    assert agrees(found.mean_rel_L1, recorded)
    assert found.passed or shape == (512, 512, 512)


def test_fused_cast_floors_for_truncation_misses_the_third_recorded_digit() -> None:
    error = {numerics.round_floor: 0.0, numerics.round_trunc: 0.0}
    total = 0.0
    for block in gemm.f32_out(Case("kernel", mkn(2048, 4096, 1024))):
        ref = numerics.round_rne(block.ref)
        total += float(np.sum(np.abs(ref), dtype=np.float64))
        for cast in error:
            error[cast] += float(np.sum(np.abs(cast(block.out) - ref), dtype=np.float64))
    floored, truncated = (f"{error[cast] / total:.2e}" for cast in error)
    assert floored == "9.87e-03"  # as recorded on the device
    assert truncated == "9.85e-03"


@pytest.mark.parametrize(
    ("shape", "recorded"),
    [
        ((512, 512, 512), "1.0e-2"),
        ((2048, 896, 4864), "1.11e-2"),
        ((1024, 1024, 1024), "1.1e-2"),
        ((1024, 768, 3072), "1.09e-2"),
        ((2048, 1024, 3072), "1.13e-2"),
        ((2048, 2048, 2048), "1.3e-2"),
        pytest.param((2048, 2560, 9728), "1.35e-2", marks=pytest.mark.slow),
        pytest.param((2048, 8192, 2048), "1.9e-2", marks=pytest.mark.slow),
    ],
)
def test_direct_agrees_with_the_recorded_row_and_passes(shape, recorded: str) -> None:
    found = measure(gemm.bf16_out, mkn(*shape), atol=LOW, variant="direct")
    assert agrees(found.mean_rel_L1, recorded)
    assert found.passed


@pytest.mark.parametrize(("depth", "expected"), [(16, "1.53e-2"), (64, "1.12e-2")])
def test_direct_gets_worse_the_more_often_it_rounds(depth: int, expected: str) -> None:
    shape, tile = mkn(2048, 2048, 512), {"tile_k_l1": depth}
    found = measure(gemm.bf16_out, shape, atol=LOW, variant="direct", tile=tile)
    assert agrees(found.mean_rel_L1, expected)


def failing(variant: str | None, m: int, k: int, n: int) -> tuple[int, list[tuple[int, ...]]]:
    emulator = gemm.f32_out if variant in (None, "external") else gemm.bf16_out
    found = measure(emulator, mkn(m, k, n), atol=HIGH, variant=variant)
    return found.mismatches, [place.index for place in found.first]


@pytest.mark.parametrize("variant", ["external", "drain", "fused-cast"])
def test_one_element_of_the_qwen3_gate_up_fails(variant: str) -> None:
    # The device's own record: "fused-cast/drain [...] trips on one near-zero-reference element".
    assert failing(variant, 2048, 1024, 3072) == (1, [(426, 1204)])


def test_drain_fails_the_elements_that_a_blind_gate_lets_it_fail() -> None:
    assert failing("drain", 512, 512, 512)[0] == 14
    assert failing("drain", 2048, 896, 4864) == (2, [(1307, 2142), (1646, 744)])
    count, _ = failing("drain", 192, 64, 320)
    assert 0.035 < count / (192 * 320) < 0.045


def test_the_shapes_of_the_llama_projections_pass() -> None:
    for shape, variant in (((2048, 2048, 512), "drain"), ((2048, 2048, 2048), "fused-cast")):
        assert measure(gemm.bf16_out, mkn(*shape), atol=HIGH, variant=variant).passed


def test_without_a_variant_it_is_the_harness_own_choice() -> None:
    small, large = mkn(64, 256, 64), mkn(2048, 2048, 1024)
    for shape, auto in ((small, "drain"), (large, "fused-cast")):
        chosen = measure(gemm.bf16_out, shape, atol=HIGH)
        assert chosen == measure(gemm.bf16_out, shape, atol=HIGH, variant=auto)


def test_external_and_direct_of_f32_out_are_the_same() -> None:
    results = {measure(gemm.f32_out, mkn(64, 64, 96), variant=v) for v in ("external", "direct")}
    assert len(results) == 1


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_dropping_a_share_of_k_costs_its_square_root(share: float) -> None:
    found = measure(gemm.f32_out, mkn(128, 1024, 256), atol=HIGH, dropped_k=share)
    assert found.mean_rel_L1 == pytest.approx(math.sqrt(share), rel=0.03)


def collected(blocks: Iterator[Block]) -> tuple[np.ndarray, np.ndarray]:
    parts = list(blocks)
    return np.concatenate([b.out for b in parts]), np.concatenate([b.ref for b in parts])


@pytest.mark.parametrize("variant", ["drain", "direct"])
@pytest.mark.parametrize("k", [96, 100])
def test_the_panels_in_which_b_is_drawn_do_not_show(monkeypatch, variant: str, k: int) -> None:
    case = Case("kernel", mkn(70, k, 40), variant, {"tile_k_l1": 32})
    out, ref = collected(gemm.bf16_out(case))
    monkeypatch.setattr(gemm, "PANEL", 40 * 32)
    monkeypatch.setattr(gemm, "ROWS", 16)
    monkeypatch.setattr(gemm, "_TILE", 24)
    panelled, panelled_ref = collected(gemm.bf16_out(case))
    # Sums in another order may round another way: rarely, and by one bf16 unit.
    for whole, cut in ((out, panelled), (ref, panelled_ref)):
        assert np.mean(whole != cut) < 0.01
        assert np.allclose(whole, cut, rtol=2**-7, atol=1e-5)


@pytest.mark.parametrize(
    ("emulator", "variant", "tile", "word"),
    [
        (gemm.bf16_out, "external", {}, "fused-cast"),
        (gemm.f32_out, "drain", {}, "external"),
        (gemm.bf16_out, "direct", {"tile_k_l1": 20}, "tile_k_l1"),
    ],
)
def test_what_it_does_not_know_is_a_usage_error(emulator, variant, tile, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        emulator(Case("GEMM", mkn(8, 64, 8), variant, tile))


@pytest.mark.slow
def test_a_large_gemm_stays_within_the_memory_budget() -> None:
    mean_rel_l1, peak_mb = in_a_child("gemm:f32_out", mkn(4096, 4096, 4096))
    assert agrees(mean_rel_l1, "9.4e-3")
    assert peak_mb < BUDGET_MB
