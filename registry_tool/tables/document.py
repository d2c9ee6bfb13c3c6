"""Generated regions of a hand-written Markdown document: find them, and splice new bodies in.

Bytes in, bytes out; what a body says is not its affair, and bytes outside a region are never
touched.

    <!-- registry:begin shapes -->
    ...
    <!-- registry:end 1f0c6a4b9d3e -->

The end marker carries a checksum of the body, so that an edit by hand can be told from a body
that is merely old. A marker in code, or in a comment that spans lines, is text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from registry_tool.errors import ToolError
from registry_tool.tables.structure import HtmlLine, html_lines

_ANY_MARKER = re.compile(rb"[ \t]*<!--[ \t]*registry:(begin|end)\b")
_BEGIN = re.compile(
    rb"[ \t]*<!--[ \t]*registry:begin[ \t]+([A-Za-z0-9][A-Za-z0-9._-]*?)[ \t]*-->[ \t]*([\r\n]*)"
)
_END = re.compile(
    rb"[ \t]*<!--[ \t]*registry:end()(?:[ \t]+([0-9A-Za-z]+))?([ \t]*)-->[ \t]*[\r\n]*"
)
_NEWLINE = re.compile(rb"\r\n?")
_CONFLICT = re.compile(rb"^(?:<{7} |={7}\r?$|>{7} )", re.M)


class TableError(ToolError):
    """A page cannot be generated or read back as it stands."""


@dataclass(frozen=True)
class Region:
    """One generated region; line numbers are those of its markers, from 1, counting ``\\n``.

    ``checksum`` is what the end marker says (None where it says nothing yet).
    """

    name: str
    start_line: int
    end_line: int
    body: bytes
    checksum: str | None
    edited: bool
    body_start: int
    newline: bytes
    checksum_start: int
    checksum_stop: int

    @property
    def text(self) -> bytes:
        """The body with ``\\n`` at the end of each line."""
        return normal(self.body)


@dataclass(frozen=True)
class _Begin:
    name: str
    number: int
    stop: int
    newline: bytes


def normal(body: bytes) -> bytes:
    """``body`` with ``\\n`` at the end of each line, whatever the document uses."""
    return _NEWLINE.sub(b"\n", body) if b"\r" in body else body


def checksum(body: bytes) -> str:
    """The checksum that an end marker carries for ``body``; newline style does not count."""
    return hashlib.sha256(normal(body)).hexdigest()[:12]


def regions(data: bytes, path: str | None = None) -> list[Region]:
    """The generated regions of ``data``, in order; raises TableError for markers that do not fit.

    ``path`` is only for the message.
    """
    found: list[Region] = []
    opened: _Begin | None = None
    if b"registry:" not in data:
        return found
    for line in html_lines(data):
        text = data[line.start : line.stop]
        kind = (_ANY_MARKER.search if line.nested else _ANY_MARKER.match)(text)
        if kind is None:
            continue
        if kind[1] == b"begin":
            opened = _begin(data, path, line, text, opened, found)
        else:
            found.append(_end(data, path, line, text, opened))
            opened = None
    if opened is not None:
        raise TableError(
            f"region {opened.name!r} begins here and has no end marker (one in code or in a "
            "comment does not count)",
            path=path,
            line=opened.number,
            fix=f"add a line after its table: <!-- registry:end -->{_after_conflict(data)}",
        )
    return found


def _begin(
    data: bytes,
    path: str | None,
    line: HtmlLine,
    text: bytes,
    opened: _Begin | None,
    found: list[Region],
) -> _Begin:
    match = _BEGIN.fullmatch(text)
    if match is None or line.nested:
        raise _malformed(path, line, "<!-- registry:begin NAME -->")
    name = match[1].decode()
    if opened is not None:
        raise TableError(
            f"region {name!r} begins inside region {opened.name!r}, which began on line "
            f"{opened.number} and has not ended",
            path=path,
            line=line.number,
            fix=f"end {opened.name!r} first: <!-- registry:end -->{_after_conflict(data)}",
        )
    earlier = next((region for region in found if region.name == name), None)
    if earlier is not None:
        raise TableError(
            f"region {name!r} is here a second time; the first is on line {earlier.start_line}",
            path=path,
            line=line.number,
            fix=f"delete one of the two{_after_conflict(data)}",
        )
    return _Begin(name, line.number, line.stop, match[2])


def _end(
    data: bytes, path: str | None, line: HtmlLine, text: bytes, opened: _Begin | None
) -> Region:
    match = _END.fullmatch(text)
    if match is None or line.nested:
        raise _malformed(path, line, "<!-- registry:end CHECKSUM -->")
    if opened is None:
        raise TableError(
            "an end marker without a begin marker before it",
            path=path,
            line=line.number,
            fix="delete the line, or add <!-- registry:begin NAME --> before the table"
            + _after_conflict(data),
        )
    body = data[opened.stop : line.start]
    stated = match[2].decode() if match[2] else None
    return Region(
        name=opened.name,
        start_line=opened.number,
        end_line=line.number,
        body=body,
        checksum=stated,
        edited=stated != checksum(body) if stated else bool(body.strip()),
        body_start=opened.stop,
        newline=opened.newline,
        checksum_start=line.start + (match.start(2) if stated else match.end(1)),
        checksum_stop=line.start + (match.end(2) if stated else match.end(3)),
    )


def _malformed(path: str | None, line: HtmlLine, wanted: str) -> TableError:
    where = " at the left margin, outside quotes and lists" if line.nested else ""
    return TableError(
        f"expected `{wanted}` alone on its line{where}",
        path=path,
        line=line.number,
        fix="mend the marker, or put it in code (`...`) if it is only text",
    )


def _after_conflict(data: bytes) -> str:
    if _CONFLICT.search(data) is None:
        return ""
    return "; in a merge, take one side first: git checkout --ours -- FILE && registry-tool render"


def splice(data: bytes, bodies: Mapping[str, bytes], path: str | None = None) -> bytes:
    """``data`` with the body of each region replaced; bodies have ``\\n`` at the end of each line.

    They are written with the newline of the region's begin marker. Raises TableError if the
    regions of ``data`` are not exactly those of ``bodies``. Edits by hand are overwritten: look
    at `Region.edited` first.
    """
    parts: list[bytes] = []
    at = 0
    known = regions(data, path)
    _require_same(known, bodies, path)
    for region in known:
        body = bodies[region.name]
        if region.text != body:
            stop = region.body_start + len(region.body)
            parts += [data[at : region.body_start], body.replace(b"\n", region.newline)]
            at = stop
        right = checksum(body)
        if region.checksum != right:
            mark = right if region.checksum else f" {right} "
            parts += [data[at : region.checksum_start], mark.encode()]
            at = region.checksum_stop
    return b"".join([*parts, data[at:]])


def _require_same(known: list[Region], bodies: Mapping[str, bytes], path: str | None) -> None:
    for region in known:
        if region.name not in bodies:
            names = ", ".join(bodies) or "none"
            raise TableError(
                f"unknown region {region.name!r}; this page has: {names}",
                path=path,
                line=region.start_line,
                fix="correct its name, or delete both of its markers",
            )
    missing = [name for name in bodies if name not in {region.name for region in known}]
    if missing:
        raise TableError(
            f"region {missing[0]!r} is missing (markers in code do not count)",
            path=path,
            line=1,
            fix=f"add two lines where its table belongs: <!-- registry:begin {missing[0]} --> and "
            "<!-- registry:end -->",
        )
