from __future__ import annotations

import numpy as np
import pytest

from registry_tool.emulator import rope
from registry_tool.emulator.case import Case
from registry_tool.errors import UsageError
from tests.emulator.figures import BUDGET_MB, agrees, in_a_child, measure


@pytest.mark.parametrize(
    ("rows", "head_dim", "recorded", "max_abs"),
    [
        (8, 64, "2.4e-3", "1.6e-2"),
        (32, 64, "2.7e-3", "1.6e-2"),
        (256, 64, "2.8e-3", "3.1e-2"),
        (2048, 64, "2.8e-3", "3.1e-2"),
        (4096, 128, "2.8e-3", "3.1e-2"),
    ],
)
def test_rope_agrees_with_the_recorded_row(rows, head_dim, recorded: str, max_abs: str) -> None:
    found = measure(rope.half_split, {"rows": rows, "head_dim": head_dim})
    assert agrees(found.mean_rel_L1, recorded)
    assert agrees(found.max_abs, max_abs)
    assert found.passed


def test_eight_rows_of_128_are_as_found() -> None:
    assert agrees(measure(rope.half_split, {"rows": 8, "head_dim": 128}).mean_rel_L1, "2.38e-3")


def test_the_first_row_is_not_turned() -> None:
    (block,) = rope.half_split(Case("RoPE", {"rows": 1, "head_dim": 16}))
    assert np.array_equal(block.out, block.ref)


def test_the_parts_in_which_rows_are_worked_on_do_not_show(monkeypatch) -> None:
    case = Case("RoPE", {"rows": 20, "head_dim": 16})
    (whole,) = rope.half_split(case)
    monkeypatch.setattr(rope, "PART", 48)
    parts = list(rope.half_split(case))
    assert [part.row for part in parts] == [0, 3, 6, 9, 12, 15, 18]
    assert np.array_equal(np.concatenate([part.out for part in parts]), whole.out)


def test_an_odd_head_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="even head_dim"):
        rope.half_split(Case("RoPE", {"rows": 4, "head_dim": 7}))


def test_the_longest_rope_stays_within_the_memory_budget() -> None:
    mean_rel_l1, peak_mb = in_a_child("rope:half_split", {"rows": 65536, "head_dim": 64})
    assert agrees(mean_rel_l1, "2.8e-3")
    assert peak_mb < BUDGET_MB
