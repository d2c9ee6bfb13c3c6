"""Regions in somebody else's file: put in once, refilled ever after, and nothing else touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.errors import InputError
from registry_tool.phase1.regions import Section, fill, new, refuse_edited
from registry_tool.tables.document import TableError, regions
from tests.tables import second_opinion

ONE = (Section("phase1", None, b"\n## Phase 1 (1/2 kernels PASSED)\n\n- [x] a\n\n"),)
TWO = (*ONE, Section("blockers", "Active blockers", b"\nNone.\n\n"))


def test_a_new_file_has_title_prose_and_regions() -> None:
    data = fill(new("A title", "A line.", TWO), TWO, "F")
    assert data.startswith(b"# A title\n\nA line.\n\n<!-- registry:begin phase1 -->\n\n## Phase 1")
    assert b"\n## Active blockers\n\n<!-- registry:begin blockers -->\n\nNone.\n" in data
    assert fill(data, TWO, "F") == data


@pytest.mark.parametrize("prose", [b"", b"words", b"words\n", b"# T\r\n\r\nwords\r\n", b"- item"])
def test_regions_are_appended_after_what_is_there(prose: bytes) -> None:
    data = fill(prose, TWO, "F")
    assert data.startswith(prose)
    assert [region.name for region in regions(data)] == ["phase1", "blockers"]
    assert (b"\n" in data.replace(b"\r\n", b"")) != (b"\r\n" in prose)
    assert fill(data, TWO, "F") == data


def test_a_region_goes_below_the_heading_that_the_file_has_for_it() -> None:
    before = b"# To do\n\n### Active Blockers ###\n- mine\n\n## Later\nwords\n"
    data = fill(before, TWO, "F")
    start, rest = data.split(b"### Active Blockers ###\n")
    assert start == b"# To do\n\n"
    assert rest.startswith(b"\n<!-- registry:begin blockers -->")
    assert b"\n## Later\nwords\n" in rest
    assert data.lower().count(b"active blockers") == 1
    shown = second_opinion.html_lines(data.decode(), "registry:begin")
    assert [nested for _, nested in sorted(shown)] == [False, False]


@pytest.mark.parametrize(
    "text",
    [
        b"```\n## Active blockers\n```\n",
        b"<!--\n## Active blockers\n-->\n",
        b"> ## Active blockers\n",
        b"    ## Active blockers\n",
        b"About ## Active blockers\n",
        b"## Active blockers of last week\n",
    ],
)
def test_a_heading_in_code_or_of_something_else_is_text(text: bytes) -> None:
    data = fill(text, TWO, "F")
    assert data.startswith(text)
    assert data.count(b"\n## Active blockers\n\n<!-- registry:begin blockers -->") == 1


OWN = (Section("phase1", None, b"\n## Phase 1 (1/2)\n\nx\n\n", r"Phase 1(?: \(.*\))?", b"\nx\n\n"),)


@pytest.mark.parametrize(
    "title", [b"## Phase 1 (0/2 kernels PASSED)", b"# phase 1 :", b"### Phase 1"]
)
def test_a_heading_of_the_kind_is_taken_and_no_other_is_added(title: bytes) -> None:
    before = b"# T\n\n" + title + b"\n\nwords\n\n## Later\n"
    data = fill(before, OWN, "F")
    assert data.startswith(b"# T\n\n" + title + b"\n\n<!-- registry:begin phase1 -->\n\nx\n")
    assert data.lower().count(b"phase 1") == 1
    assert fill(data, OWN, "F") == data
    refuse_edited(data, OWN, "F", "")
    # A heading that is put between them is another matter.
    moved = data.replace(b"<!-- registry:begin", b"## Other\n\n<!-- registry:begin")
    assert b"## Phase 1 (1/2)\n" in fill(moved, OWN, "F")


def test_a_heading_inside_of_a_region_is_none_of_the_file_s_own() -> None:
    two = (Section("first", None, b"\n## Phase 1\n\n"), *OWN)
    data = fill(b"# T\n", two, "F")
    assert b"## Phase 1 (1/2)\n" in data
    assert fill(data, two, "F") == data


PIECES = st.sampled_from(
    ["words", "# T", "## Active blockers", "- a", "  - b", "> q", "```", "~~~", "", "", "    code",
     "<div>", "<!-- c -->", "<!--", "-->", "| a | b |", "|---|---|", "1. x", "---", "é\u2028x"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_words_around_the_regions_stay_byte_for_byte(
    lines: list[str], newline: str, ended: bool
) -> None:
    before = (newline.join(lines) + (newline if ended else "")).encode()
    try:
        data = fill(before, TWO, "F")
    except TableError:
        # The file ends in code or in a comment: nothing can be appended to it.
        assert any(piece in lines for piece in ("```", "~~~", "<!--", "<div>"))
        return
    kept = data
    for region in reversed(regions(data)):
        begin = data.rindex(b"<!-- registry:begin", 0, region.body_start)
        end = data.index(b"-->", region.checksum_stop) + 3
        kept = kept[:begin] + kept[end:]
    remains = kept.replace(b"## Active blockers", b"").split()
    assert remains == before.replace(b"## Active blockers", b"").split()
    assert fill(data, TWO, "F") == data
    changed = (ONE[0], Section("blockers", "Active blockers", b"\n- one\n\n"))
    back = fill(fill(data, changed, "F"), TWO, "F")
    assert back == data


def test_a_file_that_ends_in_code_is_refused() -> None:
    with pytest.raises(TableError, match="code"):
        fill(b"```\ncode\n", ONE, "F")


@pytest.mark.parametrize("data", [b"\xff\xfeT\0", b"words \xe9\n", b"nul \0 byte"])
def test_a_file_that_is_no_utf8_text_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="not"):
        fill(data, ONE, "F")


def test_an_edited_region_is_refused_with_its_line_unless_it_says_the_right_thing() -> None:
    data = fill(b"one\ntwo\n", ONE, "F")
    refuse_edited(data, ONE, "F", "type this")
    edited = data.replace(b"[x] a", b"[ ] a")
    with pytest.raises(TableError, match="edited by hand") as caught:
        refuse_edited(edited, ONE, "F", "type this")
    assert (caught.value.line, caught.value.fix) == (4, "type this")
    right = (Section("phase1", None, ONE[0].body.replace(b"[x]", b"[ ]")),)
    refuse_edited(edited, right, "F", "type this")


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (lambda text: text.split(b"<!-- registry:end")[0], 3, "no end marker"),
        (lambda text: text.replace(b"<!-- registry:begin phase1 -->\n", b"", 1), 8, "without a"),
        (lambda text: text + text, 12, "a second time"),
        (lambda text: text.replace(b"- [x] a\n", b"<!-- registry:begin x -->\n"), 7, "inside"),
        (lambda text: text.replace(b"begin phase1", b"begin other"), 3, "unknown region"),
    ],
)
def test_broken_markers_are_refused_with_their_line(change, line: int, words: str) -> None:  # type: ignore[no-untyped-def]
    broken = change(fill(b"words\n", ONE, "F"))
    with pytest.raises(TableError, match=words) as caught:
        fill(broken, ONE, "F")
    assert caught.value.line == line
