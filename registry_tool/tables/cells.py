"""The text of one table cell, written so that GitHub shows exactly that text.

Only what would mean something to Markdown is escaped, so that the source stays readable. A cell of
several lines is written with `<br>` between them.
"""

from __future__ import annotations

import re

# What Markdown would read as something else; an underscore between letters or digits is safe.
_ESCAPED = re.compile(
    r"""(?P<punctuation>[`*\[~$|]|(?<![^\W_])_|_(?![^\W_]))
      | (?P<tag><(?=[A-Za-z/!?]))
      | (?P<entity>&(?=[A-Za-z0-9\#]))
      | (?P<newline>\n)
      | (?P<backslash>\\)
      | (?P<space>\A[^\S\x85]|[^\S\x85]\Z|[\x00-\x1f\x7f\u2028\u2029])""",
    re.X,
)
# A backslash is not doubled: some readers take what follows the second one for escaped.
_WORDS = {"tag": "&lt;", "entity": "&amp;", "newline": "<br>", "backslash": "&#92;"}
# Text without any of these, and without space at its ends, needs no closer look.
_SUSPECT = re.compile(r"[\\`*_\[<&~$|\x00-\x1f\x7f\u2028\u2029]")
# GitHub makes links of these, and shows what they are as it stands in the source.
_LINK = re.compile(r"://|www\.", re.I)
_WORD = re.compile(r"\S+")
_LINK_MARK = re.compile(r":(?=//)|(?<=www)\.", re.I)


def escape(text: str) -> str:
    """The source of a cell that shows ``text``."""
    if _SUSPECT.search(text) is None and text == text.strip():
        return text
    source = _ESCAPED.sub(_replacement, text)
    if source == text or _LINK.search(source) is None:
        return source
    return _WORD.sub(_plain_link, source)


def link(text: str, target: str) -> str:
    """The source of a cell that shows ``text`` as a link; ``target`` is a plain relative path."""
    return f"[{escape(text).replace(']', chr(92) + ']')}]({target})"


def row(cells: list[str]) -> str:
    """The line of a table row, of cell sources."""
    return "| " + " | ".join(cells) + " |"


def _replacement(match: re.Match[str]) -> str:
    found = match[0]
    kind = match.lastgroup or ""
    if kind == "punctuation":
        return "\\" + found
    return _WORDS.get(kind) or f"&#{ord(found)};"


def _plain_link(match: re.Match[str]) -> str:
    """A URL that had to be escaped must not become a link: it would show the escapes."""
    found = match[0]
    if ("\\" in found or "&" in found) and _LINK.search(found) is not None:
        return _LINK_MARK.sub(r"\\\g<0>", found)
    return found
