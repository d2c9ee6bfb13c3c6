"""Generated regions of a file that somebody else owns: put in where there are none, else refilled.

Bytes in, bytes out. What stands around the regions is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from registry_tool.errors import InputError
from registry_tool.tables import document
from registry_tool.tables.document import TableError
from registry_tool.tables.structure import html_lines

_MARK = b"<!-- a heading? -->"
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True)
class Section:
    """A region with the heading that it stands under.

    ``heading`` is its text; None for a body that brings its own. ``body`` has ``\\n`` line ends.
    """

    name: str
    heading: str | None
    body: bytes


def new(title: str, lead: str, sections: Sequence[Section]) -> bytes:
    """A new file: a title, a line of prose, and the regions; its bodies are filled by `fill`."""
    parts = [f"# {title}\n\n{lead}\n".encode()]
    parts += [_section(section, b"\n") for section in sections]
    return b"".join(parts)


def fill(data: bytes, sections: Sequence[Section], path: str) -> bytes:
    """``data`` with the bodies of ``sections``, whose regions are put in if it has none at all.

    A region is put below the heading that the file has for it already, else at its end with a
    heading of its own. Raises TableError for markers that do not fit, InputError for a file that
    is no UTF-8 text.
    """
    _require_text(data, path)
    if not document.regions(data, path):
        data = _with_regions(data, sections)
    return document.splice(data, {section.name: section.body for section in sections}, path)


def refuse_edited(data: bytes, sections: Sequence[Section], path: str, fix: str) -> None:
    """Raise TableError if a region was edited by hand, and does not hold what it should anyway."""
    bodies = {section.name: section.body for section in sections}
    for region in document.regions(data, path):
        if region.edited and region.text != bodies.get(region.name):
            raise TableError(
                f"region {region.name!r} was edited by hand, and it is generated; words of your "
                "own go above its begin marker or below its end marker",
                path=path,
                line=region.start_line,
                fix=fix,
            )


def _require_text(data: bytes, path: str) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8 text; nothing is added to it", path=path, line=line) from None
    if "\0" in text:
        raise InputError("not a text file; nothing is added to it", path=path)


def _with_regions(data: bytes, sections: Sequence[Section]) -> bytes:
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    for section in sections:
        at = None if section.heading is None else _after_heading(data, section.heading)
        if at is not None:
            lead = b"" if data[:at].endswith((b"\n", b"\r")) else newline
            markers = newline + _markers(section.name, newline)
            # The markers are a block of their own: what follows must not run into them.
            data = data[:at] + lead + markers + newline + data[at:]
        else:
            lead = b"" if not data or data.endswith((b"\n", b"\r")) else newline
            data = data + lead + _section(section, newline)
    return data


def _section(section: Section, newline: bytes) -> bytes:
    heading = b""
    if section.heading is not None:
        heading = newline + b"## " + section.heading.encode() + newline
    return heading + newline + _markers(section.name, newline)


def _markers(name: str, newline: bytes) -> bytes:
    begin = f"<!-- registry:begin {name} -->".encode()
    return begin + newline + b"<!-- registry:end -->" + newline


def _after_heading(data: bytes, title: str) -> int | None:
    """Where the line after the heading ``title`` (`## TITLE`, any level) begins, or None."""
    pattern = re.compile(
        rb"^ {0,3}#{1,6}[ \t]+" + re.escape(title.encode()) + rb"[ \t]*:?[ \t]*(?:[ \t]#+[ \t]*)?$",
        re.M | re.I,
    )
    # `$` stands before `\n` only; a line of the same length keeps every offset.
    lines = data.replace(b"\r", b"\n")
    for match in pattern.finditer(lines):
        if _is_block(data, match.start(), match.end()):
            end = _LINE_END.match(data, match.end())
            return end.end() if end else len(data)
    return None


def _is_block(data: bytes, start: int, stop: int) -> bool:
    """Whether a line stands for itself, outside of code, comments, quotes and lists.

    A comment in its place would be one of its own just where a heading is one.
    """
    tried = data[:start] + _MARK + data[stop:]
    return any(line.start == start and not line.nested for line in html_lines(tried))
