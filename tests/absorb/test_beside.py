"""Words beside the call sites of a cell, which a row keeps as notes."""

from __future__ import annotations

import pytest

from registry_tool.absorb import beside
from registry_tool.adoption.uses import Reader

READER = Reader({})


@pytest.mark.parametrize(
    ("before", "after", "became", "added", "is_all"),
    [
        (
            "Toy-1B head (part)",
            "Toy-1B head (all)",
            {"Toy-1B head (part)": "Toy-1B head (all)"},
            (),
            True,
        ),
        ("Toy-1B head (part)", "Toy-1B head", {"Toy-1B head (part)": None}, (), True),
        ("Toy-1B head", "Toy-1B head (all)", {}, ("Toy-1B head (all)",), True),
        ("Toy-1B head", "Toy-1B tail", {}, (), False),
        ("coverage", "coverage (N=3)", {"coverage": "coverage (N=3)"}, (), True),
        ("coverage", "Toy-1B head", {"coverage": None}, (), False),
        ("Toy-1B + Big-2B head", "Toy-1B + Big-2B head", {}, (), False),
        # A model that joins another one takes its remark from nobody.
        (
            "Toy-1B head (part)",
            "Toy-1B + Big-2B head (part)",
            {},
            ("Big-2B head (part)",),
            False,
        ),
    ],
)
def test_remarks_are_followed_and_call_sites_are_not_theirs(
    before: str, after: str, became: dict[str, str | None], added: tuple[str, ...], is_all: bool
) -> None:
    found = beside.change(before, after, READER)
    assert (dict(found.became), found.added, found.is_all) == (became, added, is_all)
