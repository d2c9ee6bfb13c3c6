from __future__ import annotations

import math

import numpy as np
import pytest

from registry_tool.emulator import elementwise, faults, gemm
from registry_tool.emulator.case import Block, Case
from registry_tool.emulator.compare import Comparison, ComparisonResult
from registry_tool.errors import UsageError

GEMM = Case("GEMM", {"M": 64, "K": 256, "N": 200}, "external", {"tile_n": 16}, (8, 4))


def spoiled(case: Case, text: str, emulator=gemm.f32_out) -> ComparisonResult:
    fault = faults.parse(text)
    comparison = Comparison(1.6e-2, 5e-3)
    blocks = emulator(faults.spoil_case(fault, case))
    for block in faults.spoil_blocks(fault, case, blocks):
        comparison.add(block)
    return comparison.result()


@pytest.mark.parametrize("name", faults.KINDS)
def test_every_fault_is_known_by_its_name(name: str) -> None:
    assert faults.parse(name) == faults.Fault(name)


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "",
        "zeros=3",
        "unwritten=",
        "unwritten=x",
        "unwritten=0",
        "unwritten=-4",
        "unwritten=2.5",
        "unwritten=inf",
        "dropped-k=nan",
        "dropped-k=1.5",
    ],
)
def test_a_fault_that_makes_no_sense_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        faults.parse(text)


def test_zeros_are_all_of_the_error() -> None:
    found = spoiled(GEMM, "zeros")
    assert (found.mean_rel_L1, found.max_rel) == (1.0, 1.0)
    assert found.mismatches == round(found.zero_share * found.elements)


@pytest.mark.parametrize("text", ["nan", "inf"])
def test_one_bad_element_is_one_mismatch(text: str) -> None:
    found = spoiled(GEMM, text)
    assert (found.mismatches, found.first[0].index) == (1, (0, 0))


@pytest.mark.parametrize(
    ("text", "written"),
    [("unwritten", 192), ("unwritten=50", 150), ("unwritten=0.5", 100), ("unwritten=1000", 0)],
)
def test_unwritten_columns_cost_their_share(text: str, written: int) -> None:
    found = spoiled(GEMM, text)
    assert found.mean_rel_L1 == pytest.approx(1 - written / 200, abs=0.02)


def test_unwritten_without_a_remainder_is_a_quarter() -> None:
    case = Case("GEMM", {"M": 64, "K": 256, "N": 256}, tile={"tile_n": 16}, herd=(8, 4))
    assert spoiled(case, "unwritten").mean_rel_L1 == pytest.approx(0.25, abs=0.03)


def test_of_a_flat_output_the_end_stays_unwritten(monkeypatch) -> None:
    monkeypatch.setattr(elementwise, "PART", 100)
    case = Case("EltwiseAdd", {"N": 1000})
    blocks = faults.spoil_blocks(faults.parse("unwritten=250"), case, elementwise.add(case))
    out = np.concatenate([block.out for block in blocks])[:, 0]
    assert np.flatnonzero(out == 0.0).tolist() == list(range(750, 1000))


def test_a_dropped_share_of_the_reduction_costs_its_square_root() -> None:
    assert spoiled(GEMM, "dropped-k=0.5").mean_rel_L1 == pytest.approx(math.sqrt(0.5), rel=0.05)
    assert spoiled(GEMM, "dropped-k").mean_rel_L1 == pytest.approx(0.5, rel=0.05)


def test_no_fault_leaves_everything_alone() -> None:
    block = Block(out=np.ones((2, 2), np.float32), ref=np.ones((2, 2), np.float32))
    assert list(faults.spoil_blocks(None, GEMM, iter([block]))) == [block]
    assert faults.spoil_case(None, GEMM) is GEMM
    assert faults.spoil_tolerances(None, 1.0, 2.0) == (1.0, 2.0)
