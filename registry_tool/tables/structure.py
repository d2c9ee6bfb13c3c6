"""Which lines of a Markdown document are HTML at the top level, as CommonMark sees it.

A line scanner of our own, because it is on the hot path; it knows nothing of registries. It
follows containers (quotes, list items) and the blocks that hold lines as text (fences, indented
code, HTML), which is all that decides whether a comment is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
# A run of lines that start with a pipe is text wherever text can stand: tables are skipped at once.
_PIPES = re.compile(rb"(?:\|[^\r\n]*(?:\r\n|\r|\n))+")
_FENCE = re.compile(rb"(`{3,})[^`]*\Z|(~{3,})")
_HEADING = re.compile(rb"#{1,6}(?:[ ]|\Z)")
_RULE = re.compile(rb"(?:\*[ ]*){3,}\Z|(?:_[ ]*){3,}\Z|(?:-[ ]*){3,}\Z")
_SETEXT = re.compile(rb"(?:=+|-+)[ ]*\Z")
_ITEM = re.compile(rb"([-+*]|(\d{1,9})[.)])(?:( +)|\Z)")

_TAGS = (
    "address article aside base basefont blockquote body caption center col colgroup dd details "
    "dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 "
    "head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option "
    "p param search section source summary table tbody td tfoot th thead title tr track ul"
)
_ATTRIBUTE = rb"""[ ]+[A-Za-z_:][A-Za-z0-9_.:-]*(?:[ ]*=[ ]*(?:[^ "'=<>`]+|'[^']*'|"[^"]*"))?"""
_COMMENT_END = re.compile(rb"-->")
# How an HTML block starts, and the text in a line that ends it (None: a blank line ends it).
_HTML: tuple[tuple[re.Pattern[bytes], re.Pattern[bytes] | None], ...] = (
    (
        re.compile(rb"<(?:script|pre|style|textarea)(?:[ >]|\Z)", re.I),
        re.compile(rb"</(?:script|pre|style|textarea)>", re.I),
    ),
    (re.compile(rb"<!--"), _COMMENT_END),
    (re.compile(rb"<\?"), re.compile(rb"\?>")),
    (re.compile(rb"<![A-Za-z]"), re.compile(rb">")),
    (re.compile(rb"<!\[CDATA\["), re.compile(rb"\]\]>")),
    (re.compile(rb"</?(?:%s)(?:[ ]|/?>|\Z)" % _TAGS.replace(" ", "|").encode(), re.I), None),
)
_LONE_TAG = re.compile(
    rb"(?:<[A-Za-z][A-Za-z0-9-]*(?:%s)*[ ]*/?>|</[A-Za-z][A-Za-z0-9-]*[ ]*>)[ ]*\Z" % _ATTRIBUTE
)


@dataclass(frozen=True)
class HtmlLine:
    """A line of HTML that no code, comment or other HTML element swallows.

    ``start`` and ``stop`` are its byte offsets, line end included; ``number`` counts ``\\n`` as an
    editor does, from 1; ``nested`` says that it stands in a quote or a list.
    """

    start: int
    stop: int
    number: int
    nested: bool


@dataclass
class _State:
    """Open blocks: containers (None for a quote, else an item's indent) and the innermost leaf."""

    containers: list[int | None]
    paragraph: bool = False
    fence: bytes = b""
    html: bool = False
    html_end: re.Pattern[bytes] | None = None
    html_comment: bool = False
    empty_item: bool = False

    def close_leaf(self) -> None:
        self.paragraph = False
        self.fence = b""
        self.html = self.html_comment = False
        self.html_end = None


def html_lines(data: bytes) -> Iterator[HtmlLine]:
    """The lines of ``data`` that a reader of its HTML would meet as HTML of their own.

    One-line comments and the lines of block elements are given; lines of code, of comments that
    span lines, and of elements that hold text (`<pre>`, `<script>`) are not.
    """
    state = _State([])
    at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    number = 1
    while at < len(data):
        if data[at] == 0x7C and not (state.containers or state.fence or state.html):
            run = _PIPES.match(data, at)
            if run is not None:
                number += data.count(b"\n", at, run.end())
                at = run.end()
                state.paragraph = True
                continue
        match = _LINE.match(data, at)
        assert match is not None
        stop = match.end()
        line = data[at:stop].rstrip(b"\r\n")
        if b"\t" in line:
            line = line.expandtabs(4)
        if _is_html(state, line):
            yield HtmlLine(at, stop, number, bool(state.containers))
        number += data.count(b"\n", at, stop)
        at = stop


def _is_html(state: _State, line: bytes) -> bool:
    """Take ``line`` into ``state``; whether it is a line of HTML that stands for itself."""
    matched, rest = _match_containers(state, line)
    indent = len(rest) - len(rest.lstrip(b" "))
    text = rest[indent:]
    if matched == len(state.containers):
        if state.fence:
            if indent < 4 and _closes(text, state.fence):
                state.close_leaf()
            return False
        if state.html:
            return _continue_html(state, text)
    if not text:
        _close(state, matched)
        return False
    return _start_blocks(state, matched, rest, state.paragraph)


def _match_containers(state: _State, line: bytes) -> tuple[int, bytes]:
    """How many open containers ``line`` continues, and what is left of it."""
    rest = line
    for depth, item in enumerate(state.containers):
        text = rest.lstrip(b" ")
        indent = len(rest) - len(text)
        if item is None:
            if indent > 3 or not text.startswith(b">"):
                return depth, rest
            rest = text[1:]
            rest = rest.removeprefix(b" ")
        elif not text:
            # An item that starts with a blank line ends at the second one.
            if state.empty_item and depth == len(state.containers) - 1:
                return depth, rest
            rest = b""
        elif indent >= item:
            rest = rest[item:]
        else:
            return depth, rest
    return len(state.containers), rest


def _close(state: _State, keep: int) -> None:
    """Close the leaf, and the containers beyond ``keep``."""
    del state.containers[keep:]
    state.close_leaf()
    state.empty_item = False


def _start_blocks(state: _State, matched: int, rest: bytes, was_paragraph: bool) -> bool:
    """Open the blocks that start in ``rest``, a line that is not blank, below ``matched``."""
    # A paragraph whose containers the line does not continue may only go on lazily.
    interrupts = was_paragraph and matched == len(state.containers)
    while True:
        text = rest.lstrip(b" ")
        indent = len(rest) - len(text)
        if indent > 3:
            # Indented code, unless it continues a paragraph.
            if not was_paragraph:
                _close(state, matched)
            return False
        item = None if text.startswith(b">") else _item(text, indent, interrupts)
        if text.startswith(b">"):
            _close(state, matched)
            state.containers.append(None)
            rest = text[1:].removeprefix(b" ")
        elif item is not None:
            _close(state, matched)
            width, rest = item
            state.containers.append(width)
        else:
            return _start_leaf(state, matched, text, was_paragraph, interrupts)
        matched = len(state.containers)
        was_paragraph = interrupts = False
        if not rest.strip(b" "):
            state.empty_item = item is not None
            return False


def _item(text: bytes, indent: int, interrupts: bool) -> tuple[int, bytes] | None:
    """Width and content of the list item that starts in ``text``, or None."""
    match = _ITEM.match(text)
    if match is None or _RULE.match(text):
        return None
    content = text[match.end() :]
    if interrupts and (not content or match[2] not in (None, b"1")):
        return None
    width, spaces = indent + len(match[1]), len(match[3] or b"")
    if not content:
        return width + 1, b""
    if spaces > 4:
        # The content is indented code: one space belongs to the marker.
        return width + 1, b" " * (spaces - 1) + content
    return width + spaces, content


def _start_leaf(
    state: _State, matched: int, text: bytes, was_paragraph: bool, interrupts: bool
) -> bool:
    fence = _FENCE.match(text)
    if fence is not None:
        _close(state, matched)
        state.fence = fence[1] or fence[2]
        return False
    if text.startswith(b"<"):
        for start, end in _HTML:
            if start.match(text):
                _close(state, matched)
                state.html, state.html_end = True, end
                stands_alone = end is None or end is _COMMENT_END
                return _continue_html(state, text) or (stands_alone and not state.html)
        if not was_paragraph and _LONE_TAG.match(text):
            _close(state, matched)
            state.html = True
            return True
    setext = interrupts and _SETEXT.match(text)
    if setext or _HEADING.match(text) or _RULE.match(text):
        _close(state, matched)
        return False
    # A paragraph begins, goes on, or goes on lazily with its containers left open.
    if not was_paragraph:
        _close(state, matched)
        state.paragraph = True
    return False


def _continue_html(state: _State, text: bytes) -> bool:
    """Take a line into the open HTML block; whether it is the line of an element with blocks."""
    if state.html_end is not None:
        if state.html_end.search(text):
            state.close_leaf()
        return False
    if not text:
        state.close_leaf()
        return False
    inside = state.html_comment
    state.html_comment = _in_comment_after(text, inside)
    return not inside


def _in_comment_after(text: bytes, inside: bool) -> bool:
    while (at := text.find(b"-->" if inside else b"<!--")) >= 0:
        # Two bytes on: `<!-->` is a whole comment.
        text = text[at + 2 :]
        inside = not inside
    return inside


def _closes(text: bytes, fence: bytes) -> bool:
    mark = text.rstrip(b" ")
    return len(mark) >= len(fence) and mark == fence[:1] * len(mark)
