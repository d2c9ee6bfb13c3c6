from __future__ import annotations

import numpy as np
import pytest

from registry_tool.emulator import products


@pytest.mark.parametrize(
    ("height", "depth", "width"),
    [(64, 64, 512), (128, 64, 64), (64, 32, 128), (64, 64, 100), (5, 3, 7), (192, 200, 64)],
)
def test_tiled_products_equal_the_plain_one(height: int, depth: int, width: int) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-8, 9, (height, depth)).astype(np.float32)
    b = rng.integers(-8, 9, (depth, width)).astype(np.float32)
    out = np.full((height, width), np.nan, np.float32)
    products.matmul(a, b, out)
    assert np.array_equal(out, a @ b)


def test_operands_and_result_may_be_slices() -> None:
    rng = np.random.default_rng(1)
    wide = rng.integers(-8, 9, (64, 300)).astype(np.float32)
    a, b = wide[:, 10:74].T, wide[:, 100:228]
    out = np.zeros((64, 200), np.float32)
    products.small_matmul(a, b, out[:, 50:178])
    assert np.array_equal(out[:, 50:178], a @ b)
    assert not out[:, :50].any()
