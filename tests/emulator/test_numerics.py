from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.emulator import numerics
from registry_tool.emulator.numerics import F32

any_float32 = st.floats(width=32, allow_nan=True, allow_infinity=True)


def bits(x: float) -> int:
    return int(np.array([x], np.float32).view(np.uint32)[0])


def value(pattern: int) -> float:
    return float(np.array([pattern], np.uint32).view(np.float32)[0])


def nearest_even(x: float) -> float:
    """Exact oracle: the two bf16 neighbours of |x|, compared as fractions."""
    pattern = bits(x)
    sign, magnitude = pattern & 0x8000_0000, pattern & 0x7FFF_FFFF
    below = magnitude & 0x7FFF_0000
    # The step above the largest finite value is what the next binade would start with.
    top = Fraction(2) ** 128
    low = Fraction(value(below))
    high = Fraction(value(below + 0x1_0000)) if below < 0x7F7F_0000 else top
    exact = Fraction(value(magnitude))
    odd = bool(below & 0x1_0000)
    up = exact - low > high - exact or (exact - low == high - exact and odd)
    return value(sign | (below + 0x1_0000 if up else below))


def toward_zero(x: float) -> float:
    return value(bits(x) & 0xFFFF_0000)


def toward_minus_infinity(x: float) -> float:
    cut = toward_zero(x)
    return value(bits(cut) + 0x1_0000) if x < 0 and cut != x else cut


ROUNDINGS = {
    numerics.round_rne: nearest_even,
    numerics.round_trunc: toward_zero,
    numerics.round_floor: toward_minus_infinity,
}


@pytest.mark.parametrize(("rounding", "oracle"), ROUNDINGS.items())
@given(x=any_float32)
def test_a_float32_rounds_as_exact_arithmetic_says(rounding, oracle, x: float) -> None:
    rounded = float(rounding(np.array([x], np.float32))[0])
    if math.isnan(x):
        assert math.isnan(rounded)
    elif math.isinf(x):
        assert rounded == x
    else:
        assert bits(rounded) == bits(oracle(x))


@pytest.mark.parametrize("rounding", ROUNDINGS)
@given(pattern=st.integers(0, 0xFFFF))
def test_a_bf16_value_is_left_alone(rounding, pattern: int) -> None:
    x = np.array([pattern << 16], np.uint32).view(np.float32)
    if not np.isnan(x[0]):
        assert rounding(x).view(np.uint32)[0] == pattern << 16


