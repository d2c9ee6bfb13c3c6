"""The text of the pages with its places: which line, which kernel; what it states is not read."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from registry_tool.adoption.model import Adoption, Source

_SECTION = re.compile(r"^## .*", re.M)
_PARAGRAPH = re.compile(r"(?:(?!\n[ \t>]*\n).)+", re.S)
_STOP = re.compile(r"(?<=[.;!?])(?:\*\*)?\s+(?=[A-Z*`(_>])|\n\s*(?=[-*|] )")


@dataclass(frozen=True)
class Sentence:
    """A sentence of a page; ``kernel`` is the one that its page or its section is about."""

    file: str
    line: int
    kernel: str | None
    text: str

    @property
    def where(self) -> str:
        """``file:line`` of its first line."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Text:
    """A page as text."""

    source: Source
    adoption: Adoption

    @cached_property
    def text(self) -> str:
        """Its characters; what is no UTF-8 is replaced, since nothing here is written."""
        return self.source.data.decode("utf-8", "replace").replace("\r\n", "\n")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer(r"\n", self.text))]

    def line(self, offset: int) -> int:
        """The line of an offset, from 1."""
        return bisect_right(self._starts, offset)

    @cached_property
    def _sections(self) -> list[tuple[int, str | None]]:
        """First line of each section of the index, and the kernel that its tables are about."""
        firsts = [self.line(match.start()) for match in _SECTION.finditer(self.text)]
        found = []
        for first, last in zip(firsts, [*firsts[1:], len(self._starts) + 1], strict=False):
            kernels = {
                table.kernel
                for table in self.adoption.tables
                if table.file == self.source.name and first <= table.line < last and table.kernel
            }
            found.append((first, kernels.pop() if len(kernels) == 1 else None))
        return found

    def kernel(self, line: int) -> str | None:
        """The kernel that a line is about."""
        if self.source.kernel is not None:
            return self.source.kernel
        at = bisect_right([first for first, _ in self._sections], line) - 1
        return self._sections[at][1] if at >= 0 else None

    def sentences(self) -> Iterator[Sentence]:
        """The sentences of paragraphs, quotes and list items, and the cells of tables."""
        for paragraph in _PARAGRAPH.finditer(self.text):
            start = paragraph.start()
            for stop in [
                *(match.end() for match in _STOP.finditer(paragraph[0])),
                len(paragraph[0]),
            ]:
                raw = self.text[start : paragraph.start() + stop]
                body = re.sub(r"\n>?[ \t]*", " ", raw).strip(" >\n")
                if body:
                    lead = len(raw) - len(raw.lstrip(" >\n"))
                    line = self.line(start + lead)
                    yield Sentence(self.source.name, line, self.kernel(line), body)
                start = paragraph.start() + stop


def texts(adoption: Adoption) -> list[Text]:
    """The pages, without the JSON files."""
    return [Text(source, adoption) for source in adoption.sources if source.place != "json"]
