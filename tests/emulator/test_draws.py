from __future__ import annotations

import numpy as np
import pytest

from registry_tool.emulator import draws, numerics


@pytest.fixture(params=[7, 1 << 18])
def chunk(request, monkeypatch) -> int:
    monkeypatch.setattr(draws, "CHUNK", request.param)
    return request.param


def test_blocks_of_the_legacy_stream_equal_one_call(chunk: int) -> None:
    state = np.random.RandomState(42)
    a = state.randn(11, 5) / np.sqrt(5)
    b = state.randn(5, 3) / np.sqrt(5)
    normals, scale = draws.legacy(42), draws.divided_by(np.sqrt(5))
    assert np.array_equal(draws.bf16(normals, (11, 5), scale), cast(a))
    assert np.array_equal(numerics.unpack(draws.packed(normals, (5, 3), scale)), cast(b))


def test_seeding_the_global_stream_gives_the_same_and_is_not_disturbed() -> None:
    np.random.seed(42)
    expected = cast(4 * np.random.randn(6))
    before = np.random.get_state()[1].tolist()
    assert np.array_equal(draws.bf16(draws.legacy(42), (6,), draws.times(4.0)), expected)
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_a_generator_equal_one_call(chunk: int, dtype: type) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((9, 4), dtype=dtype), rng.standard_normal(13, dtype=dtype)
    normals = (draws.generator_f32 if dtype == np.float32 else draws.generator_f64)(0)
    assert np.array_equal(draws.bf16(normals, (9, 4)), cast(a))
    assert np.array_equal(draws.bf16(normals, (13,)), cast(b))


def cast(x: np.ndarray) -> np.ndarray:
    """float64 or float32 to bf16 by way of float32, nearest even, as ml_dtypes casts."""
    return numerics.round_rne(x.astype(np.float32))
