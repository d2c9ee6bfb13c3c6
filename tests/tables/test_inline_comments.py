"""Which comments of a Markdown document stand in its text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from registry_tool.tables.comments import comments

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def texts(data: str) -> list[str]:
    raw = data.encode()
    return [raw[one.start : one.stop].decode() for one in comments(raw) if one.closed]


@pytest.mark.parametrize(
    "page",
    [
        "A figure <!-- x --> here\n",
        "<!-- x --> begins a line\n",
        "# A heading <!-- x -->\n",
        "- an item <!-- x -->\n",
        "> a quote\n> goes on <!-- x -->\n",
        "> # heading <!-- x -->\n",
        "| a | b |\n|---|---|\n| `c | <!-- x --> ` |\n",
        "an escaped \\` tick <!-- x --> `\n",
        "a lone ``` tick <!-- x --> `\n",
        "`code` <!-- x --> `code`\n",
        "<td>\n<!-- x -->\n</td>\n",
        "a paragraph\n    <!-- x --> not code: it goes on\n",
        "windows <!-- x -->\r\nlines\r\n",
        "\ufefffirst <!-- x -->\n",
    ],
)
def test_a_comment_in_text_is_found(page: str) -> None:
    assert texts(page) == ["<!-- x -->"]


@pytest.mark.parametrize(
    "page",
    [
        "`<!-- x -->`\n",
        "`` ` <!-- x --> ``\n",
        "a span `over\ntwo <!-- x --> lines` ends\n",
        "```\n<!-- x -->\n```\n",
        "~~~\n<!-- x -->\n",
        "    <!-- x --> indented\n",
        "    # <!-- x --> indented\n",
        "- item\n\n      # <!-- x --> indented\n",
        "\\<!-- x -->\n",
        "<pre>\n<!-- x -->\n</pre>\n",
        "<!--\n<!-- x -->\n",
        "> ```\n> <!-- x -->\n> ```\n",
    ],
)
def test_a_comment_in_code_or_in_a_comment_is_none(page: str) -> None:
    assert texts(page) == []


def test_a_comment_ends_at_its_first_end() -> None:
    assert texts("a <!-- b <!-- x --> c --> d\n") == ["<!-- b <!-- x -->"]


def test_a_comment_over_two_lines_of_a_paragraph_is_one() -> None:
    assert texts("a <!-- b\n`c --> d`\n") == ["<!-- b\n`c -->"]


def test_a_comment_without_an_end_is_told_apart() -> None:
    (one,) = comments(b"text <!-- never ends\n\nmore --> text\n")
    assert not one.closed
    assert one.start == 5


def shown_comments(tokens: list[Token]) -> list[str]:
    found = []
    for token in tokens:
        if token.type == "html_inline" and token.content.startswith("<!--"):
            found.append(token.content)
        found += shown_comments(token.children or [])
    return found


PIECES = ["`", "``", "<!-- x -->", "word", " ", "\n", "\\", "**", "| ", "\n\n", "é"]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_paragraphs_are_read_as_another_parser_reads_them(pieces: list[str]) -> None:
    # A letter first in each line: neither lists nor HTML blocks, whose text has no inline tokens.
    page = "a" + "".join(pieces).replace("\n", "\na") + "\n"
    assert texts(page) == shown_comments(PARSER.parse(page))
