"""Generated regions of a file that somebody else owns: put in where there are none, else refilled.

Bytes in, bytes out. What stands around the regions is never touched.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from registry_tool.errors import InputError
from registry_tool.tables import document
from registry_tool.tables.document import TableError
from registry_tool.tables.structure import html_lines

_MARK = b"<!-- a heading? -->"
_HEADING = re.compile(rb"^ {0,3}#{1,6}[ \t][^\n]*$", re.M)
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True)
class Section:
    """A region with the heading that it stands under.

    ``heading`` is its text; None for a body that brings its own. Below a heading that the file has
    already, and that ``kind`` (a regular expression) matches, ``below`` stands instead, which
    brings none. Bodies have ``\\n`` line ends.
    """

    name: str
    heading: str | None
    body: bytes
    kind: str | None = None
    below: bytes = b""


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
    return document.splice(data, _bodies(data, sections, path), path)


def refuse_edited(data: bytes, sections: Sequence[Section], path: str, fix: str) -> None:
    """Raise TableError if a region was edited by hand, and does not hold what it should anyway."""
    bodies = _bodies(data, sections, path)
    for region in document.regions(data, path):
        if region.edited and region.text != bodies.get(region.name):
            raise TableError(
                f"region {region.name!r} was edited by hand, and it is generated; words of your "
                "own go above its begin marker or below its end marker",
                path=path,
                line=region.start_line,
                fix=fix,
            )


def _bodies(data: bytes, sections: Sequence[Section], path: str) -> dict[str, bytes]:
    """The body of each of ``sections`` where its region stands in ``data``."""
    bodies = {section.name: section.body for section in sections}
    for section in sections:
        if section.kind is not None and _heading_above(data, section.name, section.kind, path):
            bodies[section.name] = section.below
    return bodies


def _heading_above(data: bytes, name: str, kind: str, path: str) -> bool:
    """Whether region ``name`` stands under a heading that ``kind`` matches, of the file's own."""
    above = b""
    at = 0
    for region in document.regions(data, path):
        begin = data.rindex(b"<!--", at, region.body_start)
        above += data[at:begin]
        if region.name == name:
            break
        at = region.checksum_stop
    else:
        return False
    lines = above.replace(b"\r", b"\n")
    for match in reversed(list(_HEADING.finditer(lines))):
        if _is_block(above, match.start(), match.end()):
            return _title(kind).fullmatch(match[0]) is not None
    return False


def _require_text(data: bytes, path: str) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "not UTF-8 text; nothing is added to it"
        fix = f"{_say_what(path)}   # save it as UTF-8, or give another --folder DIR"
        raise InputError(message, path=path, line=line, fix=fix) from None
    if "\0" in text:
        fix = f"{_say_what(path)}   # move it away, or give another --folder DIR"
        raise InputError("not a text file; nothing is added to it", path=path, fix=fix)


def _say_what(path: str) -> str:
    return shlex.join(["file", path])


def _with_regions(data: bytes, sections: Sequence[Section]) -> bytes:
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    for section in sections:
        kind = section.kind or (re.escape(section.heading) if section.heading else None)
        at = None if kind is None else _after_heading(data, kind)
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


def _title(kind: str) -> re.Pattern[bytes]:
    """Headings of any level whose title the regular expression ``kind`` matches."""
    return re.compile(
        rb"^ {0,3}#{1,6}[ \t]+(?:" + kind.encode() + rb")[ \t]*:?[ \t]*(?:[ \t]#+[ \t]*)?$",
        re.M | re.I,
    )


def _after_heading(data: bytes, kind: str) -> int | None:
    """Where the line after the first heading whose title ``kind`` matches begins, or None."""
    # `$` stands before `\n` only; a line of the same length keeps every offset.
    lines = data.replace(b"\r", b"\n")
    for match in _title(kind).finditer(lines):
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
