from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from registry_tool.emulator import compare as judge
from registry_tool.emulator.case import Block
from registry_tool.emulator.compare import Comparison, compare

RTOL, ATOL = 1.6e-2, 1.5e-3

ordinary = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)
shapes = hnp.array_shapes(min_dims=1, max_dims=3, max_side=6)
pairs = shapes.flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.float32, shape, elements=ordinary),
        hnp.arrays(np.float32, shape, elements=ordinary),
    )
)
tolerances = st.sampled_from([0.0, 1e-6, 1.5e-3, 1.6e-2, 0.5, 2.0])


def near(ref: np.ndarray) -> np.ndarray:
    """Values on, and one step to either side of, the limit."""
    limit = (ref + (ATOL + RTOL * np.abs(ref))).astype(np.float32)
    return np.concatenate(
        [limit, np.nextafter(limit, np.float32(np.inf)), np.nextafter(limit, np.float32(-np.inf))]
    )


@given(pairs, tolerances, tolerances)
def test_finite_values_are_judged_as_isclose_judges_them(pair, rtol: float, atol: float) -> None:
    out, ref = pair
    close = np.isclose(out.astype(np.float64), ref.astype(np.float64), rtol=rtol, atol=atol)
    found = compare(out, ref, rtol, atol)
    assert found.mismatches == np.count_nonzero(~close)
    assert [place.index for place in found.first] == [
        tuple(index) for index in np.argwhere(~close)[: judge.LISTED].tolist()
    ]
    assert found.passed == bool(close.all())


def test_what_lies_on_the_limit_is_judged_exactly() -> None:
    ref = np.random.default_rng(0).standard_normal(5000, np.float32)
    out, refs = near(ref), np.tile(ref, 3)
    wide = np.abs(out.astype(np.float64) - refs) <= ATOL + RTOL * np.abs(refs.astype(np.float64))
    assert 0 < compare(out, refs, RTOL, ATOL).mismatches == np.count_nonzero(~wide)


@given(pairs)
def test_the_figures_are_those_of_their_definitions(pair) -> None:
    out, ref = pair
    assume(np.any(ref != 0))
    found = compare(out, ref, RTOL, ATOL)
    error, magnitude = np.abs(out.astype(np.float64) - ref), np.abs(ref.astype(np.float64))
    assert found.elements == out.size
    assert found.mean_rel_L1 == pytest.approx(error.sum() / magnitude.sum(), rel=1e-6)
    assert found.max_abs == pytest.approx(error.max(), rel=1e-6)
    some = magnitude > 0
    assert found.max_rel == pytest.approx(np.max(error[some] / magnitude[some]), rel=1e-6)
    assert found.zero_share == np.mean(magnitude > ATOL / (1 - RTOL))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("out", "ref"),
    [
        (np.nan, 1.0),
        (1.0, np.nan),
        (np.nan, np.nan),
        (np.inf, 1.0),
        (1.0, np.inf),
        (1.0, -np.inf),
        (np.inf, np.inf),
        (np.inf, -np.inf),
    ],
)
def test_nan_and_infinity_never_pass(out: float, ref: float, dtype: type) -> None:
    found = compare(np.array([0.0, out], dtype), np.array([0.0, ref], dtype), 1e9, 1e9)
    assert found.mismatches == 1
    assert found.first[0].index == (1,)
    assert not found.passed


def test_a_nan_shows_in_every_figure() -> None:
    ref = np.ones(10, np.float32)
    out = ref.copy()
    out[3] = np.nan
    found = compare(out, ref, RTOL, ATOL)
    figures = (found.mean_rel_L1, found.max_abs, found.max_rel)
    assert all(np.isnan(figure) for figure in figures)
    assert found.zero_share == 1.0


def test_an_infinity_shows_in_every_figure() -> None:
    found = compare(np.array([1, np.inf], np.float32), np.ones(2, np.float32), RTOL, ATOL)
    assert (found.mean_rel_L1, found.max_abs, found.max_rel) == (np.inf, np.inf, np.inf)


def test_finite_values_too_far_apart_for_float32_fail() -> None:
    found = compare(np.float32([3e38]), np.float32([-3e38]), RTOL, ATOL)
    assert found.mismatches == 1


def test_a_zero_reference_plays_no_part_in_the_relative_maximum() -> None:
    found = compare(np.float32([0.001, 2.0]), np.float32([0.0, 1.0]), RTOL, ATOL)
    assert found.max_rel == 1.0
    assert compare(np.float32([0.5]), np.float32([0.0]), RTOL, ATOL).max_rel == 0.0


