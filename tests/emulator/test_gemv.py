from __future__ import annotations

import math

import numpy as np
import pytest

from registry_tool.emulator import gemv, numerics
from registry_tool.emulator.case import Case
from registry_tool.errors import UsageError
from tests.emulator.figures import BUDGET_MB, in_a_child, measure


@pytest.mark.parametrize(
    ("m", "k"),
    # Recorded between 0 and 2.2e-6: single elements that flip to the next bf16 value, here or
    # there depending on the order in which BLAS sums the reference.
    [(512, 2048), (2048, 2048), (2048, 1024), (8192, 2048), (2048, 8192), (4096, 2560)],
)
def test_gemv_is_exact_but_for_single_flips(m: int, k: int) -> None:
    found = measure(gemv.gemv, {"M": m, "K": k}, atol=1e-3)
    assert found.mean_rel_L1 <= 1e-5
    assert found.passed
    assert found.elements == m


def test_the_lanes_are_summed_one_by_one_and_then_by_halves() -> None:
    (block,) = gemv.gemv(Case("GEMV", {"M": 3, "K": 192}))
    state = np.random.RandomState(42)
    a = numerics.round_rne((4 * state.randn(3, 192)).astype(np.float32))
    x = numerics.round_rne((4 * state.randn(192)).astype(np.float32))
    for row, out in zip(a, block.out[:, 0], strict=True):
        lanes = [np.float32(0.0)] * 64
        for index, (left, right) in enumerate(zip(row, x, strict=True)):
            lanes[index % 64] = np.float32(lanes[index % 64] + left * right)
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [np.float32(lanes[i] + lanes[i + half]) for i in range(half)]
        assert out == numerics.round_rne(np.array(lanes))[0]


def test_dropping_a_part_of_k_costs_the_square_root_of_its_energy() -> None:
    found = measure(gemv.gemv, {"M": 1024, "K": 1024}, dropped_k=0.25)
    state = np.random.RandomState(42)
    state.randn(1024, 1024)
    x = state.randn(1024)
    share = np.sum(x[768:] ** 2) / np.sum(x**2)
    assert found.mean_rel_L1 == pytest.approx(math.sqrt(share), rel=0.06)


def test_a_k_that_does_not_fill_the_lanes_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="multiple of 64"):
        gemv.gemv(Case("GEMV", {"M": 8, "K": 100}))


def test_an_lm_head_partition_stays_within_the_memory_budget() -> None:
    mean_rel_l1, peak_mb = in_a_child("gemv:gemv", {"M": 16384, "K": 3072})
    assert mean_rel_l1 <= 1e-5
    assert peak_mb < BUDGET_MB