@pytest.mark.parametrize("pattern", [0x7F80_0001, 0xFFFF_FFFF, 0x7FC0_0000, 0xFF80_0001])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_nan_stays_a_nan_beside_ordinary_values(rounding, pattern: int) -> None:
    x = np.array([bits(1.0), pattern, bits(-2.0)], np.uint32).view(np.float32)
    assert np.isnan(rounding(x)).tolist() == [False, True, False]


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_rounding_keeps_the_shape_works_in_place_and_across_strips(rounding) -> None:
    x = np.random.default_rng(1).standard_normal((3, numerics.STRIP // 2 + 5), np.float32)
    apart = np.stack([rounding(row) for row in x])
    fresh = rounding(x)
    assert fresh.shape == x.shape
    assert np.array_equal(fresh, apart)
    assert not np.array_equal(fresh, x)
    assert rounding(x, out=x) is x
    assert np.array_equal(x, apart)


def test_a_strided_input_is_rounded_in_its_own_order() -> None:
    x = np.random.default_rng(2).standard_normal((4, 6), np.float32)
    assert np.array_equal(numerics.round_rne(x.T), numerics.round_rne(x).T)


def test_an_out_of_another_shape_is_refused() -> None:
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match="shape"):
        numerics.round_rne(x, out=np.empty((3, 2), np.float32))


def test_packed_values_come_back() -> None:
    x = numerics.round_rne(np.random.default_rng(3).standard_normal((5, 7), np.float32))
    assert np.array_equal(numerics.unpack(numerics.pack(x)), x)


# --- BFP16


def quantised(block: list[float]) -> list[float]:
    """Exact oracle: q = rint(x / 2^(E-6)), the block again with E+1 where a q is +128."""
    largest = max(abs(x) for x in block)
    if largest == 0.0:
        return [0.0] * len(block)
    exponent = math.frexp(largest)[1] - 1
    for e in (exponent, exponent + 1):
        unit = Fraction(2) ** (e - 6)
        q = [round(Fraction(x) / unit) for x in block]  # Python rounds halves to even
        if max(q) < 128:
            break
    assert -128 <= min(q) <= max(q) <= 127
    return [float(n * unit) for n in q]


bf16_value = st.builds(
    lambda sign, mantissa, exponent: sign * mantissa * 2.0**exponent,
    st.sampled_from((-1, 1)),
    st.one_of(st.integers(0, 255), st.sampled_from((127, 128, 254, 255))),
    st.integers(-20, 10),
)
blocks = st.lists(st.lists(bf16_value, min_size=8, max_size=8), min_size=1, max_size=5)


@given(blocks)
def test_bfp16_is_what_exact_arithmetic_says(columns: list[list[float]]) -> None:
    expected = np.array([quantised(column) for column in columns], np.float32)
    rows = np.array(columns, np.float32)
    assert np.array_equal(numerics.bfp16_across(rows.copy()), expected)
    assert np.array_equal(numerics.bfp16_down(np.ascontiguousarray(rows.T)).T, expected)


def test_plus_128_moves_the_block_and_minus_128_stays() -> None:
    block = np.array([[1.9921875, 0.015625, 0, 0, 0, 0, 0, 0]], np.float32)
    assert numerics.bfp16_across(block.copy())[0, :2].tolist() == [2.0, 0.0]
    assert numerics.bfp16_across(-block)[0, :2].tolist() == [-2.0, -0.015625]


@given(blocks)
def test_bfp16_errs_by_half_a_unit_of_the_block_at_most(columns: list[list[float]]) -> None:
    rows = np.array(columns, np.float32)
    largest = np.max(np.abs(rows), axis=1, keepdims=True)
    unit = 2.0 ** (np.floor(np.log2(np.maximum(largest, 1e-30))) + 1 - 6)
    assert np.all(np.abs(numerics.bfp16_across(rows.copy()) - rows) <= unit / 2)


@pytest.mark.parametrize("length", [3, 8, 13])
def test_a_short_last_block_counts_as_padded_with_zeros(length: int) -> None:
    x = numerics.round_rne(np.random.default_rng(4).standard_normal((5, length), np.float32))
    padded = np.zeros((5, 16), np.float32)
    padded[:, :length] = x
    expected = numerics.bfp16_across(padded)[:, :length]
    assert np.array_equal(numerics.bfp16_across(x.copy()), expected)
    assert np.array_equal(numerics.bfp16_down(np.ascontiguousarray(x.T)).T, expected)


def test_quantising_is_the_same_whether_in_one_strip_or_many(monkeypatch) -> None:
    x = numerics.round_rne(np.random.default_rng(5).standard_normal((64, 64), np.float32))
    down, across = numerics.bfp16_down(x.copy()), numerics.bfp16_across(x.copy())
    monkeypatch.setattr(numerics, "STRIP", 256)
    assert np.array_equal(numerics.bfp16_down(x.copy()), down)
    assert np.array_equal(numerics.bfp16_across(x.copy()), across)


# --- functions of the vector unit


def arguments(count: int, low: float, high: float) -> F32:
    return numerics.round_rne(np.linspace(low, high, count).astype(np.float32))


def test_tanh_is_odd_monotonic_and_saturates() -> None:
    v = arguments(2000, -8.0, 8.0)
    t = numerics.tanh(v)
    assert np.array_equal(t, -numerics.tanh(-v))
    assert np.all(np.diff(t) >= 0)
    assert t[-1] == 1.0


def test_tanh_has_the_calibrated_steps() -> None:
    v = arguments(2000, 0.0, 8.0)
    steps = np.rint(v.astype(np.float64) / numerics.TANH_STEP) * numerics.TANH_STEP
    stepped = numerics.round_rne(np.tanh(steps).astype(np.float32))
    assert np.mean(numerics.tanh(v) == stepped) > 0.999  # halves of a step may go either way
    assert np.max(np.abs(numerics.tanh(v) - np.tanh(v))) > 0.02


@given(st.floats(-140.0, 0.0, width=32))
def test_exp2_is_linear_in_the_fraction(z: float) -> None:
    got = float(numerics.exp2(np.array([z], np.float32), np.empty(1, np.int32))[0])
    whole = math.floor(z)
    if whole < -126:
        assert 0.0 <= got < 2.0**-126
    else:
        mantissa = math.floor(128 * (1 + Fraction(z) - whole))
        assert got == mantissa * 2.0 ** (whole - 7)


def test_exp2_of_minus_infinity_is_zero_and_of_zero_is_one() -> None:
    z = np.array([-np.inf, 0.0], np.float32)
    assert numerics.exp2(z, np.empty(2, np.int32)).tolist() == [0.0, 1.0]


def test_the_reciprocal_is_near_but_not_exact() -> None:
    v = numerics.unpack(np.arange(0x3F80, 0x4000, dtype=np.uint16))
    error = np.abs(numerics.reciprocal(v) * v - 1.0)
    assert 0.003 < np.max(error) < 0.012
    assert np.array_equal(numerics.reciprocal(v * 4), numerics.reciprocal(v) / 4)
