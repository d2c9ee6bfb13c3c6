from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.tables.document import TableError
from registry_tool.tables.read import read_tables, split_row
from tests.shared_data import shared
from tests.tables import second_opinion


def cells(text: str) -> list[list[list[str]]]:
    return [[table.header, *table.rows] for table in read_tables(text.encode())]


HEAD = "| a | b | c |\n|---|---|---|\n"


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("|1||3|", ["1", "", "3"]),
        ("| 1 | 2 | 3 | 4 | 5 |", ["1", "2", "3"]),
        ("| 1 |", ["1", "", ""]),
        ("1 | 2 | 3", ["1", "2", "3"]),
        ("no pipe at all", ["no pipe at all", "", ""]),
        ("| 1 | 2 | 3", ["1", "2", "3"]),
        ("1 | 2 | 3 |", ["1", "2", "3"]),
        ("   | 1 | 2 | 3 |", ["1", "2", "3"]),
        (r"| a \| b | `c \| d` | e |", ["a | b", "c | d", "e"]),
        # A pipe after any number of backslashes does not divide.
        (r"| a \\| b | c |", ["a | b", "c", ""]),
        (r"| a \\\| b | c | d |", [r"a \| b", "c", "d"]),
        ("| `a|b` | c |", ["`a", "b`", "c"]),
        ("| **1** | *2* `x` | ~~3~~ |", ["1", "2 x", "3"]),
        ("| [t](u) | ![i](j) | <b>x</b> |", ["t", "i", "x"]),
        ("| a<br>b | c<br/>d | e<br />f |", ["a\nb", "c\nd", "e\nf"]),
        ("| &amp; | &lt;b> | &#124; |", ["&", "<b>", "|"]),
        ("| \u00a0x | y\u2028z | \x85\x0c- |", ["\u00a0x", "y\u2028z", "\x85\x0c-"]),
        ("| | | |", ["", "", ""]),
        ("===", ["===", "", ""]),
    ],
)
def test_rows_are_read_as_github_shows_them(row: str, shown: list[str]) -> None:
    assert cells(f"{HEAD}{row}\n") == [[["a", "b", "c"], shown]]


@pytest.mark.parametrize(
    "end",
    [
        "",
        "# a heading | with a pipe",
        "<!-- a comment | with a pipe -->",
        "> a quote | with a pipe",
        "- an item | with a pipe",
        "2. an item | with a pipe",
        "``` code | with a pipe",
        "    code | with a pipe",
        "***",
        "---",
        "<div>",
    ],
)
def test_a_table_ends_where_another_block_begins(end: str) -> None:
    assert cells(f"{HEAD}| 1 | 2 | 3 |\n{end}\n") == [[["a", "b", "c"], ["1", "2", "3"]]]


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|---|\n| 1 | 2 |\n",
        "| a |\n|---|---|\n",
        "```\n| a |\n|---|\n```\n",
        "~~~\n| a |\n|---|\n~~~\n",
        "    | a |\n    |---|\n",
        "<!--\n| a |\n|---|\n-->\n",
        "<pre>\n| a |\n|---|\n</pre>\n",
        "<div>\n| a |\n|---|\n</div>\n",
        "a\n---\n",
        "| a |\n---\n",
        "| a | b |\n| - : | - |\n",
        "",
    ],
)
def test_what_is_no_table_is_not_read(text: str) -> None:
    assert cells(text) == []


def test_a_table_may_follow_a_paragraph_and_stand_in_a_quote_or_list() -> None:
    text = (
        f"words | and words\n{HEAD}\n"
        "> | q |\n> |---|\n> | 1 |\n\n"
        "- | l |\n  |---|\n  | 2 |\n\nend\n"
    )
    assert cells(text) == [[["a", "b", "c"]], [["q"], ["1"]], [["l"], ["2"]]]
    assert [table.line for table in read_tables(text.encode())] == [2, 5, 9]


def test_a_quoted_paragraph_does_not_go_on_as_a_table() -> None:
    assert cells("> a | b\n|---|---|\n") == []
    assert cells("- a | b\n|---|---|\n") == []


