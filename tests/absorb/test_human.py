"""Human-owned cells read back: what is shown, edited, and read is what the row then holds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.absorb import human
from registry_tool.absorb.credits import Names
from registry_tool.absorb.identity import UnclearError
from registry_tool.adoption.uses import Reader
from registry_tool.planning.search import COMPUTED
from registry_tool.records import catalog
from registry_tool.records.record import Use
from registry_tool.tables.cells import escape, row
from registry_tool.tables.read import read_tables

TEXT = st.text(
    st.one_of(
        st.characters(min_codepoint=0x20, exclude_categories=("Cs", "Cc")),
        st.sampled_from(list("|*_`~<>&\\[]()!-=+ \u00a0\u2028")),
    ),
    min_size=1,
    max_size=40,
)
WORD = TEXT.map(lambda text: "".join(text.split()) or "x")


def as_read(text: str) -> str:
    """What GitHub shows of a cell that was written for ``text``."""
    page = f"| a | b |\n|---|---|\n{row([escape(text), 'end'])}\n"
    (table,) = read_tables(page.encode())
    assert table.rows[0][1] == "end"
    return table.rows[0][0]


def is_new(text: str) -> bool:
    """Whether a person can write the line: not blank, no marks around it that a cell drops."""
    return text == text.strip() and bool(text) and text not in ("—", "-", "–")


def is_one(text: str) -> bool:
    """Whether nothing in a call site could join it to another one."""
    return not re.search("[-+/&,;]", text)


def names(*models: str) -> Names:
    return Names(models, Reader(catalog.built_in()))


@given(st.lists(TEXT, unique=True, max_size=4))
def test_notes_that_a_row_holds_are_read_back_as_they_are(notes: list[str]) -> None:
    assert human.read_notes(as_read("\n".join(notes)), notes) == notes


@given(
    st.lists(TEXT, unique=True, max_size=3),
    st.lists(TEXT.filter(is_new), unique=True, min_size=1, max_size=3),
)
def test_new_notes_are_read_from_what_the_cell_shows(old: list[str], new: list[str]) -> None:
    text = as_read("\n".join([*old, *new]))
    assert human.read_notes(text, old) == list(dict.fromkeys([*old, *new]))


@given(st.lists(st.builds(Use, model=TEXT, site=TEXT), unique=True, max_size=4))
def test_uses_that_a_row_holds_are_read_back_as_they_are(uses: list[Use]) -> None:
    text = as_read("\n".join(f"{use.model} {use.site}" for use in uses))
    assert human.read_uses(text, uses, names()) == uses


@given(
    st.builds(Use, model=WORD.filter(is_one), site=TEXT.filter(is_new).filter(is_one)),
    st.booleans(),
)
def test_a_new_use_is_model_and_site(use: Use, known: bool) -> None:
    text = as_read(f"{use.model} {use.site}")
    models = [use.model] if known else []
    assert human.read_uses(text, [], names(*models)) == [use]


def test_the_name_of_a_known_model_may_have_spaces() -> None:
    uses = human.read_uses("My Model 2 prefill Q", [], names("My", "My Model 2"))
    assert uses == [Use(model="My Model 2", site="prefill Q")]


def test_a_line_without_a_call_site_is_unclear() -> None:
    with pytest.raises(UnclearError, match="MODEL SITE"):
        human.read_uses("Llama", [], names("Llama"))


@pytest.mark.parametrize("text", ["", "—", "-"])
def test_an_empty_cell_takes_everything_away(text: str) -> None:
    assert human.read_notes(text, ["a", "b"]) == []


def test_remarks_of_the_tool_stay_as_they_are() -> None:
    computed = f"{COMPUTED}no legal herd has more"
    assert human.read_notes(f"{computed}\nmine", [computed]) == [computed, "mine"]
    assert human.read_notes(f"mine\n{computed}", [computed]) == ["mine", computed]
    for text in ("mine", "", f"{computed} at all", f"{computed}\n{COMPUTED}another"):
        with pytest.raises(UnclearError):
            human.read_notes(text, [computed])


def test_a_line_too_long_or_with_a_control_character_is_unclear() -> None:
    for text in ("x" * 1001, "a\x07b"):
        with pytest.raises(UnclearError):
            human.read_notes(text, [])


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("see [there](https://example.invalid/a)", False),
        ('<img src="a.png">', False),
        ("a<br>b", True),
        ("<https://example.invalid/a>", True),
        ("`[a](b)` and a < b", True),
        ("[a](a)", True),
    ],
)
def test_what_a_cell_does_not_show_is_not_dropped_silently(source: str, kept: bool) -> None:
    (table,) = read_tables(f"| a |\n|---|\n| {source} |\n".encode())
    text = table.rows[0][0]
    if kept:
        human.require_kept(source, text)
    else:
        with pytest.raises(UnclearError, match="would be lost"):
            human.require_kept(source, text)


def test_a_person_hears_of_marks_and_of_models_that_nothing_names() -> None:
    use = Use(model="New", site="Q")
    assert human.remarks("a plain b", "a plain b", [], []) == []
    assert len(human.remarks("a *bold* b", "a bold b", [], [])) == 1
    assert "'New'" in human.remarks("New Q", "New Q", [use], ["Old"])[0]
