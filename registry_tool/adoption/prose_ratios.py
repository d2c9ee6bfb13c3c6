"""Ratios in prose, held against the rows or against the figures of their own parenthesis.

Three forms: one method "1.5-1.7x faster" than the other at every shape; "~7% (8898 vs 9797)";
shapes that "run within 5% of each other". A ratio that is said of some shapes only is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from registry_tool.adoption.prose_figures import half_unit
from registry_tool.adoption.prose_found import Contradiction, PageText, flat
from registry_tool.adoption.prose_rows import Known, Span
from registry_tool.adoption.prose_scope import Scopes, shapes_named
from registry_tool.adoption.prose_text import Sentence

_N = r"\d+(?:\.\d+)?"
_FASTER = re.compile(
    rf"(?P<about>[~≈]|about |around )?(?P<low>{_N})(?:\s*[–—-]\s*(?P<high>{_N}))?"
    r"\s*[×x]\s+faster\b",
    re.I,
)
# Words that say that a ratio holds for a part of the rows, or of something else than methods.
_PART = re.compile(
    r"\b(?:large\w*|small\w*|thin|wide|up to|at best|most\w*|some|typical\w*|often|columns?|herd\w*"
    r"|tile\w*|knob|seq\w*|padd\w*|launch|default|shapes? where|CPU|GPU"
    r"|than (?:the )?(?:old|before))\b|\w+\s?=\s?\d",
    re.I,
)
_PRODUCT = re.compile(r"(?<![\w.×])\d+(?:×\d+)+")
_SELF = re.compile(
    rf"(?P<about>[~≈]|about |around )?(?P<share>{_N})\s?%(?P<words>[^()%.;]{{0,40}})"
    rf"\((?P<left>[\w -]*?)(?<![\w.])(?P<one>{_N})\s*(?P<unit>[GT]FLOP\S*|GB/s|[µm]s)?"
    rf"\s+(?:vs\.?|versus|against)\s+(?P<right>[\w -]*?)(?<![\w.])(?P<other>{_N})[^()]*\)"
)
_WITHIN = re.compile(
    rf"\b(?:run|runs|are|is|land|lands|stay|stays)\s+within\s+(?P<about>[~≈])?(?P<share>{_N})"
    r"\s?%\s+of\s+(?:each other|one another)",
    re.I,
)
_ABOUT = 0.1
_NAMED = 3


def find(path: str, page: PageText, sentence: Sentence, scopes: Scopes) -> Iterator[Contradiction]:
    """The ratios of a sentence that its rows, or its own figures, contradict."""
    kernel = scopes.kernel_of_page(path, page.text, sentence)
    if kernel is None:
        return
    rows = scopes.rows_of(kernel)
    for match in _FASTER.finditer(sentence.text):
        said = _of_methods(match, sentence, kernel, scopes)
        if said is not None:
            yield _made(page, sentence, match, kernel, *said)
    for match in _SELF.finditer(sentence.text):
        message = _of_itself(match)
        if message is not None:
            yield _made(page, sentence, match, kernel, message, ())
    for match in _WITHIN.finditer(sentence.text):
        message, apart = _of_each_other(match, sentence, kernel, rows, scopes)
        if message is not None:
            yield _made(page, sentence, match, kernel, message, apart)


def _of_methods(
    match: re.Match[str], sentence: Sentence, kernel: str, scopes: Scopes
) -> tuple[str, Sequence[Known]] | None:
    """One of two methods, faster by so much; the other is what the kernel has beside it."""
    spec = scopes.spec_of(kernel)
    text = sentence.text[: match.start()]
    around = sentence.text[match.start() - 60 if match.start() > 60 else 0 : match.end() + 60]
    clause = re.split(r"[;:]", around[: around.find(match[0]) + len(match[0])])[-1]
    after = re.split(r"[.;—]", sentence.text[match.end() :])[0]
    if len(spec.variants) != 2 or _PART.search(clause.replace(match[0], "")) or _PART.search(after):
        return None
    named = [name for name in spec.variants if re.search(rf"(?<![\w-]){name}(?![\w-])", text)]
    if not named:
        return None
    fast = max(named, key=text.rfind)
    slow = next(name for name in spec.variants if name != fast)
    low, high = float(match["low"]), float(match["high"] or match["low"])
    half = max(half_unit(match["low"]), half_unit(match["high"] or match["low"]))
    share = 0.05 if match["about"] else 0.0
    outside: list[tuple[Known, float]] = []
    pairs = _pairs(scopes.rows_of(kernel), fast, slow)
    for row, (least, most) in pairs:
        if most < (low - half) * (1 - share) or least > (high + half) * (1 + share):
            outside.append((row, (least + most) / 2))
    if not outside:
        return None
    ratios = [ratio for _, ratio in outside]
    shown = " to ".join(dict.fromkeys(f"{ratio:.2f}" for ratio in (min(ratios), max(ratios))))
    message = (
        f"{fast} over {slow} at {len(outside)} of {len(pairs)} shapes is outside of it: {shown}"
    )
    return message, [row for row, _ in outside]


def _pairs(rows: Sequence[Known], fast: str, slow: str) -> list[tuple[Known, tuple[float, float]]]:
    """Each shape that both methods have, with the least and the greatest ratio of its speeds."""
    of: dict[tuple[int, ...], dict[str | None, Known]] = {}
    for row in rows:
        if row.values.get("throughput"):
            of.setdefault(tuple(row.record.shape.values()), {})[row.record.variant] = row
    found = []
    for methods in of.values():
        if fast in methods and slow in methods:
            one, other = _speed(methods[fast]), _speed(methods[slow])
            least = (one.low - one.half) / (other.high + other.half)
            most = (one.high + one.half) / max(other.low - other.half, 1e-12)
            found.append((methods[fast], (least, most)))
    return found


def _speed(row: Known) -> Span:
    return row.values["throughput"][0]


def _of_itself(match: re.Match[str]) -> str | None:
    """A share that the two figures beside it do not give, whichever of them is the whole."""
    one, other = float(match["one"]), float(match["other"])
    if not one or not other or one == other:
        return None
    share, half = float(match["share"]), half_unit(match["share"])
    slack = half + (_ABOUT * share if match["about"] else 0.0)
    apart = [abs(one - other) / whole * 100 for whole in (one, other)]
    if any(abs(found - share) <= slack for found in apart):
        return None
    # A share of something else than of these two is none of their ratio.
    if min(apart) > 3 * share or max(apart) < share / 3:
        return None
    low, high = sorted(apart)
    return f"{match['one']} and {match['other']} are {low:.1f} to {high:.1f} % apart"


def _of_each_other(
    match: re.Match[str], sentence: Sentence, kernel: str, rows: Sequence[Known], scopes: Scopes
) -> tuple[str | None, Sequence[Known]]:
    """Shapes that a sentence names, of one method, whose speeds are further apart than it says."""
    # Those that stand last before it, however many the sentence has named.
    products = list(_PRODUCT.finditer(sentence.text, 0, match.start()))
    if len(products) < 2:
        return None, ()
    pair = sentence.text[products[-2].start() : match.start()]
    named, found = shapes_named(scopes.spec_of(kernel), rows, pair)
    found = [row for row in found if row.values.get("throughput")]
    if not named or len(found) < 2:
        return None, ()
    most = float(match["share"]) + half_unit(match["share"])
    by_method: dict[str | None, list[Known]] = {}
    for row in found:
        by_method.setdefault(row.record.variant, []).append(row)
    closest: tuple[float, list[Known]] | None = None
    for group in by_method.values():
        if len({tuple(row.record.shape.values()) for row in group}) < 2:
            continue
        speeds = [_speed(row) for row in group]
        low, high = (
            min(one.high + one.half for one in speeds),
            max(one.low - one.half for one in speeds),
        )
        apart = (high / low - 1) * 100
        if closest is None or apart < closest[0]:
            closest = apart, group
    if closest is None or closest[0] <= most:
        return None, ()
    speeds_shown = " and ".join(f"{_speed(row).high:g}" for row in closest[1])
    return f"the rows have {speeds_shown}, {closest[0]:.0f} % apart", closest[1]


def _made(
    page: PageText,
    sentence: Sentence,
    match: re.Match[str],
    kernel: str,
    message: str,
    rows: Sequence[Known],
) -> Contradiction:
    first = "low" if "low" in match.re.groupindex else "share"
    last = "high" if first == "low" and match["high"] else first
    place = page.place(sentence, match.start(first), match.end(last))
    unit = "×" if first == "low" else "%"
    return Contradiction(
        place=place,
        kind="ratio",
        kernel=kernel,
        field="throughput",
        message=f"ratio '{match.string[match.start(first) : match.end(last)]}{unit}': {message}",
        rows=tuple(row.name for row in rows[:_NAMED]),
        sentence=flat(sentence),
    )
