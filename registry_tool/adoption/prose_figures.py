"""Figures in a sentence: what is measured, how it is written, and what the words claim of it.

Whether the figure is right is not its affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from registry_tool.adoption.prose_text import Sentence

# `is`: one value · `range`: two ends · `at_most`, `at_least`: a bound
Kind = Literal["is", "range", "at_most", "at_least"]

_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_TO = r"\s*(?:–|—|→|-|to)\s*"
_UNITS = {
    "GFLOP/s": ("throughput", "gflops", 1.0),
    "GFLOPS": ("throughput", "gflops", 1.0),
    "GF/s": ("throughput", "gflops", 1.0),
    "TFLOP/s": ("throughput", "gflops", 1e3),
    "TFLOPS": ("throughput", "gflops", 1e3),
    "GB/s": ("throughput", "gbps", 1.0),
    "µs": ("latency", None, 1.0),
    "μs": ("latency", None, 1.0),
    "us": ("latency", None, 1.0),
    "ms": ("latency", None, 1e3),
}
_SIGN = r"(?P<sign>[~≈≤≥<>]|up to|about|only|around)?\s*"
_WITH_UNIT = re.compile(
    rf"(?<![\w.·×/^=-]){_SIGN}(?P<low>{_NUMBER})(?P<low_k>[KT])?"
    rf"(?:{_TO}~?(?P<high>{_NUMBER})(?P<high_k>K)?)?"
    rf"\s*(?P<unit>{'|'.join(map(re.escape, _UNITS))})(?![\w/])"
)
_LABELS = {
    "mean_rel_L1": "mean_rel_L1",
    "abs_err max": "max_abs",
    "max_abs": "max_abs",
    "rel_err max": "max_rel",
    "max_rel": "max_rel",
    "worst-case abs_err": "max_abs",
    # An absolute tolerance is sized to it: "atol (1.5e-3) is below the worst-case (2.4e-3)".
    "worst-case": "max_abs",
}
# Labels of figures that are no row's: after one of these a bare number is not an accuracy.
_OTHERS = ("rtol", "atol", "abs_err", "rel_err", "eps", "theta", "diff", "tolerance")
_LABEL = re.compile(
    r"(?<![\w.])(worst-case abs_err|worst-case(?=\s*\(\d)|abs_err max|rel_err max|mean_rel_L1"
    r"|max_abs|max_rel|" + "|".join(_OTHERS) + r")\b",
    re.I,
)
_EXPONENT = re.compile(
    rf"(?<![\w.·×/^-]){_SIGN}\[?(?P<low>{_NUMBER})(?:(?:{_TO}|,\s*)(?P<high>{_NUMBER}))?(?![\w%×.]*\w)"
)
_CUE = re.compile(
    r"\b(?:PASS(?:ES|ED)?|passes|verified|bit-identical|tier|clean|in-tier|measured|exact|lands?"
    r"|accura\w+|accumulate|truncation|precision)\b"
)
_BETWEEN = re.compile(r"[\s=≈≤~<>:∈\[(]*(?:is|of|stays|at|sits|flat)?[\s=≈≤~<>:∈\[(]*\Z")


@dataclass(frozen=True)
class Figure:
    """A figure in prose, in the unit of records: GFLOP/s or GB/s, µs, or none.

    ``start`` and ``stop`` are its place in the sentence, without unit and sign; ``half`` is half a
    unit of the last digit. ``metric`` is the unit's, None where any fits.
    """

    field: str
    kind: Kind
    low: float
    high: float
    half: float
    digits: int
    about: bool
    metric: str | None
    start: int
    stop: int
    written: str


def figures(sentence: Sentence) -> Iterator[Figure]:
    """The figures of a sentence that are of a kind that rows have, in order."""
    found = [*_with_unit(sentence.text), *_accuracies(sentence.text)]
    yield from sorted(found, key=lambda figure: figure.start)


def _with_unit(text: str) -> Iterator[Figure]:
    for match in _WITH_UNIT.finditer(text):
        before = text[: match.start()].rstrip()
        # The last of a list, whose first ones have no unit of their own.
        if before.endswith(("/", "=", "×", "·")):
            continue
        field, metric, scale = _UNITS[match["unit"]]
        factor = scale * (1e3 if match["low_k"] == "K" or match["high_k"] else 1.0)
        yield _figure(match, field, metric, factor, "K" in (match["low_k"], match["high_k"]))


def _accuracies(text: str) -> Iterator[Figure]:
    labels = list(_LABEL.finditer(text))
    for match in _EXPONENT.finditer(text):
        label = next((one for one in reversed(labels) if one.end() <= match.start()), None)
        ends = [match["low"], match["high"] or match["low"]]
        if label is not None and _BETWEEN.fullmatch(text[label.end() : match.start("low")]):
            field = _LABELS.get(label[1])
            if label[1] == "worst-case" and "atol" not in text:
                field = None
        elif any("e-" in end for end in ends) and _is_cued(text, match, label):
            field = "mean_rel_L1"
        else:
            field = None
        if field is not None and _looks_like(field, ends):
            yield _figure(match, field, None, 1.0, False)


def _is_cued(text: str, match: re.Match[str], label: re.Match[str] | None) -> bool:
    """Whether the words around a bare number say that it is an accuracy."""
    if label is not None and label[1] != "mean_rel_L1" and match.start() - label.end() <= _FAR:
        return False
    before = text[max(0, match.start() - 48) : match.start()]
    if re.search(r"\b(?:relative error|differences?|magnitude|bias)\b", before):
        return False
    if re.search(r"(?:GFLOPS|GFLOP/s)\s*[/,]\s*\Z", before):
        return True
    return (label is not None and label[1] == "mean_rel_L1") or _CUE.search(before) is not None


_FAR = 60


def _looks_like(field: str, ends: list[str]) -> bool:
    return field != "mean_rel_L1" or any("e-" in end or float(end) < 0.2 for end in ends)


def _figure(
    match: re.Match[str], field: str, metric: str | None, factor: float, short: bool
) -> Figure:
    low, high = match["low"], match["high"] or match["low"]
    if "e" in high and "e" not in low and float(low) != 0:
        # One exponent for both: 9.3-9.9e-3.
        low = f"{low}e{high.partition('e')[2]}"
    sign = match["sign"] or ""
    kind: Kind = "range" if match["high"] else "is"
    if kind == "is" and sign in ("≤", "<", "up to"):
        kind = "at_most"
    if kind == "is" and sign in ("≥", ">"):
        kind = "at_least"
    first, last = sorted((float(low) * factor, float(high) * factor))
    written = match.string[match.start("low") : match.end("high" if match["high"] else "low")]
    return Figure(
        field=field,
        kind=kind,
        low=first,
        high=last,
        # A zero at an end is none at all, whatever digits the other end has.
        half=max(half_unit(end) if float(end) else 0.0 for end in (low, high)) * factor,
        digits=max(_digits(low), _digits(high)),
        about=sign in ("~", "≈", "about", "around") or short,
        metric=metric,
        start=match.start("low"),
        stop=match.end("high" if match["high"] else "low"),
        written=written,
    )


def half_unit(text: str) -> float:
    """Half a unit of the last digit of a number as written."""
    exponent = Decimal(text).as_tuple().exponent
    return 0.5 * 10.0 ** int(exponent)


def _digits(text: str) -> int:
    return len(Decimal(text).as_tuple().digits)
