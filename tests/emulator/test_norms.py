from __future__ import annotations

import pytest

from registry_tool.emulator import norms
from registry_tool.emulator.case import Case
from registry_tool.errors import UsageError
from tests.emulator.figures import agrees, measure


@pytest.mark.parametrize(
    ("m", "n", "recorded", "max_abs"),
    [
        (2048, 128, "4.6e-3", "1.25e-1"),
        (2048, 896, "4.2e-3", "1.25e-1"),
        (2048, 1024, "4.3e-3", "1.25e-1"),
        (2048, 1536, "4.3e-3", "1.25e-1"),
        (2048, 2048, "4.2e-3", "1.9e-1"),
        (2048, 2560, "4.2e-3", "1.25e-1"),
        (2048, 3072, "4.2e-3", "1.25e-1"),
        (256, 960, "4.2e-3", "9.4e-2"),
    ],
)
def test_rms_norm_agrees_with_the_recorded_row(m, n, recorded: str, max_abs: str) -> None:
    found = measure(norms.rms_norm, {"M": m, "N": n}, atol=5e-2)
    assert agrees(found.mean_rel_L1, recorded)
    assert agrees(found.max_abs, max_abs)
    assert found.passed


def test_layer_norm_agrees_with_the_recorded_row() -> None:
    found = measure(norms.layer_norm, {"M": 1024, "N": 768}, atol=6e-2)
    assert agrees(found.mean_rel_L1, "4.4e-3")
    assert agrees(found.max_abs, "1.9e-1")
    assert found.passed


def test_one_row_is_far_from_the_figure_of_many() -> None:
    assert agrees(measure(norms.rms_norm, {"M": 1, "N": 2048}).mean_rel_L1, "6.67e-3", 0.002)


@pytest.mark.parametrize("emulator", [norms.rms_norm, norms.layer_norm])
def test_the_blocks_in_which_rows_are_worked_on_do_not_show(monkeypatch, emulator) -> None:
    whole = measure(emulator, {"M": 70, "N": 64})
    monkeypatch.setattr(norms, "ROWS", 9)
    assert measure(emulator, {"M": 70, "N": 64}).max_abs == whole.max_abs


@pytest.mark.parametrize(
    # 1/sqrt of three quarters of the sum is 15 % more; a bias dilutes it.
    ("emulator", "expected"),
    [(norms.rms_norm, 0.155), (norms.layer_norm, 0.091)],
)
def test_dropping_a_share_of_the_reduction_scales_every_value(emulator, expected: float) -> None:
    found = measure(emulator, {"M": 128, "N": 1024}, dropped_k=0.25)
    assert found.mean_rel_L1 == pytest.approx(expected, abs=0.02)
    assert not found.passed


def test_a_missing_dimension_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="needs the dimension N"):
        norms.rms_norm(Case("RMSNorm", {"M": 4}))
