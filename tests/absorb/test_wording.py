"""A changed cell of a page in its own words: what of it is the row's, and what the page's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.absorb import wording
from registry_tool.absorb.identity import UnclearError

WORD = st.text("abcdefgh -.=()0123;+", min_size=1, max_size=12).filter(
    lambda text: text == text.strip() and text not in ("-",)
)
# A word that begins another one, or holds the sign between words, is told from it all the same.
WORDS = st.lists(WORD, unique=True, min_size=1, max_size=4)
USES = ["Llama prefill Q", "Qwen3-0.6B QK-norm", "Qwen3-1.7B QK-norm"]


def joined(words: list[str]) -> str:
    return " + ".join(words)


@given(WORDS)
def test_a_cell_that_nobody_changed_changes_no_row(words: list[str]) -> None:
    change = wording.change(joined(words), joined(words), words, "used_by")
    assert (change.on(words), list(change.added)) == (words, [])


@given(WORDS, WORD)
def test_a_word_at_the_end_is_added(words: list[str], new: str) -> None:
    if "+" in new or new in words:
        return
    change = wording.change(joined(words), joined([*words, new]), words, "used_by")
    assert (change.on(words), list(change.added)) == (words, [new])


@given(st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1), st.data())
def test_a_word_that_is_gone_is_taken_away(words: list[str], data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(words))
    kept = [word for word in words if word != gone]
    change = wording.change(joined(words), joined(kept), words, "used_by")
    assert (change.on(words), list(change.added)) == (kept, [])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # The page says the call site once for several models.
        ("Qwen3-0.6B + Qwen3-1.7B QK-norm", "Qwen3-1.7B QK-norm", [USES[0], USES[2]]),
        # The page says more than the row does, and that is what was changed.
        ("Llama prefill Q (square)", "Llama prefill Q (2048)", USES),
        # Or it says less.
        ("Llama", "Llama-3", ["Llama-3 prefill Q", *USES[1:]]),
        # Another call site, with what the page says about it.
        ("Llama prefill Q (square)", "Llama prefill K (square)", ["Llama prefill K", *USES[1:]]),
        ("Llama prefill Q", "Llama prefill Q<br>New O", [*USES, "New O"]),
        ("", "New O", [*USES, "New O"]),
        ("Llama prefill Q (square)", "Llama prefill Q (2048) + New O", [*USES, "New O"]),
        ("Llama prefill Q", "New O + Llama prefill K", ["Llama prefill K", *USES[1:], "New O"]),
    ],
)
def test_what_the_page_words_itself_is_told_from_what_the_row_says(
    before: str, after: str, expected: list[str]
) -> None:
    found = wording.change(before, after.replace("<br>", "\n"), USES, "used_by")
    assert [*found.on(USES), *found.added] == expected


@pytest.mark.parametrize(
    ("before", "after", "cell"),
    [
        ("coverage", "something else", "used_by"),
        ("QK-norm", "other", "used_by"),
        ("computed: x", "computed: y", "notes"),
        ("computed: x", "", "notes"),
        ("", "computed: z", "notes"),
    ],
)
def test_what_is_of_no_one_word_is_unclear(before: str, after: str, cell: str) -> None:
    words = USES if cell == "used_by" else ["computed: x", "mine"]
    with pytest.raises(UnclearError):
        wording.change(before, after, words, cell)


def test_words_of_which_no_row_knows_are_replaced_by_a_person_s() -> None:
    found = wording.change("coverage", "Llama Q", [], "used_by")
    assert (found.on([]), list(found.added)) == ([], ["Llama Q"])
