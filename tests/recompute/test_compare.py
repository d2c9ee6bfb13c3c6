"""How far a second run may be from a verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool.recompute.compare import differences
from registry_tool.records.verdict import Output

SAID = Output(
    index=0,
    elements=1024,
    mean_rel_L1=4.000e-3,
    max_rel=3118.0,
    max_abs=8.0e-4,
    rtol=0.016,
    atol=0.0015,
)


def of(kernel: str = "RoPE_bf16", **changes: object) -> list[str]:
    return list(differences(kernel, [SAID], [replace(SAID, **changes)]))


def test_the_same_figures_agree() -> None:
    assert of() == []


def test_the_largest_relative_error_is_never_compared() -> None:
    assert of(max_rel=1.0) == []


@pytest.mark.parametrize(
    ("changes", "agree"),
    [
        ({"mean_rel_L1": 4.019e-3}, True),
        ({"mean_rel_L1": 4.03e-3}, False),
        ({"mean_rel_L1": 3.97e-3}, False),
        ({"mean_rel_L1": None}, False),
        ({"max_abs": 8.35e-4}, True),
        ({"max_abs": 8.5e-4}, False),
        ({"elements": 1023}, False),
    ],
)
def test_each_figure_has_its_own_width(changes: dict[str, object], agree: bool) -> None:
    assert (of(**changes) == []) is agree


def test_a_gemv_may_differ_by_a_flip_or_two() -> None:
    assert of("GEMV_bf16", mean_rel_L1=4.009e-3) == []
    small = replace(SAID, mean_rel_L1=3.0e-5)
    near = replace(SAID, mean_rel_L1=3.9e-5)
    assert list(differences("GEMV_bf16", [small], [near])) == []
    assert list(differences("RoPE_bf16", [small], [near])) != []


def test_a_lost_and_a_new_output_are_named() -> None:
    other = replace(SAID, index=1)
    assert list(differences("RoPE_bf16", [SAID, other], [SAID])) == [
        "output 1 is not there any more"
    ]
    assert list(differences("RoPE_bf16", [SAID], [SAID, other])) == [
        "output 1 is not in the verdict"
    ]


@given(st.floats(1e-6, 1e-1), st.floats(0.5, 1.5))
def test_a_factor_decides_alike_at_every_size(mean: float, factor: float) -> None:
    said, found = replace(SAID, mean_rel_L1=mean), replace(SAID, mean_rel_L1=mean * factor)
    differs = bool(list(differences("RoPE_bf16", [said], [found])))
    if abs(factor - 1) < 0.0049:
        assert not differs
    elif abs(factor - 1) > 0.0051:
        assert differs
