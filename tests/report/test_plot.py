"""Plots for a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.report.plot import Axes, draws_unicode, plot

AXES = Axes("figure, us", "2026-01-01", "2026-02-01")
values = st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=200)


@given(values, st.integers(40, 120), st.integers(3, 12), st.booleans())
def test_every_line_fits_and_every_column_has_the_curve(
    figures: list[float], columns: int, rows: int, unicode: bool
) -> None:
    title, *lines = plot(figures, AXES, columns, rows, unicode)
    assert title == "figure, us"
    assert len(lines) == rows + 2
    assert max(map(len, lines)) <= columns
    wall = lines[0].index("│" if unicode else "|")
    across = len(lines[-2]) - wall - 1
    area = [line[wall + 1 :].ljust(across) for line in lines[:rows]]
    drawn = [any(line[at] != " " for line in area) for at in range(across)]
    assert all(drawn) if len(figures) > 1 else any(drawn)


def test_the_greatest_stands_at_the_top_and_the_least_at_the_bottom() -> None:
    _, top, *_, bottom, _, _ = plot([1.0, 2.0], AXES, 40, 4, False)
    assert top.startswith("  2 |")
    assert top.endswith("*")
    assert bottom.startswith("  1 |*")


def test_a_figure_that_never_changes_is_a_line_in_the_middle() -> None:
    lines = plot([5.0, 5.0, 5.0], AXES, 40, 5, False)
    assert lines[3].count("*") == 40 - lines[3].index("|") - 1


@pytest.mark.parametrize(
    ("encoding", "environment", "unicode"),
    [
        ("utf-8", {"LANG": "de_DE.UTF-8"}, True),
        ("utf-8", {}, True),
        ("utf-8", {"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, False),
        ("utf-8", {"LANG": "POSIX"}, False),
        ("utf-8", {"LANG": "de_DE.UTF-8", "TERM": "dumb"}, False),
        ("iso-8859-1", {"LANG": "de_DE"}, False),
        ("no-such-encoding", {}, False),
        (None, {}, False),
    ],
)
def test_braille_is_drawn_where_it_can_be_shown(
    encoding: str | None, environment: dict[str, str], unicode: bool
) -> None:
    assert draws_unicode(encoding, environment) is unicode
