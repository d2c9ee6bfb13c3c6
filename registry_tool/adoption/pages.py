"""The pages of an existing registry as text: lines outside code and comments, headings, sections.

What does not end, or is no UTF-8, is refused with file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from registry_tool.adoption.model import Place
from registry_tool.errors import InputError

_LINE_END = re.compile(r"\r\n|\r|\n")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*")
_SETEXT = re.compile(r" {0,3}(=+|-+)\s*")
DELIMITER = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*|\s*\|\s*:?-+:?\s*\|\s*")


@dataclass(frozen=True)
class Heading:
    """A heading, ``level`` 1 to 6."""

    line: int
    level: int
    text: str


@dataclass(frozen=True)
class Page:
    """A page as text: its lines outside code and comments, with their numbers."""

    name: str
    path: Path
    place: Place
    data: bytes
    lines: tuple[tuple[int, str], ...]
    headings: tuple[Heading, ...]

    def trail(self, line: int) -> list[Heading]:
        """The headings above a line, outermost first."""
        found: list[Heading] = []
        for heading in self.headings:
            if heading.line > line:
                break
            while found and found[-1].level >= heading.level:
                found.pop()
            found.append(heading)
        return found

    def lead(self, line: int) -> str:
        """The paragraph that ends before a line, within its section."""
        top = max((heading.line for heading in self.headings if heading.line < line), default=0)
        before = [text for number, text in self.lines if top < number < line]
        while before and not before[-1].strip():
            before.pop()
        paragraph: list[str] = []
        while before and before[-1].strip() and not before[-1].lstrip().startswith("|"):
            paragraph.insert(0, before.pop().strip())
        return " ".join(paragraph)

    def section(self, line: int) -> str:
        """The text from the heading above a line to that line."""
        top = max((heading.line for heading in self.headings if heading.line < line), default=0)
        return "\n".join(text for number, text in self.lines if top < number < line)

    def error(self, message: str, line: int, fix: str | None = None) -> InputError:
        """What is wrong with the page, at a line."""
        return InputError(message, path=self.path, line=line, fix=fix)


def load(name: str, path: Path, place: Place, data: bytes) -> Page:
    """The page in ``data``; raises InputError if it is not UTF-8 or breaks off in the middle."""
    text = decoded(path, data)
    lines, headings = _outline(text, path)
    page = Page(name, path, place, data, tuple(lines), tuple(headings))
    _check_end(page, text)
    _refuse_controls(page)
    return page


def _refuse_controls(page: Page) -> None:
    """No cell may hold what nobody sees and no layout can keep, as a form feed."""
    for line, text in page.lines:
        found = _CONTROL.search(text) if "|" in text else None
        if found is not None:
            raise page.error(
                f"a row holds the control character U+{ord(found[0]):04X}, which nobody sees",
                line,
                fix=f"tr -d '\\{ord(found[0]):03o}' < {page.path} > {page.path}.new "
                f"&& mv {page.path}.new {page.path}",
            )


def decoded(path: Path, data: bytes) -> str:
    """UTF-8 text, with or without a byte order mark; raises InputError for any other encoding."""
    for mark, encoding in ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16")):
        if data.startswith(mark):
            raise InputError(
                f"the file is {encoding}, not UTF-8", path=path, line=1, fix=_iconv(encoding, path)
            )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if error.reason == "unexpected end of data" and error.end >= len(data):
            raise InputError(
                "the file breaks off inside a character: it is truncated",
                path=path,
                line=line,
                fix=f"git checkout -- {path} (or fetch the whole file again)",
            ) from None
        raise InputError(
            f"not UTF-8: byte 0x{data[error.start]:02x}; it may be Windows-1252",
            path=path,
            line=line,
            fix=_iconv("WINDOWS-1252", path),
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(
            "the file holds a NUL character: it is no text, or damaged",
            path=path,
            line=line,
            fix=f"git checkout -- {path} (or fetch the whole file again)",
        )
    return text


def _iconv(encoding: str, path: Path) -> str:
    return f"iconv -f {encoding} -t UTF-8 {path} > {path}.utf8 && mv {path}.utf8 {path}"


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """Lines with the number that an editor shows: it counts ``\\n``."""
    number = 1
    start = 0
    for match in _LINE_END.finditer(text):
        yield number, text[start : match.start()]
        number += match[0].endswith("\n")
        start = match.end()
    if start < len(text):
        yield number, text[start:]


def _outline(text: str, path: Path) -> tuple[list[tuple[int, str]], list[Heading]]:
    """The lines outside code fences and comments, and the headings among them."""
    lines: list[tuple[int, str]] = []
    headings: list[Heading] = []
    fence: tuple[str, int] | None = None
    comment: int | None = None
    for number, line in _numbered(text):
        mark = _FENCE.match(line)
        if fence is not None:
            closes = mark is not None and mark[1].startswith(fence[0])
            if closes and not line.strip().strip("`~"):
                fence = None
            continue
        if comment is not None or line.lstrip().startswith("<!--"):
            comment = comment or number
            if "-->" in line:
                comment = None
            continue
        if mark is not None:
            fence = mark[1], number
            continue
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            headings.append(Heading(number, len(heading[1]), bare(heading[2] or "")))
        elif _SETEXT.fullmatch(line) and lines and lines[-1][0] == number - 1:
            title = lines[-1][1].strip()
            if title and not title.startswith(("|", ">", "-", "*", "<")):
                headings.append(Heading(number - 1, 1 if "=" in line else 2, bare(title)))
        lines.append((number, line))
    for what, opened in (("code fence", fence and fence[1]), ("comment", comment)):
        if opened:
            raise InputError(
                f"the {what} that starts here never ends: the page is truncated or damaged",
                path=path,
                line=opened,
                fix="close it, or fetch the whole file again",
            )
    return lines, headings


def bare(text: str) -> str:
    """Text without emphasis and code marks, in one line."""
    return " ".join(re.sub(r"[`*]", "", text).split())


def _check_end(page: Page, text: str) -> None:
    """A page whose last line is a row without its end was cut off."""
    if not page.lines:
        raise page.error("the page is empty", 1, "fetch the whole file again")
    number, last = page.lines[-1]
    before = page.lines[-2][1] if len(page.lines) > 1 else ""
    opened = last.lstrip().startswith("|") and before.lstrip().startswith("|")
    closed = last.rstrip().endswith("|") and not last.rstrip().endswith("\\|")
    if opened and before.rstrip().endswith("|") and not closed:
        raise page.error(
            "the page breaks off inside a table row: it is truncated",
            number,
            "fetch the whole file again",
        )
    # Half of the last CRLF: a file that ends its lines with CR alone has no LF at all.
    is_cut = text.endswith("\r") and "\n" in text
    if is_cut or not text.endswith(("\n", "\r")):
        raise page.error(
            "the page does not end with the end of a line: it may be truncated",
            number,
            f"fetch the whole file again; if it is whole: echo >> {page.path}",
        )
    written = [line for line in page.lines if line[1].strip()]
    ends_in_heading = written and _HEADING.fullmatch(written[-1][1]) is not None
    if ends_in_heading and len(written) > 1 and b"registry:begin" not in page.data:
        raise page.error(
            "the page ends with a heading and nothing under it: it is truncated",
            written[-1][0],
            "fetch the whole file again, or take the heading out",
        )
    if DELIMITER.fullmatch(last) and "|" in before:
        raise page.error(
            "the table has a header and no row: the page is truncated",
            page.lines[-2][0],
            "fetch the whole file again, or take the table out",
        )
