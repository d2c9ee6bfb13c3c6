"""The HTML comments that stand in the text of a Markdown document, as CommonMark sees them.

What looks like a comment in code (fenced, indented, or a span) or inside another comment is none.
It knows nothing of registries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from registry_tool.tables.structure import _HEADING, _LINE, _is_html, _State

# What decides, from the left, whether `<!--` opens a comment: an escape, a code span, a comment.
_INLINE = re.compile(rb"\\[\\`<]|(?P<ticks>`+)|(?P<comment><!--)")
# In a line of HTML only comments do: the group is there for its name.
_HTML = re.compile(rb"(?P<comment><!--)|(?P<ticks>(?!))")
_TICKS = re.compile(rb"`+")
_PIPE = re.compile(rb"(?<!\\)\|")
_CONTAINERS = re.compile(rb"(?: {0,3}> ?| {0,3}(?:[-+*]|\d{1,9}[.)]) {1,4})* {0,3}")


@dataclass(frozen=True)
class Comment:
    """A comment by the byte offsets of its `<!--` and of what follows its `-->`.

    ``stretch`` is the offset of the paragraph, heading or table cell that it stands in. ``closed``
    is False for a `<!--` without a `-->` in the same one: it is shown as text.
    """

    start: int
    stop: int
    stretch: int
    closed: bool = True


@dataclass
class _Leaves(_State):
    """The state of the line scanner, and how many leaf blocks have been closed."""

    leaf: int = 0

    def close_leaf(self) -> None:
        super().close_leaf()
        self.leaf += 1


def comments(data: bytes) -> Iterator[Comment]:
    """The comments in the text of ``data``, in order."""
    for start, stop, pattern in _stretches(data):
        yield from _in_stretch(data, start, stop, pattern)


def _stretches(data: bytes) -> Iterator[tuple[int, int, re.Pattern[bytes]]]:
    """Start, stop and what to look for of each run of bytes that is read as inline text."""
    state = _Leaves([])
    at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    opened: tuple[int, int] | None = None
    while at < len(data):
        match = _LINE.match(data, at)
        assert match is not None
        stop = match.end()
        raw = data[at:stop].rstrip(b"\r\n")
        line = raw.expandtabs(4) if b"\t" in raw else raw
        before = state.leaf
        is_html = _is_html(state, line)
        goes_on = opened is not None and state.paragraph and state.leaf == before
        is_row = line.lstrip(b" ").startswith(b"|")
        if opened is not None and (not goes_on or is_row):
            yield (*opened, _INLINE)
            opened = None
        if is_html:
            yield at, stop, _HTML
        elif state.paragraph and is_row:
            for cell in _cells(data, at, stop):
                yield (*cell, _INLINE)
        elif state.paragraph:
            opened = (at if opened is None else opened[0], stop)
        elif _is_heading(state, line):
            yield at, stop, _INLINE
        at = stop
    if opened is not None:
        yield (*opened, _INLINE)


def _is_heading(state: _State, line: bytes) -> bool:
    if state.fence or state.html:
        return False
    prefix = _CONTAINERS.match(line)
    assert prefix is not None
    return _HEADING.match(line, prefix.end()) is not None


def _cells(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The cells of a table row: GitHub splits them before it looks for code."""
    for pipe in _PIPE.finditer(data, start, stop):
        yield start, pipe.start()
        start = pipe.end()
    yield start, stop


def _in_stretch(
    data: bytes, start: int, stop: int, pattern: re.Pattern[bytes]
) -> Iterator[Comment]:
    stretch = start
    while (match := pattern.search(data, start, stop)) is not None:
        start = match.end()
        if match["ticks"]:
            ends = _TICKS.finditer(data, start, stop)
            same = (one.end() for one in ends if len(one[0]) == len(match["ticks"]))
            start = next(same, start)
        elif match["comment"]:
            # Two bytes on: `<!-->` is a whole comment.
            end = data.find(b"-->", match.start() + 2, stop)
            if end < 0:
                yield Comment(match.start(), match.end(), stretch, closed=False)
            else:
                start = end + 3
                yield Comment(match.start(), start, stretch)
