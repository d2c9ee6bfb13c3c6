"""Steps of a row's figures: found where there is one, not where runs only scatter."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from registry_tool.history.series import Point
from registry_tool.history.steps import Step, in_points
from registry_tool.history.versions import Version

SPREAD = 0.04
DEFAULT = 0.05
few = st.integers(2, 6)
noise = st.floats(-SPREAD / 2 + 0.001, SPREAD / 2 - 0.001)
level = st.floats(1e-3, 1e6)


def runs(values: list[float], spread: float | None = SPREAD) -> list[Point]:
    nothing: Any = None
    version = Version(nothing, "row", "", "", None, None, None, None)
    return [Point(version, value, spread, f"run {at}") for at, value in enumerate(values)]


def steps(
    values: list[float], metric: str = "latency", spread: float | None = SPREAD
) -> list[Step]:
    return in_points("row", metric, runs(values, spread), DEFAULT)


@given(level, st.lists(noise, min_size=1, max_size=12))
def test_noise_within_the_spread_is_no_step(base: float, scatter: list[float]) -> None:
    assert steps([base * (1 + one) for one in scatter]) == []


@given(
    level,
    st.lists(noise, min_size=1, max_size=6),
    st.lists(noise, min_size=2, max_size=6),
    st.floats(1.2, 5),
)
def test_a_step_is_found_where_it_is(
    base: float, before: list[float], after: list[float], factor: float
) -> None:
    values = [base * (1 + one) for one in before] + [base * factor * (1 + one) for one in after]
    (step,) = steps(values)
    assert step.kind == "regression"
    assert step.after.verdict == f"run {len(before)}"
    assert step.before.verdict == f"run {len(before) - 1}"
    assert step.confirmed
    assert step.undone is None


@given(level, few, few, st.floats(1.2, 5), st.booleans())
def test_one_run_that_departs_and_comes_back_is_no_step(
    base: float, before: int, after: int, factor: float, up: bool
) -> None:
    spike = base * factor if up else base / factor
    assert steps([base] * before + [spike] + [base] * after) == []


@given(level, few, few, st.floats(1.2, 5))
def test_an_improvement_is_no_regression(
    base: float, before: int, after: int, factor: float
) -> None:
    (latency,) = steps([base] * before + [base / factor] * after)
    (throughput,) = steps([base] * before + [base * factor] * after, "gflops")
    assert latency.kind == throughput.kind == "improvement"


@given(st.lists(level, max_size=12))
def test_the_answer_is_the_same_each_time(values: list[float]) -> None:
    assert steps(values) == steps(values)


def test_less_throughput_is_worse() -> None:
    (step,) = steps([100.0, 100.0, 80.0, 80.0], "gflops")
    assert step.kind == "regression"


def test_the_latest_run_alone_is_told_and_not_confirmed() -> None:
    (step,) = steps([100.0, 100.0, 130.0])
    assert not step.confirmed


def test_what_came_back_for_good_is_undone() -> None:
    regression, improvement = steps([100.0, 100.0, 130.0, 131.0, 101.0, 100.0])
    assert regression.undone is not None
    assert regression.undone.verdict == "run 4"
    assert improvement.kind == "improvement"


def test_creeping_within_the_spread_is_found_in_the_end() -> None:
    values = [100 * 1.02**at for at in range(12)]
    assert {step.kind for step in steps(values)} == {"regression"}


def test_without_a_spread_the_default_stands_in_and_is_called_so() -> None:
    assert steps([100.0, 104.9, 104.9], spread=None) == []
    (step,) = steps([100.0, 105.2, 105.2], spread=None)
    assert step.by_default
    assert step.allowed == DEFAULT
    (recorded,) = steps([100.0, 104.9, 104.9])
    assert not recorded.by_default
    assert recorded.allowed == SPREAD


def test_small_steps_that_sum_up_beyond_the_spread_are_told_with_where_they_began() -> None:
    # Each is a tenth of the spread from the one before, and near the median of all before it.
    values = [100.0] * 4 + [100 * 1.004**at for at in range(1, 14)]
    (step,) = steps(values)
    assert step.kind == "regression"
    assert step.confirmed
    assert step.start is not None
    assert step.start.verdict == "run 0"
    assert step.level == 100.0
    assert step.after.value > 104


@given(level, st.lists(noise, min_size=1, max_size=30), few)
def test_a_spike_among_noise_is_no_creeping(base: float, scatter: list[float], at: int) -> None:
    values = [base * (1 + one) for one in scatter]
    spiked = [*values[:at], base * 2, *values[at:]] if at < len(values) else values
    assert steps(spiked) == []


def test_a_level_of_zero_has_no_share() -> None:
    (step,) = steps([0.0, 0.0, 1e-3, 1e-3], "mean_rel_L1")
    assert step.share is None


def test_a_gemv_may_differ_by_what_few_products_do() -> None:
    values = runs([4e-4, 4.08e-4, 4.08e-4], spread=None)
    assert in_points("row", "mean_rel_L1", values, 0.005, 1e-5) == []
    assert len(in_points("row", "mean_rel_L1", values, 0.005)) == 1
