"""What people write into table cells, taken apart: numbers, units, tiles, glyphs, and the rest.

Total: every character of a cell ends in a value, in a note, or is a separator without a letter or
digit. `Reading.pieces` shows it: put together again they are the cell. Nothing here knows a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["value", "note", "blank"]

# Every stroke that people type for "from-to", and for "nothing here".
_STROKE = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\uff0d"
_NOTHING = re.compile(rf"(?:[{_STROKE}]+|n/?a|none|tbd|\?|\u2026)", re.I)
# Thousands come in groups of three after a comma, an apostrophe, an underscore or a thin space.
_GROUP = "[,'_ \u00a0\u2009\u202f\u2019]"
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_EXPONENT = r"(?:[eE][-+\u2212]?\d+|\s?[×x·*]\s?10(?:\^[-+\u2212]?\d+|[⁻⁺]?[⁰¹²³⁴-⁹]+))"
_NUMBER = rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+){_EXPONENT}?"
_UNITS: dict[str, tuple[str, float]] = {
    "s": ("latency_us", 1e6),
    "sec": ("latency_us", 1e6),
    "ms": ("latency_us", 1e3),
    "msec": ("latency_us", 1e3),
    "µs": ("latency_us", 1.0),
    "μs": ("latency_us", 1.0),
    "us": ("latency_us", 1.0),
    "usec": ("latency_us", 1.0),
    "ns": ("latency_us", 1e-3),
    "mflop/s": ("gflops", 1e-3),
    "mflops": ("gflops", 1e-3),
    "gflop/s": ("gflops", 1.0),
    "gflops": ("gflops", 1.0),
    "gflops/s": ("gflops", 1.0),
    "gf/s": ("gflops", 1.0),
    "tflop/s": ("gflops", 1e3),
    "tflops": ("gflops", 1e3),
    "tf/s": ("gflops", 1e3),
    "mb/s": ("gbps", 1e-3),
    "gb/s": ("gbps", 1.0),
    "gb/sec": ("gbps", 1.0),
    "gbps": ("gbps", 1.0),
    "tb/s": ("gbps", 1e3),
}
_UNIT = "(?:" + "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True)) + r")(?![\w/])"
# What a number is called in front of it or, in a heading, over it.
_NAMES: dict[str, str] = {
    r"mean[_ ]rel[_ ]?L1|mean_?rel": "mean_rel_L1",
    r"max[_ ]abs(?:[_ ]err)?|abs[_ ]err(?:or)?[_ ]max|worst[_ ]abs[_ ]err|abs[_ ]err": "max_abs",
    r"max[_ ]rel(?:[_ ]err)?|rel[_ ]err(?:or)?[_ ]max|rel[_ ]err": "max_rel",
    r"corr(?:elation)?": "correlation",
}
_NAME = "|".join(_NAMES)
_MARK = r"(?:[†‡§¶※*]+|[⁰¹²³⁴-⁹]+|\[\^[^\]\s]+\])"
_QUANTITY = re.compile(
    rf"""(?<![\w.])(?:(?P<name>{_NAME})\s*[=:≈]?\s*)?
      (?P<sign>[~≈<>≤≥]=?\s?)?(?P<low>{_NUMBER})
      (?:\s?(?:{_UNIT})?\s?(?P<dash>[{_STROKE}\u2026~]|\bto\b|±)\s?(?P<high>{_NUMBER}))?
      (?:\s*(?P<unit>{_UNIT}))?
      (?:\s?(?P<mark>{_MARK}))?
      (?![\w]|[.,]\d)""",
    re.X | re.I,
)
_GLYPH = re.compile("(?:[✅☑✔✓⚠❌✗✘✖🟢🟡🟠🔴⛔🚫])\ufe0f?")
_PARENTHESES = re.compile(r"\(([^()]*)\)")
_SIZES = re.compile(r"\d+(?:\s*[×xX*·]\s*\d+)*")
_WHOLE = re.compile(rf"\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)|\d+")
_BETWEEN = re.compile(r"\s*[×xX*·/,|]\s*")
_HINT = re.compile(
    r"(?P<herd>herd)\s*=?\s*(?P<extents>\d+(?:\s*[×xX]\s*\d+)+)"
    r"|(?P<name>[A-Za-z_]\w*?(?=\s*=)|[A-Za-z_]+)\s*=?\s*(?P<size>\d+)(?!\w)",
    re.I,
)
_TRUE = re.compile(r"(?:✓|✔|✅|yes|true|causal|1)\ufe0f?", re.I)
_FALSE = re.compile(r"(?:✗|✘|✖|❌|no|false|non-?causal|0)\ufe0f?", re.I)
_LARGEST_EXPONENT = 99
_LONGEST_SIZE = 10
_WORD = re.compile(r"\w")
# No figure of a registry is below zero, so a signed one is a slip or a difference: it stays words.
_SIGNED = re.compile(rf"[{_STROKE}+±∓]\s*(?:[~≈<>≤≥]=?\s*)?\Z")
# Separators, which say nothing when a value beside them is taken.
_BLANK = re.compile(rf"[{_STROKE}\s,;:/()\[\]{{}}=.+|*`\u00b7]*")
_EMPHASIS = re.compile(r"\*\*|`|<sup>(.*?)</sup>")


@dataclass(frozen=True)
class Text:
    """A cell as displayed; ``bold`` are the stretches that are bold in its source."""

    shown: str
    bold: tuple[tuple[int, int], ...] = ()

    def is_bold(self, start: int, stop: int) -> bool:
        """Whether the stretch is bold throughout."""
        return any(low <= start and stop <= high for low, high in self.bold)


def text_of(source: str, shown: str) -> Text:
    """A cell from its Markdown ``source`` and what is displayed of it.

    ``<sup>1</sup>`` stays apart from the number before it, which plain display would run together.
    """
    plain: list[str] = []
    bold: list[tuple[int, int]] = []
    opened: int | None = None
    at = length = 0
    for match in _EMPHASIS.finditer(source):
        plain.append(source[at : match.start()])
        length += match.start() - at
        at = match.end()
        if match[1] is not None:
            raised = match[1].translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
            plain.append(raised)
            length += len(raised)
        elif match[0] == "**":
            if opened is None:
                opened = length
            else:
                bold.append((opened, length))
                opened = None
    plain.append(source[at:])
    text = "".join(plain)
    if text == shown or "<sup>" in source:
        return Text(text, tuple(bold))
    # Some other markup is in it: what is bold is looked for in what is shown.
    found = []
    for low, high in bold:
        start = shown.find(text[low:high])
        if start >= 0:
            found.append((start, start + high - low))
    return Text(shown, tuple(found))


@dataclass
class Reading:
    """A cell while it is read: what was taken from it as a value, and what is left."""

    text: Text
    taken: list[tuple[int, int]] = field(default_factory=list)

    @property
    def shown(self) -> str:
        """The whole cell, as displayed."""
        return self.text.shown

    def take(self, start: int, stop: int) -> None:
        """Mark a stretch as read into a value."""
        if start < stop:
            self.taken.append((start, stop))

    def is_free(self, start: int, stop: int) -> bool:
        """Whether nothing of the stretch was taken."""
        return all(stop <= low or high <= start for low, high in self.taken)

    def free(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """The matches of ``pattern`` in what is not taken."""
        for match in pattern.finditer(self.shown):
            if self.is_free(*match.span()):
                yield match

    def pieces(self) -> list[tuple[Kind, str]]:
        """The cell as a partition: joined together it is ``shown`` again."""
        found: list[tuple[Kind, str]] = []
        at = 0
        for low, high in [*sorted(self.taken), (len(self.shown), len(self.shown))]:
            if at < low:
                found.extend(_left(self.shown[at:low]))
            if max(at, low) < high:
                found.append(("value", self.shown[max(at, low) : high]))
            at = max(at, high)
        return found

    def notes(self) -> list[str]:
        """The words that are no value, without the punctuation around them."""
        return [text for kind, text in self.pieces() if kind == "note"]


def _left(text: str) -> Iterator[tuple[Kind, str]]:
    """What was left between two values: a note, and the punctuation at its ends."""
    if _BLANK.fullmatch(text):
        yield "blank", text
        return
    start = len(text) - len(text.lstrip(" \t\n,;:/|\u00a0"))
    stop = len(text.rstrip(" \t\n,;/|\u00a0"))
    body = text[start:stop]
    if body.startswith("(") and body.endswith(")") and _PARENTHESES.fullmatch(body):
        start, stop = start + 1, stop - 1
    for kind, low, high in (
        ("blank", 0, start),
        ("note", start, stop),
        ("blank", stop, len(text)),
    ):
        if low < high:
            yield kind, text[low:high]  # type: ignore[misc]


@dataclass(frozen=True)
class Found:
    """A number in a cell; ``name`` and ``unit_field`` are what its own words say it is."""

    written: str
    low: float
    high: float
    half: float
    bold: bool
    mark: str
    sign: str
    name: str | None
    unit_field: str | None
    part: int


@dataclass(frozen=True)
class Hint:
    """A tile size, herd or variant that a cell mentions beside its value."""

    tile: dict[str, int]
    herd: tuple[int, ...] | None
    variant: str | None


# A word to a knob ("tile", name) or an axis ("herd", name); None for any other word.
Resolve = Callable[[str], tuple[str, str] | None]


def is_nothing(text: str) -> bool:
    """Whether a cell says that there is nothing: empty, a dash of any kind, n/a."""
    stripped = text.strip()
    return not stripped or _NOTHING.fullmatch(stripped) is not None


_BADLY = (
    r"hung|hangs?|timed? ?out|crash(?:e[sd])?|fail(?:s|ed)?|aborted"
    r"|did not (?:run|finish|complete)|does not (?:run|place|compile)"
)
_RAN_BADLY = re.compile(rf"\b(?:{_BADLY})(?!\w)", re.I)
_NO_RESULT = re.compile(
    rf"\b(?:n\.\s?a\.|n/a|not (?:measured|run|tested|timed|recorded|available)|unmeasured"
    rf"|untested|no result|TBD|to be measured|{_BADLY})(?!\w)",
    re.I,
)


def says_no_result(text: str) -> bool:
    """Whether the words of a cell say that it has no figure: ``n.a. (hung twice)``."""
    return _NO_RESULT.search(text) is not None and re.match(r"\W*\d", text) is None


def says_ran_badly(text: str) -> bool:
    """Whether the words of a cell say that a run was tried and did not end well."""
    return _RAN_BADLY.search(text) is not None


def name_of(text: str) -> str | None:
    """The measured field that ``text`` names, e.g. max_abs for ``abs_err max``; None for none."""
    for pattern, name in _NAMES.items():
        if re.fullmatch(pattern, text.strip(), re.I):
            return name
    return None


def starting_name(text: str) -> str | None:
    """The measured field that ``text`` starts with, as in ``mean_rel_L1 = mean|…|``."""
    match = re.match(rf"\s*({_NAME})(?![\w])", text, re.I)
    return name_of(match[1]) if match else None


def unit_of(text: str) -> tuple[str, float] | None:
    """Field and factor of a unit, e.g. latency_us and 1000 for ``ms``; None for no unit."""
    return _UNITS.get(text.strip().lower())


def take_glyphs(reading: Reading) -> str | None:
    """The first status glyph of a cell; any further one stays in the notes."""
    for match in reading.free(_GLYPH):
        reading.take(*match.span())
        return match[0]
    return None


def take_dash(reading: Reading) -> bool:
    """Take the dash of ``— (drain n64)``, which says that there is no number here."""
    match = re.match(rf"\s*[{_STROKE}]+(?=\s*(?:[(/]|\Z))", reading.shown)
    if match is not None and reading.is_free(*match.span()):
        reading.take(*match.span())
        return True
    return False


def take_quantities(reading: Reading, parts: int = 1) -> list[Found]:
    """The numbers of a measured cell, outside parentheses unless they are named there.

    With ``parts`` above 1 the cell holds so many values side by side, divided by ``/``, and
    ``Found.part`` says which; a cell without a division is its first part.
    """
    divisions = _divisions(reading.shown) if parts > 1 else []
    if len(divisions) != parts - 1:
        divisions = []
    found = []
    for start, stop in _stretches(len(reading.shown), divisions):
        one = _first_quantity(reading, start, stop)
        if one is not None:
            part = sum(division < start for division in divisions)
            found.append(_found(reading, one, part))
    for division in divisions:
        reading.take(division, division + 1)
    return found


def _first_quantity(reading: Reading, start: int, stop: int) -> re.Match[str] | None:
    """The first number of a stretch: before any parenthesis, or named; none that has a sign."""
    for match in _QUANTITY.finditer(reading.shown, start, stop):
        if not reading.is_free(*match.span()) or not _is_finite(match):
            continue
        before = reading.shown[start : match.start()]
        if match["name"] is None and _WORD.search(_GLYPH.sub("", before)):
            return None
        if match["name"] is None and before.count("(") > before.count(")"):
            return None
        if match["name"] is None and _SIGNED.search(before):
            return None
        return match
    return None


def _found(reading: Reading, match: re.Match[str], part: int) -> Found:
    reading.take(*match.span())
    unit = unit_of(match["unit"] or "")
    factor = unit[1] if unit else 1.0
    low = _number(match["low"])
    half = half_of(match["low"])
    high = low
    if match["high"] is not None:
        high = _number(match["high"])
        half = max(half, half_of(match["high"]))
        if match["dash"] == "±":
            low, high = low - high, low + high
    stop = match.end()
    if match["mark"]:
        stop = match.start("mark")
    begin = match.start("sign") if match["sign"] else match.start("low")
    return Found(
        written=reading.shown[begin:stop].strip(),
        low=_scaled(min(low, high), factor),
        high=_scaled(max(low, high), factor),
        half=half * factor,
        bold=reading.text.is_bold(match.start("low"), match.end("low")),
        mark=match["mark"] or "",
        sign=(match["sign"] or "").strip(),
        name=name_of(match["name"]) if match["name"] else None,
        unit_field=unit[0] if unit else None,
        part=part,
    )


def _is_finite(match: re.Match[str]) -> bool:
    """Whether a number is one that a float holds: ``1e999`` is words."""
    ends = [match["low"], *([match["high"]] if match["high"] else [])]
    exponents = [_split_exponent(end)[2] for end in ends]
    return all(abs(int(exponent or 0)) <= _LARGEST_EXPONENT for exponent in exponents)


def _number(text: str) -> float:
    return float(_plain(text))


def _plain(text: str) -> str:
    """A number as Python writes it."""
    mantissa, _, exponent = _split_exponent(text)
    return f"{re.sub(_GROUP, '', mantissa)}e{exponent or 0}"


def _split_exponent(text: str) -> tuple[str, str, str]:
    match = re.search(_EXPONENT + r"\Z", text)
    if match is None:
        return text, "", ""
    power = re.sub(r"\s?[×x·*]\s?10\^?", "", match[0]).lstrip("eE")
    return text[: match.start()], "e", power.translate(_SUPERSCRIPT).replace("\u2212", "-")


def half_of(text: str) -> float:
    """Half a unit of the last digit; a zero is written for exactly nothing."""
    mantissa, _, exponent = _split_exponent(text)
    if _number(text) == 0.0:
        return 0.0
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals)


def _scaled(value: float, factor: float) -> float:
    """A value in its field's unit, without the noise of a binary product."""
    return value if factor == 1.0 else float(f"{value * factor:.15g}")


