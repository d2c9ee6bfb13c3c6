from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.errors import ToolError
from registry_tool.tables.document import TableError, checksum, regions, splice

BODY = b"\n| a |\n|---|\n| 1 |\n\n"
PAGE = b"# Page\n\n<!-- registry:begin shapes -->\n<!-- registry:end -->\n\nText.\n"


def filled(page: bytes = PAGE, body: bytes = BODY) -> bytes:
    return splice(page, {"shapes": body})


def test_a_body_is_spliced_in_with_its_checksum() -> None:
    assert filled() == (
        b"# Page\n\n<!-- registry:begin shapes -->\n\n| a |\n|---|\n| 1 |\n\n"
        b"<!-- registry:end %s -->\n\nText.\n" % checksum(BODY).encode()
    )


def test_regions_say_where_they_are_and_what_they_hold() -> None:
    (region,) = regions(filled())
    assert (region.name, region.start_line, region.end_line) == ("shapes", 3, 9)
    assert (region.body, region.checksum, region.edited) == (BODY, checksum(BODY), False)


def test_splicing_again_changes_nothing() -> None:
    assert filled(filled()) == filled()


def test_a_new_body_replaces_the_old_one() -> None:
    other = BODY.replace(b"1", b"22")
    assert filled(filled(), other) == filled(PAGE, other)


def test_a_hand_edit_is_seen() -> None:
    (region,) = regions(filled().replace(b"| 1 |", b"| 2 |"))
    assert region.edited


def test_a_hand_written_table_between_markers_without_a_checksum_counts_as_edited() -> None:
    (region,) = regions(PAGE.replace(b"-->\n<!--", b"-->\n| mine |\n<!--"))
    assert region.edited
    assert not regions(PAGE)[0].edited


def test_line_ends_are_no_edit() -> None:
    (region,) = regions(filled().replace(b"\n", b"\r\n"))
    assert not region.edited
    assert region.text == BODY


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_a_body_is_written_with_the_newline_of_its_page(newline: bytes) -> None:
    page = PAGE.replace(b"\n", newline)
    assert filled(page) == filled().replace(b"\n", newline)


def test_a_body_that_says_the_same_keeps_its_own_mixed_newlines() -> None:
    page = filled().replace(b"| 1 |\n", b"| 1 |\r\n")
    assert filled(page) == page


ODD_TEXT = [
    b"",
    b"no final newline",
    b"odd   spacing \t\n\n\n",
    "emoji 🧪 and\u00a0non-breaking\u2028separators\u2029\x85\x0c\n".encode(),
    b"CRLF\r\nand a lone CR\rhere\n",
    b"\xff\xfe not UTF-8\n",
    b"```\n<!-- registry:begin shapes -->\n```\n",
    b"~~~\n<!-- registry:end abc -->\n~~~\n",
    b"    <!-- registry:begin shapes -->\n\n",
    b"<!-- a comment\n<!-- registry:begin shapes -->\nends -->\n",
    b"<pre>\n<!-- registry:end -->\n</pre>\n\n",
    b"<div>\n<!--\n<!-- registry:end -->\n</div>\n\n",
    b"- item\n- ```\n  <!-- registry:begin shapes -->\n  ```\n",
    b"write `<!-- registry:begin shapes -->` before it\n",
    b"| a | b |\n|---|---|\n| `|` | x |\n",
    b"<!-- registry:value best -->32.6<!-- /registry:value -->\n",
    b"[link]: <x>\n",
]


@pytest.mark.parametrize("before", ODD_TEXT)
@pytest.mark.parametrize("after", ODD_TEXT)
def test_bytes_outside_are_never_touched(before: bytes, after: bytes) -> None:
    if before and not before.endswith(b"\n"):
        before += b"\n"
    page = before + b"<!-- registry:begin shapes -->\r\n<!-- registry:end   -->  \n" + after
    done = filled(page)
    assert done.startswith(before + b"<!-- registry:begin shapes -->\r\n")
    assert done.endswith(b"-->  \n" + after)
    assert filled(done) == done
    (region,) = regions(done)
    assert region.start_line == before.count(b"\n") + 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(ODD_TEXT), max_size=4), st.lists(st.sampled_from(ODD_TEXT), max_size=4)
)
def test_any_mixture_outside_is_kept(before: list[bytes], after: list[bytes]) -> None:
    # A rule between them ends whatever list is open.
    head = b"".join(part + b"\n\n***\n" for part in before)
    tail = b"\n\n***\n".join(after)
    page = head + b"<!-- registry:begin shapes -->\n<!-- registry:end -->\n" + tail
    done = filled(page)
    assert done.startswith(head)
    assert done.endswith(b"-->\n" + tail)
    assert filled(done) == done


