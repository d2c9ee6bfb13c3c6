"""Stale evidence as a review shows it: what a new run makes of the rows beside it."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from registry_tool.review import make
from registry_tool.review.model import Review
from registry_tool.review.span import Span
from tests.examples.build import Row, sealed
from tests.examples.example import Example
from tests.review.conftest import STEADY, TIMED, timed


def of(row: Row, digit: str) -> Row:
    sources = {"programming_examples/run.py": digit * 64}
    return sealed(dataclasses.replace(row, verdict=replace(row.verdict, sources=sources)))


def reviewed(example: Example) -> Review:
    base, head = (example.git("rev-parse", name).strip() for name in ("HEAD~1", "HEAD"))
    return make.of_span(example.root, Span(base, head, "a change"))


def add(example: Example, *rows: Row) -> None:
    example.add(*rows)
    example.render()
    example.commit()


def test_a_run_with_newer_sources_makes_the_rows_beside_it_stale(good: Example) -> None:
    old, new = of(timed(TIMED, 9000.0, 10), "0"), of(timed(STEADY, 3000.0, 20), "1")
    add(good, old)
    add(good, new)
    [stale] = reviewed(good).stale
    assert (stale.row, stale.newly) == (str(old.id), True)
    assert new.verdict.run_id in stale.reasons[0]


def test_what_was_stale_before_is_not_called_new(good: Example) -> None:
    old, new = of(timed(TIMED, 9000.0, 10), "0"), of(timed(STEADY, 3000.0, 20), "1")
    add(good, old, new)
    add(good, of(timed({**STEADY, "M": 4096}, 6000.0, 30), "1"))
    [stale] = reviewed(good).stale
    assert (stale.row, stale.newly) == (str(old.id), False)


def test_a_change_that_measures_nothing_is_not_asked(good: Example) -> None:
    old, new = of(timed(TIMED, 9000.0, 10), "0"), of(timed(STEADY, 3000.0, 20), "1")
    add(good, old, new)
    good.write({"README.md": "a word\n"})
    good.commit()
    assert reviewed(good).stale == ()
