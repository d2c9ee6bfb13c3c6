"""Better, worse, or only as far apart as two runs may be."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from registry_tool.records.record import Performance, Record
from registry_tool.review import figures
from registry_tool.review.figures import trend
from tests.examples.build import SMALL, make_row
from tests.review.conftest import SPEC


@pytest.mark.parametrize(
    ("name", "was", "now", "spread", "expected"),
    [
        ("latency_us", 100.0, 102.0, 0.02, "within spread"),
        ("latency_us", 100.0, 102.1, 0.02, "worse"),
        ("latency_us", 100.0, 97.0, 0.02, "better"),
        ("gflops", 100.0, 97.0, 0.02, "worse"),
        ("gflops", 100.0, 103.0, 0.02, "better"),
        ("gbps", 100.0, 98.0, 0.02, "within spread"),
        ("mean_rel_L1", 0.01, 0.0101, 0.005, "worse"),
        ("mean_rel_L1", 0.01, 0.0099, 0.005, "better"),
        ("latency_us", 100.0, 100.0, 0.02, "same"),
        ("latency_us", 100.0, 100.1, None, "worse"),
        ("latency_us", None, 100.0, 0.02, "new"),
        ("latency_us", 100.0, None, 0.02, "gone"),
        ("latency_us", None, None, None, "same"),
        ("mean_rel_L1", 0.0, 0.1, 0.005, "worse"),
    ],
)
def test_a_step_is_told_from_the_spread(
    name: str, was: float | None, now: float | None, spread: float | None, expected: str
) -> None:
    assert trend(name, was, now, spread) == expected


def row(latency_us: float, spread: float | None, mean: float = 0.0094) -> Record:
    record = make_row(SPEC, SMALL, "drain").record
    performance = Performance(latency_us=latency_us, gflops=1e6 / latency_us, gbps=None,
                              spread=spread)  # fmt: skip
    return replace(record, performance=performance, mean_rel_L1=mean)


def trends(before: Record | None, after: Record | None) -> dict[str, str]:
    return {one.name: one.trend for one in figures.compare(before, after)}


def test_the_larger_spread_of_both_runs_counts() -> None:
    assert trends(row(100.0, 0.01), row(104.0, 0.05))["latency_us"] == "within spread"
    assert trends(row(100.0, 0.05), row(104.0, 0.01))["latency_us"] == "within spread"
    assert trends(row(100.0, 0.05), row(104.0, None))["latency_us"] == "within spread"
    assert trends(row(100.0, 0.01), row(104.0, 0.01))["latency_us"] == "worse"


def test_figures_that_neither_row_has_are_left_out() -> None:
    assert "gbps" not in trends(row(100.0, None), row(100.0, None))


def test_max_rel_is_shown_and_never_judged() -> None:
    after = replace(row(100.0, None), max_rel=9000.0)
    assert trends(row(100.0, None), after)["max_rel"] == "changed"


def test_gemv_may_be_apart_by_a_fixed_amount() -> None:
    was = replace(row(100.0, None, 1e-4), kernel="GEMV_bf16")
    now = replace(was, mean_rel_L1=1.09e-4)
    assert trends(was, now)["mean_rel_L1"] == "within spread"
    assert trends(was, replace(was, mean_rel_L1=1.11e-4))["mean_rel_L1"] == "worse"


def test_what_no_run_stands_behind_is_neither_better_nor_worse() -> None:
    compared = figures.compare(row(100.0, 0.01), row(50.0, 0.01, mean=0.001))
    assert {one.trend for one in figures.unproven(compared)} == {"changed", "same"}
