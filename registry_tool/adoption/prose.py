"""Figures in the prose of a registry: which a record can show, and which its rows contradict.

Precision before recall: a sentence that may speak of something else than rows (another tile, a
failed run, another project's kernel, a part of the rows that its words do not name) is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from registry_tool.adoption import (
    prose_counts,
    prose_exact,
    prose_faster,
    prose_ranks,
    prose_ratios,
)
from registry_tool.adoption.model import Adoption
from registry_tool.adoption.prose_figures import Figure, figures
from registry_tool.adoption.prose_found import (
    Contradiction,
    PageText,
    Place,
    Proposal,
    Reading,
    flat,
)
from registry_tool.adoption.prose_rows import Known, Span, known
from registry_tool.adoption.prose_scope import Scope, Scopes, is_near
from registry_tool.adoption.prose_text import Sentence, sentences
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.tables import inline
from registry_tool.tables.columns import error_text, speed_text
from registry_tool.tables.selector import MOST_DIGITS, Selector, SelectorError

__all__ = ["Contradiction", "Place", "Proposal", "Reading", "propose"]

# Claims that are no figure of one field: how many, how much faster, the first of all, exact.
_CLAIMS = (
    prose_counts.find,
    prose_ratios.find,
    prose_ranks.find,
    prose_exact.find,
    prose_faster.find,
)


def propose(
    pages: Mapping[str, bytes],
    source: Adoption | Iterable[Record],
    specs: Mapping[str, KernelSpec],
) -> Reading:
    """Read the prose of ``pages`` (path in the registry to bytes) against the rows of ``source``.

    Nothing is written. Pages that are not UTF-8 are read with replacement characters.
    """
    scopes = Scopes(known(source, specs), specs)
    proposals: list[Proposal] = []
    contradictions: list[Contradiction] = []
    looked_at = 0
    for path, data in pages.items():
        page = PageText(path, data)
        for sentence in sentences(page.text, tables=path.rpartition("/")[2] == "README.md"):
            for figure in figures(sentence):
                scope = scopes.of(path, page.text, sentence, figure)
                if scope is None:
                    continue
                looked_at += 1
                place = page.place(sentence, figure.start, figure.stop)
                found = _contradiction(place, sentence, figure, scope)
                if found is not None:
                    contradictions.append(found)
                    continue
                # A cell of a table is to be kept as a table, not as a value in a sentence.
                if sentence.in_table:
                    continue
                for part, functions in _parts(figure, scope):
                    words = _selector(path, part, functions, scope, specs)
                    if words is not None:
                        shown = page.place(sentence, part.start, part.stop)
                        in_code = any(sentence.code[part.start : part.stop])
                        proposals.append(Proposal(shown, words, in_code))
            for claims in _CLAIMS:
                for one in claims(path, page, sentence, scopes):
                    looked_at += 1
                    contradictions.append(one)
    return Reading(tuple(proposals), tuple(contradictions), looked_at)


# What a sentence speaks of when these words stand in it is no row, or none that can be told.
_OTHER_TILES = re.compile(
    r"\b(?:tile_?\w*|herd_\w+|m_input|lqp|nqt|hpu|ncs|num_\w+|heads_per_unroll|TILE_\w+|HERD_\w+)"
    r"\s*(?:=|>|<|∈|≥|≤)|\b(?:sweeps?|swept|tuning|forced|padd(?:ing|ed)|half[ -]array|halv\w+|"
    r"originally|earlier|previous\w*|instead|slower than|reps?)\b",
    re.I,
)
_BROKEN = re.compile(
    r"\b(?:corrupt\w*|garbage|NUMFAIL|silently|NaN|wrong|zeros?|bias|ULP|decoy)\b", re.I
)
_SUBSET = re.compile(
    r"\b(?:all|both|the)\s+(?:two|three|four|five|six|seven|eight|nine|ten|\d\d?)\b(?!-)"
    r"|\bboth\b|\bauto picks\b|\bprojections?\b|\bruns\b|\bcorrect configs\b|\bvariants?\b",
    re.I,
)
_UNIVERSAL = re.compile(
    r"\b(?:every|all|any|each|across|regardless|everywhere|always|identical across)\b"
    r"|\bflat (?:at|across)\b|\bnot (?:by )?(?:the |its )?(?:shape|size)\b",
    re.I,
)
_SUPERLATIVE = re.compile(r"\b(?:highest|fastest|peaks?|maximum|at best|up to)\b", re.I)
_FLOOR = re.compile(r"\bfloor\b", re.I)
_WORST = re.compile(r"\bworst(?:-case)?\b", re.I)
_CLAUSE_END = re.compile(r":\s")
_COVERAGE = 0.8
_ABOUT = 0.1
_NEAR = 0.03


def _contradiction(
    place: Place, sentence: Sentence, figure: Figure, scope: Scope
) -> Contradiction | None:
    timed = figure.field in ("throughput", "latency")
    # What a colon explains after a worst case may well speak of something broken.
    rest = sentence.text[figure.stop :]
    about = _CLAUSE_END.split(rest)[0] if is_near(_WORST, sentence.text, figure) else rest
    said = sentence.text[: figure.stop] + about
    if _BROKEN.search(said) or (timed and _OTHER_TILES.search(sentence.text)):
        return None
    if figure.kind == "range" and sentence.text.count("→") > 1:
        return None
    if figure.field == "latency" and is_near(_FLOOR, sentence.text, figure):
        return None
    rows = [row for row in scope.rows if row.values.get(figure.field)]
    if not rows:
        return None
    is_whole = len(rows) >= _COVERAGE * len(scope.rows)
    if _claims_extreme(sentence, figure, scope):
        # One row that goes further is enough, however many have no such figure.
        further = [row for row in rows if row.values[figure.field][0].low > figure.high]
        return _not_the_extreme(place, sentence, figure, scope, rows if is_whole else further)
    if not scope.is_specific and not is_whole:
        return None
    of_every_row = scope.is_specific or figure.kind != "is" or _UNIVERSAL.search(sentence.text)
    if not of_every_row and _OTHER_TILES.search(sentence.text):
        return None
    if scope.is_specific and (figure.kind in ("is", "range")):
        return _no_such_value(place, sentence, figure, scope, rows)
    if figure.kind == "is" and not _UNIVERSAL.search(sentence.text):
        return _no_such_value(place, sentence, figure, scope, rows)
    if scope.is_part or _SUBSET.search(sentence.text):
        return None
    return _not_all(place, sentence, figure, scope, rows)


def _no_such_value(
    place: Place, sentence: Sentence, figure: Figure, scope: Scope, rows: Sequence[Known]
) -> Contradiction | None:
    share = (_NEAR if scope.is_specific else _ABOUT) if figure.about else 0.0
    for row in rows:
        spans = [*row.values[figure.field], *row.sweeps.get(figure.field, ())]
        if any(_agree(figure, span, share) for span in spans):
            return None
    if figure.kind == "range" and _spans(figure, rows):
        return None
    several = len(rows) > 1
    said = (
        f"no row{' of these' if scope.is_specific else ''} has it: they have "
        f"{_range_text(figure, rows)}"
        if several
        else f"the row has {_range_text(figure, rows)}"
    )
    return _made(place, "value", sentence, figure, scope, said, rows)


def _spans(figure: Figure, rows: Sequence[Known]) -> bool:
    """Whether the ends of a range are the smallest and the largest of several rows."""
    low = min((row.values[figure.field][0] for row in rows), key=lambda span: span.low)
    high = max((row.values[figure.field][0] for row in rows), key=lambda span: span.high)
    return _close(figure.low, low, figure.half) and _close(figure.high, high, figure.half)


def _not_all(
    place: Place, sentence: Sentence, figure: Figure, scope: Scope, rows: Sequence[Known]
) -> Contradiction | None:
    share = _ABOUT if figure.about else 0.0
    outside = [row for row in rows if not _within(figure, row.values[figure.field][0], share)]
    if not outside:
        return None
    kind = {"is": "every", "range": "range"}.get(figure.kind, "bound")
    said = (
        f"{len(outside)} of {len(rows)} rows are outside of it: they have "
        f"{_range_text(figure, outside)}"
    )
    return _made(place, kind, sentence, figure, scope, said, outside)


def _claims_extreme(sentence: Sentence, figure: Figure, scope: Scope) -> bool:
    """Whether the words say that no row is faster, or that none is less accurate."""
    if scope.is_specific or figure.kind != "is":
        return False
    words = _SUPERLATIVE if figure.field == "throughput" else _WORST
    return figure.field != "latency" and is_near(words, sentence.text, figure)


def _not_the_extreme(
    place: Place, sentence: Sentence, figure: Figure, scope: Scope, rows: Sequence[Known]
) -> Contradiction | None:
    if scope.is_part or not rows:
        return None
    extreme = max(rows, key=lambda row: row.values[figure.field][0].high)
    share = _NEAR if figure.about else 0.0
    if _agree(figure, extreme.values[figure.field][0], share):
        return None
    what = "best" if figure.field == "throughput" else "worst"
    said = f"the {what} of {len(rows)} rows is {_range_text(figure, [extreme])}"
    return _made(place, what, sentence, figure, scope, said, [extreme])


def _agree(figure: Figure, span: Span, share: float) -> bool:
    """Whether the figure and a value can be roundings of one value, or of one range."""
    slack = (figure.half + span.half) * (1 + 1e-9) + share * max(abs(span.high), abs(figure.high))
    if figure.kind == "range":
        low, high = abs(figure.low - span.low), abs(figure.high - span.high)
        return max(low, high) <= slack
    if figure.kind == "at_most":
        return span.high - figure.high <= slack
    if figure.kind == "at_least":
        return figure.low - span.low <= slack
    return figure.low - span.high <= slack and span.low - figure.high <= slack


def _within(figure: Figure, span: Span, share: float) -> bool:
    slack = (figure.half + span.half) * (1 + 1e-9) + share * abs(figure.high)
    above = figure.kind != "at_least" and span.low - figure.high > slack
    below = figure.kind != "at_most" and figure.low - span.high > slack
    return not above and not below


def _close(value: float, span: Span, half: float) -> bool:
    return span.low - value <= half + span.half and value - span.high <= half + span.half


def _range_text(figure: Figure, rows: Sequence[Known]) -> str:
    spans = [row.values[figure.field][0] for row in rows]
    show = speed_text if figure.field in ("throughput", "latency") else error_text
    low, high = show(min(one.low for one in spans)), show(max(one.high for one in spans))
    return low if low == high else f"{low} to {high}"


def _made(
    place: Place,
    kind: str,
    sentence: Sentence,
    figure: Figure,
    scope: Scope,
    said: str,
    rows: Sequence[Known],
) -> Contradiction:
    names = tuple(row.name for row in rows[:_NAMED])
    message = f"{figure.field} {place.text!r}: {said}"
    return Contradiction(place, kind, scope.kernel, figure.field, message, names, flat(sentence))


_NAMED = 3


def _parts(figure: Figure, scope: Scope) -> Iterator[tuple[Figure, Sequence[str]]]:
    """A figure with the function of its words, and others that have to show the same.

    Of `17.8 → 27.0` each end stands on its own.
    """
    ends = _ARROW.split(figure.written)
    if len(ends) != 2:
        yield figure, _functions(figure, scope)
        return
    extremes = ("worst", "best") if figure.field == "throughput" else ("best", "worst")
    starts = (figure.start, figure.stop - len(ends[1]))
    for written, start, function in zip(ends, starts, extremes, strict=True):
        stop = start + len(written)
        yield replace(figure, kind="is", written=written, start=start, stop=stop), (function,)


_ARROW = re.compile(r"\s*→\s*")


def _selector(
    path: str,
    figure: Figure,
    functions: Sequence[str],
    scope: Scope,
    specs: Mapping[str, KernelSpec],
) -> Selector | None:
    """The simplest selection over the scope that shows just what is written."""
    spec = specs[scope.kernel]
    home = inline.home_of(path, specs, [""])
    kernel = None if home.kernel == scope.kernel else scope.kernel
    wanted = figure.written.replace("-", "–") if figure.kind == "range" else figure.written
    wanted = re.sub(r"(?<=[e])–", "-", wanted).replace(" ", "")
    records = [row.record for row in scope.all_rows]
    for dims, variant, precision in scope.selections():
        for digits in (None, figure.digits):
            for unit in (None, False) if figure.field in ("throughput", "latency") else (None,):
                words = Selector(
                    functions[0],
                    figure.field,
                    kernel=kernel,
                    variant=variant,
                    precision=precision,
                    dims=dims,
                    digits=digits if digits and digits <= MOST_DIGITS else None,
                    unit=unit,
                )
                alike = [words, *(replace(words, function=other) for other in functions[1:])]
                if all(_shows(one, spec, records) == wanted for one in alike):
                    return words
    return None


def _shows(words: Selector, spec: KernelSpec, records: Sequence[Record]) -> str | None:
    try:
        return inline.project(words, spec, "hardware", "", records)
    except SelectorError:
        return None


def _functions(figure: Figure, scope: Scope) -> Sequence[str]:
    if figure.kind == "range":
        return ("range",)
    more_is_better = figure.field == "throughput"
    if figure.kind != "is":
        return ("best",) if more_is_better == (figure.kind == "at_most") else ("worst",)
    if scope.is_specific or scope.is_superlative:
        return ("best",)
    # One figure for all rows: a range would grow a second one, the worst row stays one.
    return ("worst", "best")
