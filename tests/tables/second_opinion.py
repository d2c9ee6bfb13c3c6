"""markdown-it-py's reading of Markdown: the second opinion on what GitHub shows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def tables(data: bytes) -> list[tuple[list[list[str]], list[int]]]:
    """Cells as displayed and lines of the rows of each table, headings first."""
    found: list[tuple[list[list[str]], list[int]]] = []
    inside = False
    for token in _PARSER.parse(data.decode("utf-8-sig")):
        if token.type in ("table_open", "table_close"):
            inside = token.type == "table_open"
            if inside:
                found.append(([], []))
        elif inside and token.type == "tr_open":
            assert token.map is not None
            found[-1][0].append([])
            found[-1][1].append(token.map[0] + 1)
        elif inside and token.type == "inline":
            found[-1][0][-1].append(shown(token.children or []))
    return found


def shown(tokens: Iterable[Token]) -> str:
    """The text that inline tokens display; `<br>` is a new line."""
    parts = []
    for token in tokens:
        if token.type in ("text", "text_special", "code_inline"):
            parts.append(token.content)
        elif token.type == "html_inline" and re.fullmatch(r"<br\s*/?>", token.content, re.I):
            parts.append("\n")
        elif token.type == "image":
            parts.append(shown(token.children or []))
    return "".join(parts)


def html_lines(text: str, wanted: str) -> set[tuple[int, bool]]:
    """Lines of HTML blocks that hold ``wanted`` and stand for themselves; whether in a container.

    What is inside `<pre>` and its like, or inside a comment that spans lines, does not count.
    """
    found = set()
    depth = 0
    for token in _PARSER.parse(text):
        if token.type in ("blockquote_open", "list_item_open"):
            depth += 1
        elif token.type in ("blockquote_close", "list_item_close"):
            depth -= 1
        elif token.type == "html_block":
            assert token.map is not None
            lines = token.content.split("\n")
            first = lines[0].lstrip(" ")
            if re.match(r"<(?:pre|script|style|textarea|\?|!(?!--))", first):
                continue
            if first.startswith("<!--"):
                lines = lines[:1] if "-->" in lines[0] else []
            inside = False
            for at, line in enumerate(lines):
                if wanted in line and not inside:
                    found.add((token.map[0] + 1 + at, depth > 0))
                # A comment in an element goes on until its end.
                rest = line
                while (mark := "-->" if inside else "<!--") in rest:
                    rest = rest[rest.index(mark) + 2 :]
                    inside = not inside
    return found
