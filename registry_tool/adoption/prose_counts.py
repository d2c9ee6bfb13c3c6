"""How many shapes a sentence says that a kernel has, against how many the rows are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from registry_tool.adoption.prose_found import Contradiction, PageText, flat
from registry_tool.adoption.prose_scope import Scopes
from registry_tool.adoption.prose_text import Sentence

_COUNT = re.compile(
    r"\b(?P<which>all|the|across the|these|for all)\s+(?P<number>\d{1,3}|two|three|four|five|six|"
    r"seven|eight|nine|ten|eleven|twelve)\s+(?P<what>(?:[\w-]+\s+){0,2})shapes\b",
    re.I,
)
_NUMBERS = dict(
    zip(
        (
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ),
        range(2, 13),
        strict=True,
    )
)
# "the four 2048-row entries": shapes whose first dim has that size.
_OF_SIZE = re.compile(
    r"\b(?:the|all)\s+(?P<number>\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|eleven|"
    r"twelve)\s+(?P<size>\d{2,})-row\s+(?:entries|rows|shapes)\b",
    re.I,
)
_ENUMERATED = re.compile(r"\s*(?:\(\d|:|keep|share|feed)")
_QUALIFIERS = {"tested", "verified", "recorded", "measured", "registry", "table"}


def find(path: str, page: PageText, sentence: Sentence, scopes: Scopes) -> Iterator[Contradiction]:
    """Counts of a kernel's shapes that are not their number."""
    kernel = scopes.kernel_of_page(path, page.text, sentence)
    if kernel is None:
        return
    for match in _COUNT.finditer(sentence.text):
        if scopes.names_model(sentence.text):
            continue
        words = set(match["what"].lower().split()) - scopes.words_of(kernel)
        if words - _QUALIFIERS or _ENUMERATED.match(sentence.text, match.end()):
            continue
        shapes = scopes.shapes_of(kernel)
        if _number(match) != len(shapes):
            yield _made(page, sentence, match, kernel, len(shapes), "shapes")
    for match in _OF_SIZE.finditer(sentence.text):
        size = int(match["size"])
        count = sum(shape[0] == size for shape in scopes.shapes_of(kernel))
        if _number(match) != count:
            yield _made(page, sentence, match, kernel, count, f"{size}-row shapes")


def _number(match: re.Match[str]) -> int:
    written = match["number"].lower()
    return int(written) if written.isdigit() else _NUMBERS[written]


def _made(
    page: PageText,
    sentence: Sentence,
    match: re.Match[str],
    kernel: str,
    count: int,
    what: str,
) -> Contradiction:
    return Contradiction(
        place=page.place(sentence, match.start("number"), match.end("number")),
        kind="count",
        kernel=kernel,
        field="shapes",
        message=f"{match['number']!r} {what}: the rows have {count}",
        rows=(),
        sentence=flat(sentence),
    )
