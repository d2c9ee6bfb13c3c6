"""A review for a person at a terminal: counts first, then what blocks, then row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from registry_tool.report import review_words as words
from registry_tool.report import text
from registry_tool.report.escape import short, start
from registry_tool.review.model import Review

_SHOWN = 200
"""Lines of one section; a longer one is for programs (`--format json`)."""
_WIDTH = 500


def write_review(review: Review, way: str) -> str:
    """The review; ``way`` is put before the paths of findings."""
    return "\n".join([*_head(review), *_body(review, way)])


def _head(review: Review) -> Iterator[str]:
    yield start(f"review {words.span(review)} ({review.title})")
    yield start("; ".join(words.counts(review)))
    if review.unjudged:
        yield start(f"the commits in between were not judged: {review.unjudged}")


def _body(review: Review, way: str) -> Iterator[str]:
    errors, elsewhere, others = words.findings(review)
    if errors:
        yield from ("", "what blocks", *text.lines(errors, way))
    if elsewhere:
        title = "what blocks where this change did nothing"
        yield from ("", title, *text.lines(elsewhere, way))
    for row in islice(review.rows, _SHOWN):
        yield ""
        yield _line(f"{row.kind} {words.title(row)}")
        yield from (_line(f"    {one}") for one in islice(words.row_lines(row), _SHOWN))
    if len(review.rows) > _SHOWN:
        yield f"\nand {len(review.rows) - _SHOWN:,} more rows; --format json has all of them"
    moved, met = words.moves(review)
    yield from _section("needs of models", [
        *map(words.need, moved),
        *(f"{model}: {words.many(number, 'need')} newly met" for model, number in met.items()),
    ])  # fmt: skip
    yield from _section("lookup answers", map(words.answer, words.altered(review)))
    yield from _section("pages, policy and models", words.measures(review))
    yield from _section("verdicts", words.run_lines(review.verdicts))
    yield from _section("stale evidence", words.stale(review))
    yield from _section("debt", words.debt(review))
    if others:
        yield from ("", "warnings", *text.lines(others, way))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from ("", title)
        yield from (_line(f"  {one}") for one in found[:_SHOWN])
    if len(found) > _SHOWN:
        yield f"  and {len(found) - _SHOWN:,} more; --format json has all of them"


def _line(words_: str) -> str:
    return start(short(words_, _WIDTH))
