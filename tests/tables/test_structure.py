"""Our line scanner and two Markdown parsers agree about what is structure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistletoe import block_token

from registry_tool.tables.structure import html_lines
from tests.tables import second_opinion

mistletoe: Any = block_token
MARK = "<!-- registry:end -->"
FRAGMENTS = [
    *["", "", "text", "  text", "    text", "\ttext", "- item", "-", "1. one", "2. two"],
    *["10)  ten", "> quote", ">", "> - x", "- > x", "```", "~~~", "````", "``` py", "```x`"],
    *["  ```", "   ~~~~", "- ```", "-   ```", "1. ~~~", "> ```", ">     code", "    ```", "<!--"],
    *["-->", "<!-- open", "close -->", "<div>", "</div>", "<pre>", "</pre>", "<span>"],
    *["<a href='x'>", "<?php", "?>", "| a | b |", "|---|---|", "| 1 | 2 |", "# h", "---", "***"],
    *["===", "- - -", "* * *", "  - nested", "     deep", "<!-- x -->", "<!DOCTYPE html>"],
    *["<![CDATA[", "]]>", "<script>", "</script>", "+", "-     code", "<!-->", "<DIV", "  <!--"],
    *[MARK, MARK, MARK, f" {MARK}", f"   {MARK}", f"    {MARK}", f"\t{MARK}", f"- {MARK}"],
    *[f"> {MARK}", f"  - {MARK}", f"a {MARK}", f"{MARK}  ", f"`{MARK}`"],
]


def ours(text: str) -> set[tuple[int, bool]]:
    data = text.encode()
    return {
        (line.number, line.nested)
        for line in html_lines(data)
        if MARK.encode() in data[line.start : line.stop]
    }


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=9), st.booleans())
def test_the_scanner_and_markdown_it_agree(lines: list[str], final_newline: bool) -> None:
    text = "\n".join(lines) + ("\n" if final_newline else "")
    assert ours(text) == second_opinion.html_lines(text, MARK)


def mistletoes(text: str) -> set[tuple[int, bool]]:
    mistletoe.add_token(mistletoe.HtmlBlock)
    try:
        document = mistletoe.Document(text.splitlines(keepends=True))
    finally:
        mistletoe.reset_tokens()
    return {
        (block.line_number, False)
        for block in document.children
        if isinstance(block, mistletoe.HtmlBlock) and block.content.split("\n")[0].strip() == MARK
    }


@pytest.mark.parametrize(
    "text",
    [
        f"{MARK}\n",
        f"text\n{MARK}\ntext\n",
        f"```\n{MARK}\n```\n{MARK}\n",
        f"~~~ md\n{MARK}\n```\n{MARK}\n~~~\n{MARK}\n",
        f"````\n```\n{MARK}\n````\n{MARK}\n",
        f"text\n\n    {MARK}\n\n{MARK}\n",
        f"<!-- a comment\n{MARK}\n{MARK}\n",
        f"<!--\n\n{MARK}\n\n{MARK}\n",
        f"<pre>\n{MARK}\n</pre>\n\n{MARK}\n",
        f"| a |\n|---|\n| {MARK} |\n{MARK}\n",
        f"- item\n- ```\n  {MARK}\n  ```\n\n{MARK}\n",
        f"> quote\n\n{MARK}\n",
        f"# heading\n{MARK}\n***\n{MARK}\n",
        f"a `code` {MARK}\n\n`{MARK}`\n\n{MARK}\n",
    ],
)
def test_the_scanner_and_mistletoe_agree(text: str) -> None:
    assert ours(text) == mistletoes(text)
    assert ours(text) == second_opinion.html_lines(text, MARK)


# Outside quotes and lists, whose lazy lines mistletoe takes in beyond paragraphs.
PLAIN = [
    *["", "text", "```", "~~~", "````", "  ```", "# h", "| a | b |", "|---|---|", "| 1 | 2 |"],
    *["<!--", "-->", "<!-- x -->", "    code", "***", MARK, MARK, f" {MARK}", f"    {MARK}"],
    *[f"a {MARK}", f"`{MARK}`"],
]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=8))
def test_the_scanner_and_mistletoe_agree_about_any_plain_page(lines: list[str]) -> None:
    text = "\n".join([*lines, ""])
    assert ours(text) == mistletoes(text)


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    text = f"a\u2028b\x0cc\x85d\re\r\n{MARK}\r\n"
    assert ours(text) == {(2, False)}


def test_a_byte_order_mark_is_not_text() -> None:
    assert ours(f"\ufeff{MARK}\n") == {(1, False)}
