from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.tables.cells import escape, link, row
from registry_tool.tables.read import read_tables
from tests.tables import second_opinion

PIECES = [
    *["http://", "www.", "https://a.b/c_d?e=f&g=h*", "**", "__", "`", "``", "\\", "|", "<b>"],
    *["</b>", "<!--", "-->", "<br>", "&amp;", "&#35;", "&copy", "[x]", "(y)", "![", "~~", "~"],
    *["$$", ":smile:", "a", "b", " ", "\n", "_", "1", "#", "-", "=", "é", "🧪", "\u00a0", "\u2028"],
]
ANY_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20),
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
)


def page(texts: list[str]) -> bytes:
    head = row([str(at) for at in range(len(texts))])
    return f"{head}\n|{'---|' * len(texts)}\n{row([escape(text) for text in texts])}\n".encode()


@settings(max_examples=120, deadline=None)
@given(st.lists(ANY_TEXT, min_size=1, max_size=4))
def test_any_text_is_shown_as_it_is(texts: list[str]) -> None:
    data = page(texts)
    assert data.count(b"\n") == 3
    (table,) = read_tables(data)
    assert table.rows == [texts]
    ((cells, _),) = second_opinion.tables(data)
    assert cells[1] == texts


@pytest.mark.parametrize(
    "text",
    [
        "2048×8192×2048",
        "mean_rel_L1",
        "64/256/32/128",
        "M < 512·8",
        "Q & A",
        "a - b",
        "9.40e-3",
        "",
    ],
)
def test_plain_text_stays_readable_in_the_source(text: str) -> None:
    assert escape(text) == text


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("a|b", "a\\|b"),
        ("a\\|b", "a&#92;\\|b"),
        ("`code`", "\\`code\\`"),
        ("*a* _b_ ~c~", "\\*a\\* \\_b\\_ \\~c\\~"),
        ("<b>&lt;", "&lt;b>&amp;lt;"),
        ("[a](b)", "\\[a](b)"),
        ("costs $5", "costs \\$5"),
        ("two\nlines", "two<br>lines"),
        (" edges ", "&#32;edges&#32;"),
        ("\u00a0x\u2028y", "&#160;x&#8232;y"),
        ("carriage\rreturn\tand tab", "carriage&#13;return&#9;and tab"),
        ("see https://example.org/a_b", "see https://example.org/a_b"),
        # GitHub would show the backslashes of a link.
        ("see https://example.org/*", "see https\\://example.org/\\*"),
        ("www.example.org/~me", "www\\.example.org/\\~me"),
    ],
)
def test_what_markdown_would_read_is_escaped(text: str, source: str) -> None:
    assert escape(text) == source


def test_a_link_shows_its_text() -> None:
    data = f"| a |\n|---|\n| {link('x [y] | `z`', 'details/X.md')} |\n".encode()
    assert read_tables(data)[0].rows == [["x [y] | `z`"]]
    assert second_opinion.tables(data)[0][0][1] == ["x [y] | `z`"]
