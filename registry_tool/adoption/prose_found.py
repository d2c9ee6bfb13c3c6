"""What is found in prose, as data: places of figures, values to show, contradictions.

How it is found is not its affair.
"""

from __future__ import annotations

from dataclasses import dataclass

from registry_tool.adoption.prose_text import Sentence
from registry_tool.tables.selector import Selector


@dataclass(frozen=True)
class Place:
    """Where a figure stands: byte offsets into ``file``, and the line, from 1."""

    file: str
    line: int
    start: int
    stop: int
    text: str

    @property
    def where(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Proposal:
    """A figure that an inline value would show, digit by digit.

    ``in_code`` says that it stands in a code span, where a marker would be text: the span has to
    end before it.
    """

    place: Place
    selector: Selector
    in_code: bool

    @property
    def marked(self) -> str:
        """What to write in place of the figure."""
        shown = self.place.text
        return f"<!-- registry:value {self.selector} -->{shown}<!-- /registry:value -->"


@dataclass(frozen=True)
class Contradiction:
    """A figure that the rows contradict: what it claims, and what they say.

    ``kind`` is `value`, `bound`, `range`, `every`, `best`, `worst`, `count`, `ratio`, `rank` or
    `exact`; ``rows`` are names
    of rows that show it. ``sentence`` is the sentence without emphasis.
    """

    place: Place
    kind: str
    kernel: str
    field: str
    message: str
    rows: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Reading:
    """What was found in prose; ``looked_at`` counts the figures that are about rows."""

    proposals: tuple[Proposal, ...]
    contradictions: tuple[Contradiction, ...]
    looked_at: int


class PageText:
    """A page as text, with the way back to its bytes."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.text = data.decode("utf-8", "surrogateescape")

    def place(self, sentence: Sentence, start: int, stop: int) -> Place:
        """Where the characters from ``start`` to before ``stop`` of a sentence stand."""
        first, last = sentence.offsets[start], sentence.offsets[stop - 1] + 1
        return Place(
            file=self.path,
            line=self.text.count("\n", 0, first) + 1,
            start=len(self.text[:first].encode("utf-8", "surrogateescape")),
            stop=len(self.text[:last].encode("utf-8", "surrogateescape")),
            text=self.text[first:last],
        )


def flat(sentence: Sentence) -> str:
    """A sentence in one line."""
    return " ".join(sentence.text.split())
