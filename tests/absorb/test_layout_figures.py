"""What absorb writes into a layout meets the one rule about figures there."""

from __future__ import annotations

import pytest

from registry_tool.absorb.compare import wording_of
from registry_tool.absorb.expected import Worded
from registry_tool.absorb.identity import UnclearError
from registry_tool.records.layout import ColumnLayout


def worded(title: str, template: str) -> Worded:
    column = ColumnLayout(title=title, cell=template)
    return Worded(None, (), "", "", "2048x512", title, {"gflops": 4000.0}, column)


def test_a_figure_of_nobody_is_refused_where_something_is_measured() -> None:
    with pytest.raises(UnclearError, match="9999"):
        wording_of(worded("direct GFLOPS", "see below"), "9999", {})


def test_a_figure_of_the_row_is_kept() -> None:
    made = wording_of(worded("direct GFLOPS", "see below"), "4000", {})
    assert made is not None
    assert made.text == "4000"


def test_figures_in_words_of_people_are_theirs() -> None:
    made = wording_of(
        Worded(None, (), "", "", "2048x512", "Remark", {}, ColumnLayout(title="Remark", cell="-")),
        "at 512 tokens",
        {},
    )
    assert made is not None