def _divisions(text: str) -> list[int]:
    """Where ``/`` divides values: outside parentheses, and not inside a unit or a word."""
    depth = 0
    found = []
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        divides = character == "/" and depth == 0
        if divides and (text[at - 1 : at].isspace() or text[at + 1 : at + 2].isspace()):
            found.append(at)
    return found


def _stretches(length: int, divisions: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for division in divisions:
        yield start, division
        start = division + 1
    yield start, length


def take_herd(reading: Reading, axes: int) -> tuple[int, ...] | None:
    """A herd alone in parentheses, ``(2×4)``, in a cell whose heading says so."""
    for match in reading.free(_PARENTHESES):
        if re.fullmatch(r"\s*\d+(?:\s*[×xX]\s*\d+)*\s*", match[1]):
            extents = tuple(map(int, re.findall(r"\d+", match[1])))
            if len(extents) == axes and all(0 < one < 10**_LONGEST_SIZE for one in extents):
                reading.take(*match.span())
                return extents
    return None


def take_hints(reading: Reading, resolve: Resolve, variants: Sequence[str]) -> list[Hint]:
    """Tile, herd and variant in parentheses: ``(n80/k320)``, ``(m16/n240/k384, herd 4×4)``.

    A variant may also stand before them: ``fused-cast (m64/k256/n128)``. What is in parentheses is
    taken only if all of it is read.
    """
    found = []
    for match in list(reading.free(_PARENTHESES)):
        hint = _hint(match[1], resolve, variants)
        if hint is None:
            continue
        start, stop = match.span()
        named = _variant_before(reading.shown, start, variants)
        if hint.variant is None and named is not None:
            hint = Hint(hint.tile, hint.herd, named)
            start = reading.shown.rfind(named, 0, start)
        reading.take(start, stop)
        found.append(hint)
    return found


def _variant_before(text: str, stop: int, variants: Sequence[str]) -> str | None:
    before = text[:stop].rstrip()
    return next((name for name in variants if before.endswith(name)), None)


def _hint(content: str, resolve: Resolve, variants: Sequence[str]) -> Hint | None:
    rest = content
    variant = None
    for name in sorted(variants, key=len, reverse=True):
        if re.match(rf"\s*{re.escape(name)}(?![\w-])", rest):
            variant, rest = name, rest.replace(name, "", 1)
            break
    tile: dict[str, int] = {}
    axes: dict[str, int] = {}
    herd: tuple[int, ...] | None = None
    at = 0
    for match in _HINT.finditer(rest):
        if rest[at : match.start()].strip(" ,;/\u00a0"):
            return None
        at = match.end()
        if match["herd"]:
            herd = tuple(map(int, re.findall(r"\d+", match["extents"])))
            if not all(0 < extent < 10**_LONGEST_SIZE for extent in herd):
                return None
            continue
        resolved = resolve(match["name"])
        if resolved is None or not 0 < int(match["size"]) < 10**_LONGEST_SIZE:
            return None
        (tile if resolved[0] == "tile" else axes)[resolved[1]] = int(match["size"])
    if rest[at:].strip(" ,;/\u00a0") or not (tile or axes or herd or variant):
        return None
    if axes and herd is None:
        return None
    return Hint(tile, herd, variant)


def take_numbers(reading: Reading, count: int) -> list[int] | None:
    """``count`` whole numbers divided by ``/`` or ``×`` at the start: a tile, a herd, sizes.

    None if the cell does not start with a number, with more or fewer of them, or with one of more
    than ten digits.
    """
    numbers = []
    at = len(reading.shown) - len(reading.shown.lstrip())
    while True:
        match = _WHOLE.match(reading.shown, at)
        if match is None or re.match(r"\.\d|\w", reading.shown[match.end() :]):
            # A size written as ``4x4`` is divided by the letter.
            match = re.compile(r"\d+(?=[xX]\d)").match(reading.shown, at)
            if match is None:
                return None
        digits = re.sub(_GROUP, "", match[0])
        if len(digits) > _LONGEST_SIZE:
            return None
        numbers.append(int(digits))
        between = _BETWEEN.match(reading.shown, match.end())
        if between is None or not reading.shown[between.end() : between.end() + 1].isdigit():
            break
        at = between.end()
    if len(numbers) != count:
        return None
    reading.take(0, match.end())
    return numbers


def take_truth(reading: Reading) -> int | None:
    """1 or 0 for a yes or no of any kind, or None."""
    text = reading.shown.strip()
    value = 1 if _TRUE.fullmatch(text) else 0 if _FALSE.fullmatch(text) else None
    if value is not None:
        reading.take(0, len(reading.shown))
    return value


def take_layout(reading: Reading) -> str:
    """Another way to write the size: ``(2048×896)`` or ``= 2048×896``; empty if there is none."""
    for match in reading.free(re.compile(r"\(\s*(\d+(?:\s*[×xX*·]\s*\d+)+)\s*\)")):
        reading.take(*match.span())
        return match[1]
    for match in reading.free(re.compile(r"=\s*(\d+(?:\s*[×xX*·]\s*\d+)+)")):
        reading.take(*match.span())
        return match[1]
    return ""


def sizes_in(text: str) -> list[list[int]]:
    """Every ``2048×2048`` (or single number) of a text, as lists of sizes."""
    return [[int(size) for size in re.findall(r"\d+", found)] for found in _SIZES.findall(text)]