def test_links_are_shown_by_their_text_wherever_they_are_defined() -> None:
    assert cells("| [a][r] |\n|---|\n| [r] |\n\n[r]: /somewhere\n") == [[["a"], ["r"]]]


def test_lines_do_not_drift() -> None:
    text = f"one\u2028two\x0cthree\x85four\rfive\r\n\r\n{HEAD}| 1 | 2 | 3 |\n"
    (table,) = read_tables(text.encode())
    assert (table.line, table.row_lines) == (3, [5])


def test_crlf_and_a_byte_order_mark_make_no_difference() -> None:
    text = f"{HEAD}| 1 | 2 | 3 |\n"
    assert cells("\ufeff" + text.replace("\n", "\r\n")) == cells(text)


def test_sources_keep_the_markdown() -> None:
    (table,) = read_tables(b"| a |\n|---|\n| **x** \\| `y` |\n")
    assert table.sources == [["**x** | `y`"]]
    assert table.rows == [["x | y"]]


def test_bytes_that_are_not_text_are_an_error_with_their_line() -> None:
    with pytest.raises(TableError) as caught:
        read_tables(b"text\n\xff\n", "details/X.md")
    assert (caught.value.path, caught.value.line) == ("details/X.md", 2)


def test_reading_leaves_mistletoe_as_it_was() -> None:
    from mistletoe import block_token, span_token

    before = [list(block_token._token_types), list(span_token._token_types)]
    read_tables(HEAD.encode())
    assert [list(block_token._token_types), list(span_token._token_types)] == before


def test_splitting_a_row() -> None:
    assert split_row("|1||3|") == ["1", "", "3"]
    assert split_row("||") == [""]
    assert split_row("a") == ["a"]


def agrees(data: bytes) -> bool:
    ours = [
        ([table.header, *table.rows], [table.line, *table.row_lines]) for table in read_tables(data)
    ]
    return ours == second_opinion.tables(data)


KERNELS = [
    *["EltwiseAdd_bf16", "FlashAttention_bf16", "GELU_bf16", "GEMM_bf16_in_bf16_out"],
    *["GEMM_bf16_in_fp32_out", "GEMV_bf16", "LayerNorm_bf16", "RMSNorm_bf16", "RoPE_bf16"],
    "SiLU_Mul_bf16",
]


@pytest.mark.parametrize(
    "name",
    ["supported_kernels.md", "README.md", *[f"details/{kernel}.md" for kernel in KERNELS]],
)
def test_both_readers_agree_about_the_upstream_pages(name: str) -> None:
    page: Path = shared("upstream_registry") / name
    assert agrees(page.read_bytes())


def test_the_upstream_pages_lose_a_value_behind_bare_pipes() -> None:
    page = shared("upstream_registry") / "details" / "EltwiseAdd_bf16.md"
    lost = [
        row
        for table in read_tables(page.read_bytes())
        for row in table.rows
        if row[0].startswith("`mean_rel_L1 = mean")
    ]
    assert lost == [["`mean_rel_L1 = mean", "c−ref"]]


# No line that begins another block has a pipe: markdown-it would take it for a table's heading.
LINES = [
    *["", "", "text", "| a | b |", "|---|---|", "| 1 | 2 |", "|1||3|", "| 1 | 2 | 3 |", "|1|"],
    *["bare", "a | b", "--- | ---", "1 | 2", ":-: | -:", "<!-- c -->", "```", "~~~"],
    *["    | ind | ent |", "  | a | b |", "   |---|---|", "| `x\\|y` | \\| |", "| \\\\| z | k |"],
    *["| **b** | `c` |", "|-|-|", "***", "<div>", "</div>", "| a\u2028b | c\x0cd |", "| x | y"],
    *["|:--|--:|", "| <br> | a<br/>b |", "| [x](y) | ![i](j) |", "| &amp; | &#124; |"],
    *["\t| t | u |", "| *a | b* |", "| `a | b` |", "text | more", "|---|---|---|", "<!--", "-->"],
]


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(LINES), min_size=2, max_size=8))
def test_both_readers_agree_about_any_page(lines: list[str]) -> None:
    assert agrees("\n".join(lines).encode())