def test_a_page_without_a_final_newline_keeps_none() -> None:
    assert not filled(PAGE.removesuffix(b"\n\nText.\n")).endswith(b"\n")


def test_markers_may_stand_in_an_html_element() -> None:
    page = b"<details>\n<summary>Shapes</summary>\n" + PAGE[8:] + b"</details>\n"
    assert BODY in filled(page)


def test_odd_spacing_in_markers_is_kept() -> None:
    page = b" <!--registry:begin  shapes-->\n<!--   registry:end   0a0a   -->\t\n"
    assert filled(page) == (
        b" <!--registry:begin  shapes-->\n%s<!--   registry:end   %s   -->\t\n"
        % (BODY, checksum(BODY).encode())
    )


@pytest.mark.parametrize(
    ("page", "line", "words"),
    [
        (b"text\n", 1, "region 'shapes' is missing"),
        (b"```\n<!-- registry:begin shapes -->\n<!-- registry:end -->\n```\n", 1, "missing"),
        (b"x\n\n<!-- registry:begin shapes -->\n", 3, "no end marker"),
        (b"<!-- registry:begin shapes -->\n```\n<!-- registry:end -->\n", 1, "no end marker"),
        (b"x\n<!-- registry:end -->\n", 2, "without a begin marker"),
        (PAGE + b"<!-- registry:end 123 -->\n", 7, "without a begin marker"),
        (PAGE + PAGE, 9, "a second time; the first is on line 3"),
        (
            b"<!-- registry:begin shapes -->\n<!-- registry:begin notes -->\n"
            b"<!-- registry:end -->\n<!-- registry:end -->\n",
            2,
            "begins inside region 'shapes'",
        ),
        (PAGE + b"<!-- registry:begin other -->\n<!-- registry:end -->\n", 7, "unknown region"),
        (b"<!-- registry:begin -->\n", 1, "expected `<!-- registry:begin NAME -->`"),
        (b"<!-- registry:begin two words -->\n", 1, "expected"),
        (b"<!-- registry:begin shapes --> text\n", 1, "expected"),
        (b"<!-- registry:begin shapes -->\n<!-- registry:end a b -->\n", 2, "expected"),
        (b"> <!-- registry:begin shapes -->\n", 1, "outside quotes and lists"),
        (b"- x\n\n  <!-- registry:begin shapes -->\n", 3, "outside quotes and lists"),
        (b"a\rb\r\n\x0c\xe2\x80\xa8\n<!-- registry:end -->\n", 3, "without a begin marker"),
    ],
)
def test_markers_that_do_not_fit_are_errors_with_their_line(
    page: bytes, line: int, words: str
) -> None:
    with pytest.raises(TableError) as caught:
        splice(page, {"shapes": BODY}, "details/X.md")
    assert isinstance(caught.value, ToolError)
    assert (caught.value.path, caught.value.line) == ("details/X.md", line)
    assert words in caught.value.message
    assert caught.value.fix


def test_a_merge_conflict_is_named_for_what_it_is() -> None:
    ours, theirs = filled(), filled(PAGE, BODY.replace(b"1", b"2"))
    both = b"".join(
        [
            ours.partition(b"| 1 |")[0],
            b"<<<<<<< HEAD\n| 1 |",
            ours.partition(b"| 1 |")[2].removesuffix(b"\n\nText.\n"),
            b"\n=======\n| 2 |",
            theirs.partition(b"| 2 |")[2].removesuffix(b"\n\nText.\n"),
            b"\n>>>>>>> branch\n\nText.\n",
        ]
    )
    with pytest.raises(TableError, match="git checkout --ours"):
        splice(both, {"shapes": BODY})


def test_a_long_page_is_scanned_fast_enough_to_be_read_on_every_commit() -> None:
    rows = b"".join(b"| %d | fused-cast | 64/256/32/128 | 8898 |\n" % n for n in range(10_000))
    page = filled(PAGE, b"\n| a | b | c | d |\n|---|---|---|---|\n" + rows + b"\n")
    import time

    started = time.process_time()
    assert len(regions(page)) == 1
    assert time.process_time() - started < 0.25