def test_two_zero_arrays_are_equal_and_the_gate_is_blind() -> None:
    found = compare(np.zeros(4), np.zeros(4), RTOL, ATOL)
    assert found.passed
    assert (found.mean_rel_L1, found.zero_share) == (0.0, 0.0)


def test_an_error_against_a_zero_among_close_values_fails() -> None:
    found = compare(np.float32([1.001, 0.5]), np.float32([1.0, 0.0]), RTOL, ATOL)
    assert [place.index for place in found.first] == [(1,)]


def test_sums_that_float32_cannot_hold_are_held() -> None:
    ref = np.full(1000, 3e38, np.float32)
    found = compare(ref * np.float32(0.5), ref, RTOL, ATOL)
    assert found.mean_rel_L1 == pytest.approx(0.5)


def test_an_error_against_nothing_but_zeros_is_infinite() -> None:
    assert compare(np.ones(4), np.zeros(4), RTOL, ATOL).mean_rel_L1 == np.inf


def test_nothing_at_all_does_not_pass() -> None:
    assert not compare(np.empty(0), np.empty(0), RTOL, ATOL).passed
    assert not Comparison(RTOL, ATOL).result().passed


def test_a_tolerance_of_everything_is_blind() -> None:
    assert compare(np.zeros(4), np.ones(4), 1.5, 0.0).zero_share == 0.0


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in shape"):
        compare(np.zeros((2, 3)), np.zeros((3, 2)), RTOL, ATOL)


def test_arrays_of_any_layout_are_read_in_the_order_of_their_indices() -> None:
    ref = np.arange(24, dtype=np.float32).reshape(4, 6)
    out = ref.copy()
    out[1, 5] = out[3, 0] = -1
    found = compare(np.asfortranarray(out), ref[:, :], RTOL, ATOL)
    assert [place.index for place in found.first] == [(1, 5), (3, 0)]
    cut = compare(out[::3, ::5], ref[::3, ::5], RTOL, ATOL)
    assert [place.index for place in cut.first] == [(1, 0)]


def test_only_the_first_twenty_places_are_kept_with_their_values() -> None:
    ref = np.ones((30, 3), np.float32)
    out = ref.copy()
    out[2:, 1] = 1.5
    found = compare(out, ref, RTOL, ATOL)
    assert found.mismatches == 28
    assert [place.index for place in found.first] == [(row, 1) for row in range(2, 22)]
    place = found.first[0]
    assert (place.expected, place.actual, place.difference) == (1.0, 1.5, 0.5)


@pytest.mark.parametrize("columns", [1, 5])
@given(seed=st.integers(0, 1000), cut=st.integers(1, 11))
def test_blocks_add_up_to_the_whole(columns: int, seed: int, cut: int) -> None:
    rng = np.random.default_rng(seed)
    ref = rng.standard_normal((12, columns), np.float32)
    out = ref + np.float32(0.02) * rng.standard_normal((12, columns), np.float32)
    comparison = Comparison(RTOL, ATOL)
    for start in range(0, 12, cut):
        part = slice(start, start + cut)
        comparison.add(Block(out=out[part], ref=ref[part], row=start))
    flat = (out[:, 0], ref[:, 0]) if columns == 1 else (out, ref)
    whole, added = compare(*flat, RTOL, ATOL), comparison.result()
    assert added.first == whole.first
    assert (added.elements, added.mismatches) == (whole.elements, whole.mismatches)
    assert (added.max_abs, added.max_rel) == (whole.max_abs, whole.max_rel)
    assert added.zero_share == whole.zero_share
    assert added.mean_rel_L1 == pytest.approx(whole.mean_rel_L1, rel=1e-6)


def test_strips_and_threads_do_not_show(monkeypatch) -> None:
    rng = np.random.default_rng(7)
    ref = rng.standard_normal((50, 40), np.float32)
    out = ref + np.float32(0.02) * rng.standard_normal((50, 40), np.float32)
    whole = compare(out, ref, RTOL, ATOL)
    monkeypatch.setattr(judge, "STRIP", 64)
    monkeypatch.setattr(judge, "_RETESTED", 5)
    cut = compare(out, ref, RTOL, ATOL)
    assert cut.first == whole.first
    assert (cut.mismatches, cut.max_abs, cut.max_rel) == (
        whole.mismatches,
        whole.max_abs,
        whole.max_rel,
    )
    assert cut.mean_rel_L1 == pytest.approx(whole.mean_rel_L1, rel=1e-6)


@pytest.mark.parametrize("factor", [1.001, 0.0])
def test_comparing_needs_little_memory_beyond_the_arrays(factor: float) -> None:
    ref = np.random.default_rng(0).standard_normal(1 << 21, np.float32)
    out = ref * np.float32(factor)
    tracemalloc.start()
    compare(out, ref, RTOL, ATOL)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8e6
