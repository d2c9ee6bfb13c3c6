"""How long a run will take, by recorded ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool.planning.duration import Recorded, estimate, recorded
from registry_tool.records.catalog import built_in
from tests.examples.build import SMALL, make_row

GEMM = built_in()["GEMM_bf16_in_bf16_out"]


def shape(m: int, k: int, n: int) -> dict[str, int]:
    return {"M": m, "K": k, "N": n}


def test_without_a_recorded_run_nothing_is_guessed() -> None:
    assert estimate(GEMM, shape(64, 64, 64), []) is None
    other = Recorded({"N": 5}, 3.0)
    assert estimate(GEMM, shape(64, 64, 64), [other]) is None


def test_the_nearest_shape_counts_and_is_named() -> None:
    runs = [Recorded(shape(2048, 2048, 2048), 10.0), Recorded(shape(64, 64, 64), 1.0)]
    found = estimate(GEMM, shape(2048, 2048, 1024), runs)
    assert found is not None
    assert found.seconds == 10.0, "less work is not promised to take less: compiling takes its time"
    assert found.source == "10.0 s for 2048×2048×2048"


def test_more_work_takes_longer_in_proportion() -> None:
    found = estimate(GEMM, shape(2048, 2048, 8192), [Recorded(shape(2048, 2048, 2048), 10.0)])
    assert found is not None
    assert found.seconds == pytest.approx(40.0)
    assert "4 times the work" in found.source


@given(st.integers(1, 64), st.floats(0.1, 1e3))
def test_an_estimate_never_falls_with_the_work(factor: int, seconds: float) -> None:
    runs = [Recorded(shape(64, 64, 64), seconds)]
    small = estimate(GEMM, shape(64, 64, 64), runs)
    large = estimate(GEMM, shape(64, 64, 64 * factor), runs)
    assert small is not None
    assert large is not None
    assert large.seconds >= small.seconds


def test_all_starts_of_a_verdict_count_and_waiting_does_not() -> None:
    verdict = make_row(GEMM, SMALL, "drain").verdict
    start = replace(verdict.attempts[0], seconds=2.0, lock_wait_s=100.0)
    whole = replace(verdict, attempts=[start, start], profile=[start], compile=start)
    assert recorded(whole).seconds == 8.0
