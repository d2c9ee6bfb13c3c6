"""Which figures a layout may spell out itself: none but those of the values it names.

A measured figure on a page comes from a record. A column's template shows every row and so holds
no figure of its own; a wording in a measured column holds those of its ``of``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from msgspec import UNSET

from registry_tool.errors import RegistryError
from registry_tool.records.layout import CellLayout, ColumnLayout, Value
from registry_tool.tables import layout_template
from registry_tool.tables.layout_template import Place
from registry_tool.tables.layout_values import FIGURES

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:[eE][-+]?\d+)?(?!\d)"
_FIGURE = re.compile(
    rf"(?P<low>{_NUMBER})(?:\s?[–-]\s?(?P<high>{_NUMBER}))?"
    r"(?:\*\*)?\s?(?P<unit>µs|μs|us|ms|s|[GT]FLOPS?(?:/s)?|GB/s|GBps)?(?![\w/])|\d"
)
# `bf16`, `tile_k_l2`, `L1`: digits that end a word.
_NAME = re.compile(r"(?<![\w.])(?!\d)[A-Za-z_][A-Za-z_]*\d{1,3}(?:_?[A-Za-z]+\d{0,2})*(?![\w.,])")
# A heading that is the name of a measured value, e.g. `direct GFLOPS`, `abs_err max`.
_HEADING = re.compile(
    r"(?:best |measured |[\w-]+ )?(?:[GT]FLOPS?(?:/s)?|GB/s|bandwidth|throughput|latency|"
    r"mean_rel_L1|(?:abs|rel)_err max|max_(?:abs|rel))",
    re.I,
)
_ASIDE = re.compile(r"\([^)]*\)|[*`]")
_ENTITY = re.compile(r"&#")
_AFTER = re.compile(r"\**(?:\s?(?P<unit>[A-Za-zµμ]+(?:/s)?)(?!\w))?")
_GLUED_BEFORE = re.compile(r"[\d.,][*_`]*\Z")
_GLUED_AFTER = re.compile(r"[*_`]*(?:\d|[.,]\d|[eE][-+]?\d)")
# Values that are words, and stand beside a figure without changing it.
_WORDS = frozenset({"unit", "status", "used_by", "notes", "other_herd", "kernel", "title"})
_WORDS_SAID = frozenset({*_WORDS, "variant", "precision", "setting"})
_FAMILY = dict.fromkeys(("latency_us", "latency_ms", "latency_s"), "latency")
_UNITS = {
    **dict.fromkeys(("µs", "μs", "us"), "latency_us"),
    "ms": "latency_ms",
    "s": "latency_s",
    **dict.fromkeys(("GB/s", "GBps"), "gbps"),
    **dict.fromkeys(("GFLOP", "GFLOPS", "GFLOP/s", "GFLOPS/s"), "gflops"),
    **dict.fromkeys(("TFLOP", "TFLOPS", "TFLOP/s", "TFLOPS/s"), "tflops"),
}
_MICROSECONDS = {"latency_us": 1.0, "latency_ms": 1e3, "latency_s": 1e6}
# A range is a measurement's spread: wider than its figure, it says nothing true of it.
_WIDEST = 1.0


@dataclass(frozen=True)
class _Piece:
    """Text or a place of a template, and how deep in parentheses it starts."""

    part: str | Place
    depth: int


def measures(template: str) -> list[str]:
    """The measured values that a template shows: ``gflops``, ``drain.gflops``."""
    return list(dict.fromkeys(_full(one) for one in layout_template.places(template) if _is(one)))


def of_column(column: ColumnLayout) -> str | None:
    """What is wrong with the template of a column, None if it can be used."""
    try:
        pieces = list(_pieces(column.cell))
    except RegistryError:
        # It has no places at all; rendering says so.
        return None
    shown = {_key(name) for name in measures(column.cell)}
    for name in column.measures:
        if _key(name) not in shown:
            return f"does not show {name}, which the column measures"
    figure = next((one[0].strip("* ") for text, _ in _said(pieces) for one in _found(text)), None)
    if figure is not None:
        return f"spells out the figure {figure!r}, which no record says"
    return _places_wrong(pieces) if _is_measured(column) else _units_wrong(pieces)


def of_wording(column: ColumnLayout, wording: CellLayout) -> str | None:
    """What is wrong with a cell's own wording, None if it can be used.

    Words in a column that measures nothing are people's, figures and all.
    """
    measured = {
        name: value for name, value in wording.of.items() if name.rpartition(".")[2] in FIGURES
    }
    try:
        pieces = list(_pieces(wording.text))
        if not (measured or _is_measured(column)):
            return None
    except RegistryError:
        return None
    settings = _numbers(
        [str(value) for name, value in wording.of.items() if name not in measured]
        + [user for said in (wording.used_by, wording.notes) if said is not UNSET for user in said]
    )
    for text, depth in _said(pieces):
        for match in _found(text):
            if any(_is_of(match, name, value) for name, value in measured.items()):
                continue
            inside = depth + _opened(text[: match.start()]) > 0
            if inside and not match["unit"] and match[0].strip("* ") in settings:
                continue
            return f"spells out the figure {match[0].strip('* ')!r}, which is none of its `of`"
    return _places_wrong(pieces)


# --- what stands in a template -------------------------------------------------------------------


def _pieces(template: str) -> Iterator[_Piece]:
    depth = 0
    for part in layout_template.parse(template):
        yield _Piece(part, depth)
        if isinstance(part, str):
            depth = max(depth + _opened(part), 0)


def _opened(text: str) -> int:
    return text.count("(") - text.count(")")


def _said(pieces: Iterable[_Piece]) -> Iterator[tuple[str, int]]:
    """The text that a template gives itself: words between places, in formats, in arithmetic."""
    for piece in pieces:
        if isinstance(piece.part, str):
            yield piece.part, piece.depth
        elif piece.part.form and (piece.part.name == "status" or "|" in piece.part.form):
            yield piece.part.form, piece.depth
        elif not re.search(r"[A-Za-z_]", piece.part.name):
            yield piece.part.name, piece.depth


def _found(text: str) -> Iterator[re.Match[str]]:
    """The figures of a text that are not part of a name."""
    plain = text if _ENTITY.search(text) else _NAME.sub(lambda m: "_" * len(m[0]), text)
    # Digits of other scripts and raised ones read as figures too.
    plain = "".join("0" if char.isnumeric() and not char.isascii() else char for char in plain)
    return _FIGURE.finditer(plain)


def _numbers(texts: Iterable[str]) -> set[str]:
    return {number for text in texts for number in re.findall(r"\d+(?:\.\d+)?", text)}


def _is_measured(column: ColumnLayout) -> bool:
    """Whether a column shows measured values, kept them when it was made, or is called so."""
    if column.measures or measures(column.cell):
        return True
    return _HEADING.fullmatch(_ASIDE.sub("", column.title).strip()) is not None


# --- places --------------------------------------------------------------------------------------


def _is(place: Place) -> bool:
    return place.name in FIGURES


def _full(place: Place) -> str:
    return f"{place.subject}.{place.name}" if place.subject else place.name


def _key(name: str) -> str:
    """A measured value in whichever unit: ``drain.latency`` for ``drain.latency_ms``."""
    subject, dot, field = name.rpartition(".")
    return f"{subject}{dot}{_FAMILY.get(field, field)}"


def _places_wrong(pieces: list[_Piece]) -> str | None:
    """What is wrong with the places of a measured cell."""
    for at, piece in enumerate(pieces):
        place = piece.part
        if isinstance(place, str):
            continue
        name = "{" + _full(place) + "}"
        if _is(place) and place.form and "|" in place.form:
            return f"writes words for the figure {name}"
        if not _is(place) and place.name in _WORDS_SAID:
            continue
        if not _is(place) and not piece.depth:
            return f"shows {name} in the place of a measured figure"
        before = pieces[at - 1].part if at else ""
        after = pieces[at + 1].part if at + 1 < len(pieces) else ""
        if _glued(before, _GLUED_BEFORE) or _glued(after, _GLUED_AFTER):
            return f"glues digits to {name}"
        unit = _AFTER.match(after) if _is(place) and isinstance(after, str) else None
        if unit is not None and _UNITS.get(unit["unit"] or "", place.name) != place.name:
            known = place.name != "speed" or _UNITS[unit["unit"]] not in ("gflops", "gbps")
            if known:
                return f"gives {name} the unit {unit['unit']}"
    return None


def _units_wrong(pieces: list[_Piece]) -> str | None:
    """Whether a cell that measures nothing gives a size of its row a unit of measure."""
    for piece, after in pairwise(pieces):
        if isinstance(piece.part, Place) and isinstance(after.part, str):
            unit = _AFTER.match(after.part)
            if unit is not None and unit["unit"] in _UNITS and piece.part.name not in _WORDS_SAID:
                return f"gives {{{_full(piece.part)}}} the unit {unit['unit']}"
    return None


def _glued(beside: str | Place, digits: re.Pattern[str]) -> bool:
    """Whether what stands beside a figure reads as part of it."""
    if isinstance(beside, Place):
        return beside.name not in _WORDS
    found = digits.search if digits is _GLUED_BEFORE else digits.match
    return bool(beside) and found(beside) is not None


# --- figures of `of` -----------------------------------------------------------------------------


def _is_of(match: re.Match[str], name: str, value: Value) -> bool:
    """Whether a figure that is written is a measured value, rounded or as a range around it."""
    if not isinstance(value, int | float) or match["low"] is None:
        return False
    scaled = _in_unit(name.rpartition(".")[2], float(value), match["unit"])
    if scaled is None:
        return False
    low, high = _read(match["low"]), _read(match["high"] or match["low"])
    slack = float(max(_half(low), _half(high)) + _half(Decimal(repr(scaled)))) * (1 + 1e-9)
    if float(high - low) > _WIDEST * abs(scaled):
        return False
    return float(low) - slack <= scaled <= float(high) + slack


def _in_unit(field: str, value: float, unit: str | None) -> float | None:
    """A value in the unit that is written behind it; None where it has no such unit."""
    wanted = _UNITS.get(unit or "", field)
    if wanted == field or (field == "speed" and wanted in ("gflops", "gbps")):
        return value
    if wanted == "tflops" and field in ("gflops", "speed"):
        return value / 1e3
    scales: Mapping[str, float] = _MICROSECONDS
    if field in scales and wanted in scales:
        return value * scales[field] / scales[wanted]
    return None


def _read(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def _half(number: Decimal) -> Decimal:
    """Half a unit of the last digit that is written."""
    exponent = number.as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0) / 2
