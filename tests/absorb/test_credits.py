"""Several names in one cell: each is credited, and none is taken for a call site."""

from __future__ import annotations

import pytest

from registry_tool.absorb import credits
from registry_tool.absorb.credits import Names
from registry_tool.absorb.identity import UnclearError
from registry_tool.adoption.uses import Reader
from registry_tool.records import catalog

READER = Reader(catalog.built_in())
NAMES = Names(["Toy", "My Model 2"], READER)


def said(line: str) -> list[str]:
    return [f"{use.model}: {use.site}" for use in credits.read(line, NAMES)]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("Toy-1B Q proj", ["Toy-1B: Q proj"]),
        ("Toy-1B + Big-2B Q proj", ["Toy-1B: Q proj", "Big-2B: Q proj"]),
        ("Toy + My Model 2 Q proj", ["Toy: Q proj", "My Model 2: Q proj"]),
        ("Foo + Bar Q proj", ["Foo: Q proj", "Bar: Q proj"]),
        ("Toy-1B / Big-2B / ToyVLA Q", ["Toy-1B: Q", "Big-2B: Q", "ToyVLA: Q"]),
        ("Toy-1B Q proj + Big-2B K proj", ["Toy-1B: Q proj", "Big-2B: K proj"]),
        ("Toy-1B Q proj, Big-2B K proj", ["Toy-1B: Q proj", "Big-2B: K proj"]),
        ("Toy norm1/2 + post_norm", ["Toy: norm1/2 + post_norm"]),
        ("Foo Q + K proj", ["Foo: Q + K proj"]),
        ("Toy-1B Q/O proj", ["Toy-1B: Q/O proj"]),
        ("Foo, the big one", ["Foo,: the big one"]),
    ],
)
def test_each_model_of_a_line_has_the_site_that_follows_it(line: str, wanted: list[str]) -> None:
    assert said(line) == wanted


@pytest.mark.parametrize("line", ["Toy", "Toy-1B + Big-2B", "Toy +", "+ Toy Q", "Toy Q + Big-2B"])
def test_a_name_without_a_site_is_unclear(line: str) -> None:
    with pytest.raises(UnclearError):
        said(line)


WORDS = ["Toy-1B prefill norm", "Big-2B prefill norm"]
BEFORE = "Toy-1B + Big-2B prefill norm"


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        ("Toy-1B + Big-2B + New-3B prefill norm", [*WORDS, "New-3B prefill norm"]),
        ("Toy-1B + Big-2B prefill norm + New-3B Q", [*WORDS, "New-3B Q"]),
        ("Big-2B prefill norm", WORDS[1:]),
        ("Toy-1B prefill norm", WORDS[:1]),
        ("Toy-1B + New-3B prefill norm", [WORDS[0], "New-3B prefill norm"]),
        ("Toy-1B + Big-2B decode norm", ["Toy-1B decode norm", "Big-2B decode norm"]),
        ("Toy-1B prefill norm + Big-2B Q", [WORDS[0], "Big-2B Q"]),
        ("Toy-1B + Big-2B prefill norm (e=64)", WORDS),
    ],
)
def test_a_change_of_a_cell_of_several_names_is_one_of_their_call_sites(
    after: str, wanted: list[str]
) -> None:
    found = credits.change(BEFORE, after, WORDS, READER)
    assert found is not None
    assert sorted([*found.on(WORDS), *found.added]) == sorted(wanted)


def test_a_text_that_credits_others_than_the_row_is_left_to_its_wording() -> None:
    assert credits.change("the whole decoder", "all of it", WORDS, READER) is None
    assert credits.change(BEFORE, "nobody in particular", WORDS, READER) is None
    assert credits.change("Other-7B Q", "Other-7B K", WORDS, READER) is None
    # `Foo` is no name that is known, so the site of the one before it is not sure.
    assert credits.change(BEFORE, f"{BEFORE} + Foo Q", WORDS, READER) is None


def test_a_model_whose_site_was_taken_away_is_unclear() -> None:
    with pytest.raises(UnclearError, match="names no call site"):
        credits.change(BEFORE, "Toy-1B + Big-2B", WORDS, READER)


@pytest.mark.parametrize(
    ("before", "after", "added"),
    [
        ("coverage (K=8192)", "coverage (K=8192), Toy-1B decode Down", ["Toy-1B decode Down"]),
        ("K-sweep", "K-sweep; Toy-1B Q proj", ["Toy-1B Q proj"]),
    ],
)
def test_words_that_credit_nobody_are_no_model_where_one_joins_them(
    before: str, after: str, added: list[str]
) -> None:
    found = credits.change(before, after, [], READER)
    assert found is not None
    assert (dict(found.became), list(found.added)) == ({}, added)
