"""Claims without a figure that one method, or one tier, is faster than the others of its kernel.

Only claims about all shapes: a sentence that names shapes, models, tiles, or what it is faster
than, is left alone. Contradicted where the rows of most shapes say the opposite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from registry_tool.adoption.prose_found import Contradiction, PageText, flat
from registry_tool.adoption.prose_rows import Known
from registry_tool.adoption.prose_scope import Scopes, kind_named, shapes_named
from registry_tool.adoption.prose_text import Sentence

_FASTER = re.compile(r"(?P<lead>\(\s*|(?:\bis|\bare)\s+|\A\s*)(?P<word>faster)\b", re.I)
_COMPARED = re.compile(r"\s*(?:than|of|by|at|on|for|when|if|where|method|path|\d)\b", re.I)
_OTHER = re.compile(
    r"\b(?:padd\w+|large\w*|small\w*|sibling|f32|fp32|columns?|not|no)\b"
    r"|n't\b|\b(?:tile|herd)\w*\s*[=∈]",
    re.I,
)
_NAMED = 3


def find(path: str, page: PageText, sentence: Sentence, scopes: Scopes) -> Iterator[Contradiction]:
    """The claims of a sentence that the speeds of most shapes contradict."""
    kernel = scopes.kernel_of_page(path, page.text, sentence)
    if kernel is None or sentence.in_table:
        return
    spec = scopes.spec_of(kernel)
    rows = scopes.rows_of(kernel)
    if len(spec.variants) < 2 or scopes.names_model(sentence.text):
        return
    for match in _FASTER.finditer(sentence.text):
        clause = re.split(r"[;.]\s", sentence.text[: match.start("word")])[-1]
        if not clause.strip():
            # "... once per tile. Faster, but ...": of what the sentence before is about.
            clause = re.split(r"(?<=[.;])\s", sentence.block[: sentence.place].strip())[-1]
        if _COMPARED.match(sentence.text, match.end()) or _OTHER.search(clause):
            continue
        named = kind_named(clause, spec)
        if named is None or named == (None, None) or shapes_named(spec, rows, clause)[0]:
            continue
        slower, pairs = _slower(rows, *named)
        if len(slower) * 2 > pairs:
            yield _made(page, sentence, match, kernel, named[0] or named[1] or "", slower, pairs)


def _slower(
    rows: Sequence[Known], variant: str | None, precision: str | None
) -> tuple[list[Known], int]:
    """The rows that are meant and slower than another one of their shape; how many shapes."""
    of: dict[tuple[int, ...], list[Known]] = {}
    for row in rows:
        if row.values.get("throughput"):
            of.setdefault(tuple(row.record.shape.values()), []).append(row)
    slower, pairs = [], 0
    for group in of.values():
        meant = [
            row
            for row in group
            if row.record.variant == variant or (precision and row.record.precision == precision)
        ]
        others = [row for row in group if row not in meant]
        if not meant or not others:
            continue
        pairs += 1
        best = max(meant, key=lambda row: row.values["throughput"][0].high)
        speed = best.values["throughput"][0]
        if all(one.values["throughput"][0].low > speed.high for one in others):
            slower.append(best)
    return slower, pairs


def _made(
    page: PageText,
    sentence: Sentence,
    match: re.Match[str],
    kernel: str,
    name: str,
    slower: Sequence[Known],
    pairs: int,
) -> Contradiction:
    return Contradiction(
        place=page.place(sentence, match.start("word"), match.end("word")),
        kind="faster",
        kernel=kernel,
        field="throughput",
        message=f"{name!r} is slower than every other method at {len(slower)} of {pairs} shapes",
        rows=tuple(row.name for row in slower[:_NAMED]),
        sentence=flat(sentence),
    )
