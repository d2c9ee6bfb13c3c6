"""When figures disagree, however they are written; and every digit of the small index counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.adoption.drift.figures import disagree, interval
from registry_tool.adoption.model import Quantity
from tests.adoption.drift.registry import INDEX, SMALL, edited, findings


def figure(written: str, sign: str = "") -> Quantity:
    mantissa, _, power = written.partition("e")
    half = 0.5 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    value = float(written)
    return Quantity("gbps", written, value, value, half, "bandwidth", 1, sign=sign)


@given(
    value=st.floats(min_value=1e-9, max_value=1e6, allow_nan=False),
    first=st.integers(1, 6),
    second=st.integers(1, 6),
)
def test_two_roundings_of_one_value_never_disagree(value: float, first: int, second: int) -> None:
    one, other = figure(f"{value:.{first}e}"), figure(f"{value:.{second}e}")
    assert not disagree(one, other)
    assert not disagree(other, one)


@given(digits=st.integers(1, 9_998), decimals=st.integers(0, 3))
def test_the_next_digit_always_disagrees(digits: int, decimals: int) -> None:
    one = figure(f"{digits / 10**decimals:.{decimals}f}")
    other = figure(f"{(digits + 1) / 10**decimals:.{decimals}f}")
    assert disagree(one, other)
    assert disagree(other, one)


@given(value=st.integers(1, 999), away=st.integers(1, 100))
def test_a_bound_agrees_with_what_is_below_it(value: int, away: int) -> None:
    bound = figure(str(value + away), "≤")
    assert not disagree(bound, figure(str(value)))
    assert disagree(figure(str(value), "≤"), figure(str(value + away)))


def test_about_leaves_more_room() -> None:
    assert disagree(figure("100"), figure("103"))
    assert not disagree(figure("100", "≈"), figure("103"))
    assert interval(figure("9.4e-3")) == pytest.approx((9.35e-3, 9.45e-3))


def one_digit_off() -> Iterator[tuple[str, str]]:
    """Every figure of the index's rows, each with its last digit turned into another one."""
    for line in (SMALL / INDEX).read_text("utf-8").split("\n"):
        if not re.match(r"\| \d", line):
            continue
        for match in re.finditer(r"(?<=\| )\**[\d.]+(?:e-\d+)?(?=\**(?: [µmG]\S+)? [|/])", line):
            mantissa = re.match(r"\**[\d.]+", match[0])
            assert mantissa is not None
            last = match.start() + mantissa.end() - 1
            # Far enough that no other precision hides it.
            digit = str((int(line[last]) + 5) % 10)
            yield line, line[:last] + digit + line[last + 1 :]


CHANGED = list(one_digit_off())


def test_the_index_has_figures_to_change() -> None:
    assert len(CHANGED) >= 20


@pytest.mark.parametrize(("line", "changed"), CHANGED)
def test_a_digit_of_the_index_is_never_lost(line: str, changed: str, tmp_path: Path) -> None:
    assert findings(edited(tmp_path, (INDEX, line, changed)))
