from __future__ import annotations

import numpy as np
import pytest

from registry_tool.emulator import elementwise, numerics
from registry_tool.emulator.case import Case
from registry_tool.errors import UsageError
from tests.emulator.figures import BUDGET_MB, agrees, in_a_child, measure


@pytest.mark.parametrize("n", [245760, 1048576, 4194304])
def test_add_agrees_with_the_recorded_row(n: int) -> None:
    found = measure(elementwise.add, {"N": n}, atol=5e-2)
    assert agrees(found.mean_rel_L1, "1.9e-3")
    assert agrees(found.max_abs, "3.1e-2")
    assert found.passed


@pytest.mark.parametrize("n", [655360, 2097152, 4194304])
def test_silu_mul_agrees_with_the_recorded_row(n: int) -> None:
    found = measure(elementwise.silu_mul, {"N": n}, atol=8e-2)
    assert agrees(found.mean_rel_L1, "1.024e-2", within=0.05)
    assert found.passed


def test_silu_mul_reaches_the_recorded_maximum() -> None:
    assert measure(elementwise.silu_mul, {"N": 4194304}, atol=8e-2).max_abs == 0.125


@pytest.mark.parametrize("n", [1048576, 3145728])
def test_gelu_agrees_with_the_recorded_row(n: int) -> None:
    found = measure(elementwise.gelu, {"N": n}, atol=5e-2)
    assert agrees(found.mean_rel_L1, "8.41e-3", within=0.05)
    assert agrees(found.max_abs, "1.56e-2", within=0.05)
    assert found.passed


def test_few_values_give_another_figure() -> None:
    assert agrees(measure(elementwise.silu_mul, {"N": 3072}).mean_rel_L1, "9.72e-3", 0.005)


def test_an_exact_tanh_would_be_far_too_clean(monkeypatch) -> None:
    monkeypatch.setattr(numerics, "tanh", lambda v: numerics.round_floor(np.tanh(v)))
    assert agrees(measure(elementwise.silu_mul, {"N": 655360}).mean_rel_L1, "5.03e-3")
    assert agrees(measure(elementwise.gelu, {"N": 655360}).mean_rel_L1, "6.8e-3")


@pytest.mark.parametrize("emulator", [elementwise.add, elementwise.silu_mul, elementwise.gelu])
def test_the_parts_in_which_values_are_worked_on_do_not_show(monkeypatch, emulator) -> None:
    whole = list(emulator(Case("kernel", {"N": 1000})))
    monkeypatch.setattr(elementwise, "PART", 77)
    parts = list(emulator(Case("kernel", {"N": 1000})))
    assert [part.row for part in parts] == list(range(0, 1000, 77))
    assert np.array_equal(np.concatenate([p.out for p in parts]), whole[0].out)
    assert np.array_equal(np.concatenate([p.ref for p in parts]), whole[0].ref)


@pytest.mark.parametrize("emulator", [elementwise.add, elementwise.silu_mul, elementwise.gelu])
def test_there_is_no_reduction_to_drop_from(emulator) -> None:
    with pytest.raises(UsageError, match="no reduction"):
        emulator(Case("kernel", {"N": 64}, dropped_k=0.5))


def test_the_longest_silu_mul_stays_within_the_memory_budget() -> None:
    mean_rel_l1, peak_mb = in_a_child("elementwise:silu_mul", {"N": 22544384})
    assert agrees(mean_rel_l1, "1.0e-2", within=0.05)
    assert peak_mb < BUDGET_MB
