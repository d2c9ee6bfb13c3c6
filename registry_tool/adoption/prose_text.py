"""The prose of a Markdown page, sentence by sentence, with the way back to the bytes.

What is code, a table, a heading's underline or a comment is no prose; emphasis and code marks are
left out of the text. What the sentences say is not its affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"\s{0,3}(?:>\s?)*\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*)")
_ITEM = re.compile(r"(\s*)(?:[-*+]|\d{1,3}[.)])\s+")
_LINK = re.compile(r"\]\(([^)\s]*)\)")
_REGION = re.compile(r"\s*<!--\s*registry:(begin|end)\b")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_VALUE = re.compile(r"<!--\s*registry:value.*?<!--\s*/registry:value\s*-->")
# A full stop before a capital, a bracket or a mark; "approx. 3" and "3.5" go on.
_STOP = re.compile(r"(?<=[.!?;])\s+(?=[^\W\d_a-z]|[(\[\"⚠]|`)|(?<=[.!?])\s+(?=\d+[.×]\s?\S)")


@dataclass(frozen=True)
class Sentence:
    """One sentence: ``text`` without marks, and where each of its characters stands.

    ``offsets`` are character offsets into the page, ``code`` says which characters stand in a code
    span. ``block`` is the text of the whole paragraph, and ``place`` where the sentence begins in
    it. ``links`` are the targets of the paragraph's links, ``heading`` the heading above.
    ``in_table`` says that it is the line of a table.
    """

    text: str
    offsets: tuple[int, ...]
    code: tuple[bool, ...]
    block: str
    place: int
    links: tuple[str, ...]
    heading: str
    in_table: bool = False


@dataclass
class _Block:
    text: list[str]
    offsets: list[int]
    code: list[bool]
    links: list[str]


def sentences(page: str, tables: bool = False) -> Iterator[Sentence]:
    """The sentences of ``page``, in order; with ``tables``, cells are prose as well."""
    for heading, lines in _paragraphs(_without_comments(page), tables):
        # A paragraph ends where a row begins, so a block that begins with a bar is a row.
        in_table = page[lines[0][0] :].lstrip(" \t>").startswith("|")
        yield from _sentences(heading, _block(lines), in_table)


def _without_comments(page: str) -> str:
    """``page`` with blanks for comments and for values that are generated already."""
    blank = re.compile(r"[^\n]")
    page = _VALUE.sub(lambda match: blank.sub(" ", match[0]), page)
    # Region markers stay: they tell what is generated.
    return _COMMENT.sub(
        lambda match: match[0] if _REGION.match(match[0]) else blank.sub(" ", match[0]), page
    )


def _paragraphs(page: str, tables: bool) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """The heading above and the lines, with offsets, of each paragraph, item or cell."""
    heading, fence, generated = "", "", False
    lines: list[tuple[int, str]] = []
    at = 0
    for line in [*page.splitlines(keepends=True), "\n"]:
        start, at = at, at + len(line)
        bare = line.strip().lstrip("> ").strip()
        opened = _FENCE.match(line)
        region = _REGION.match(line)
        if region is not None:
            generated = region[1] == "begin"
        found = _HEADING.match(line)
        row = bare.startswith("|")
        ends = not bare or opened or fence or region or generated or found or row
        if lines and (ends or _ITEM.match(line.lstrip("> "))):
            yield heading, lines
            lines = []
        if opened and (not fence or opened[1].startswith(fence)):
            fence = "" if fence else opened[1]
        elif found and not fence:
            heading = found[2].strip()
        elif row and tables and not fence and not generated:
            for offset, cell in _cells(line):
                yield heading, [(start + offset, cell)]
        elif not ends or (lines and not ends):
            lines.append((start, line))


def _cells(line: str) -> Iterator[tuple[int, str]]:
    # One block for the line: its first cell says what the others are about.
    yield 0, line.replace("|", " ")


def _block(lines: list[tuple[int, str]]) -> _Block:
    block = _Block([], [], [], [])
    ticks = ""
    for start, line in lines:
        prefix = re.match(r"[\s>]*(?:[-*+]\s+)?", line)
        at = prefix.end() if prefix else 0
        if block.text and block.text[-1] != " ":
            _put(block, " ", start + at, False)
        while at < len(line):
            link = _LINK.match(line, at) if not ticks else None
            if line[at] == "`":
                run = re.match(r"`+", line[at:])
                assert run is not None
                ticks = "" if ticks == run[0] else (ticks or run[0])
                at += len(run[0])
                continue
            if link is not None:
                block.links.append(link[1])
                at = link.end()
                continue
            if line[at] not in "*[" or ticks:
                _put(block, " " if line[at].isspace() else line[at], start + at, bool(ticks))
            elif line[at] == "[":
                # A list of sizes is written in brackets, too: only links lose theirs.
                closing = line.find("]", at)
                if closing < 0 or not line.startswith("](", closing):
                    _put(block, "[", start + at, False)
            at += 1
    return block


def _put(block: _Block, text: str, offset: int, code: bool) -> None:
    block.text.append(text)
    block.offsets.append(offset)
    block.code.append(code)


def _sentences(heading: str, block: _Block, in_table: bool) -> Iterator[Sentence]:
    text = "".join(block.text)
    at = 0
    for stop in [*(match.end() for match in _STOP.finditer(text)), len(text)]:
        if text[at:stop].strip():
            yield Sentence(
                text[at:stop],
                tuple(block.offsets[at:stop]),
                tuple(block.code[at:stop]),
                text,
                at,
                tuple(block.links),
                heading,
                in_table,
            )
        at = stop
