"""One existing cell as a template: a figure becomes a place where the row says the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from registry_tool.adoption import cells
from registry_tool.adoption.columns import Words
from registry_tool.adoption.model import Column, Quantity
from registry_tool.tables.layout import Line
from registry_tool.tables.layout_template import literal, place, places
from registry_tool.tables.layout_values import Subject, figure

GLYPH = re.compile("(?:[✅☑✔✓⚠❌✗✘✖🟢🟡🟠🔴⛔🚫])\ufe0f?")
NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
MEASURED = frozenset({"latency_us", "gflops", "gbps", "mean_rel_L1", "max_abs", "max_rel"})
WORDED = frozenset({"used_by", "notes"})
_LABEL = re.compile(r"([A-Za-z][A-Za-z0-9_]*?)(?:\s*=\s*|`?\s*=\s*`?)?\Z")
_HERD = re.compile(r"herd[\s*`=]*(?:\d+\s*[×x]\s*)?\Z", re.I)
_SCALED = {"s": "latency_s", "sec": "latency_s", "ms": "latency_ms", "msec": "latency_ms"}
_UNIT = re.compile(r"\s*(?:[–-]\s*[\d.]+\s*)?(µs|μs|us|ms|msec|s|sec)(?![\w/])")


@dataclass(frozen=True)
class Cell:
    """One existing cell: its Markdown, the line that it stands in, and its figures as read.

    ``agrees`` says whether a figure can be another writing of what a row's record holds.
    """

    source: str
    line: Line
    quantities: tuple[Quantity, ...]
    agrees: Callable[[Quantity, Subject], bool]


@dataclass(frozen=True)
class Written:
    """A cell as a template.

    ``unexplained`` counts its numbers that no value of the row explains, and ``wrong_settings``
    those of them that name a knob or a herd.
    """

    template: str
    unexplained: int
    wrong_settings: int = 0


def subject_of(read: Column) -> str | None:
    """The variant that a column is about, None for the line's own row."""
    return read.variants[0] if read.variants else None


def written(cell: Cell, read: Column, words: Words) -> Written:
    """The cell with a place for each figure that the row explains."""
    role = read.role or ""
    if role == "status":
        return _status(cell, read)
    if role in WORDED:
        return Written(literal(cell.source), 0)
    if role in ("variant", "tier") and cell.line.pick is not None:
        name = "variant" if role == "variant" else "precision"
        shown = cell.line.pick.value(name)
        if shown is not None and str(shown) in cell.source:
            head, _, tail = cell.source.partition(str(shown))
            return Written(literal(head) + place(name) + literal(tail), 0)
        return Written(literal(cell.source), 0)
    if role in ("shape", "config", "tiles") or role in MEASURED:
        return _figures(cell, read, words)
    return Written(literal(cell.source), 0)


def _status(cell: Cell, read: Column) -> Written:
    match = GLYPH.search(cell.source)
    if match is None:
        return Written(literal(cell.source), 0)
    head, tail = cell.source[: match.start()], cell.source[match.end() :]
    plain = place("status", None, subject_of(read))
    shown = cell.line.value(places(plain)[0])
    mark = plain if shown == match[0] else place("status", match[0], subject_of(read))
    return Written(literal(head) + mark + literal(tail), 0)


def _figures(cell: Cell, read: Column, words: Words) -> Written:
    source = cell.source
    parts: list[str] = []
    at = unexplained = wrong = 0
    expected = iter(read.names)
    for match in NUMBER.finditer(source):
        parts.append(literal(source[at : match.start()]))
        at = match.end()
        if _in_a_name(source, match, words):
            parts.append(match[0])
            continue
        found = _place_of(match, cell, read, words, expected)
        if found is None:
            unexplained += 1
            wrong += _is_setting(source[: match.start()], words)
            found = match[0]
        parts.append(found)
    return Written("".join([*parts, literal(source[at:])]), unexplained, wrong)


def _is_setting(before: str, words: Words) -> bool:
    """Whether a number is called a knob or a herd by what stands before it."""
    label = _LABEL.search(before.rstrip("*`"))
    return _HERD.search(before) is not None or (
        label is not None and words.resolve(label[1]) is not None
    )


def _in_a_name(source: str, match: re.Match[str], words: Words) -> bool:
    """Whether digits belong to a word, as in `tile_k_l2`, and are no value of a knob (`n64`)."""
    before = source[: match.start()]
    if not before[-1:].isalpha() and before[-1:] != "_":
        return False
    label = _LABEL.search(before)
    return label is None or words.resolve(label[1]) is None


def _place_of(
    match: re.Match[str], cell: Cell, read: Column, words: Words, expected: Iterator[str]
) -> str | None:
    source, line = cell.source, cell.line
    before = source[: match.start()]
    label = _LABEL.search(before.rstrip("*`"))
    resolved = words.resolve(label[1]) if label else None
    if resolved is not None:
        return _knob(resolved[1], match[0], line, _mentioned(before, read, words))
    if read.role in ("shape", "config"):
        name = next(expected, None)
        if name is not None:
            return _knob(name.rpartition(".")[2], match[0], line, [None])
    if _HERD.search(before):
        # `4×3` after the word: the first extent, or the one after the sign.
        axes = list(words.spec.herd)
        at = 1 if re.search(r"\d\s*[×x]\s*\Z", before) else 0
        return _knob(axes[at], match[0], line, _mentioned(before, read, words))
    if read.role == "tiles":
        return _knob("tiles", match[0], line, [None])
    if read.role in MEASURED:
        named = cells.name_of(label[1]) if label else None
        return _measured(named or read.role or "", match, cell, read, words)
    return None


def _mentioned(before: str, read: Column, words: Words) -> list[str | None]:
    """Whose knob is meant: the variant named last, else the column's, else the line's."""
    named = words.variants_in(before)
    return [*reversed(named), subject_of(read), None]


def _knob(name: str, text: str, line: Line, subjects: Sequence[str | None]) -> str | None:
    for subject in subjects:
        one = line.subject(subject)
        if one is not None and str(one.value(name)) == text.replace(",", ""):
            return place(name, None, subject)
    return None


def _measured(
    name: str, match: re.Match[str], cell: Cell, read: Column, words: Words
) -> str | None:
    form = form_of(match[0])
    if form is None:
        return None
    if name == "latency_us":
        unit = _UNIT.match(cell.source, match.end())
        name = _SCALED.get(unit[1] if unit else read.unit, name)
    subjects: list[str | None] = [subject_of(read)]
    if read.tiers:
        tier = read.tiers[min(cell.source[: match.start()].count("/"), len(read.tiers) - 1)]
        subjects = [tier, *words.of_tier(tier)]
    elif len(cell.line.subjects) > 1 and not read.variants:
        subjects = [None, *(one.row.variant for one in cell.line.subjects)]
    for subject in subjects:
        one = cell.line.subject(subject)
        value = one.value(name) if one is not None else None
        if isinstance(value, int | float) and figure(value, form) == match[0]:
            return place(name, form, subject)
    return None


def form_of(text: str) -> str | None:
    """The format in which a number is written, e.g. ``.1e`` for 9.3e-3; None if there is none."""
    mantissa, _, exponent = text.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    if exponent:
        plain = exponent.lstrip("+-")
        if "E" in text or (len(plain) > 1 and plain[0] == "0"):
            return None
        return f".{digits}e{'+' if exponent[0] == '+' else ''}"
    return f"{',' if ',' in text else ''}.{digits}f"


def figure_text(value: float, form: str) -> str:
    """A number in the format of one that is written."""
    return figure(value, form)


def status_template(source: str) -> str:
    """The template of a status cell of the line's own rows."""
    match = GLYPH.search(source)
    if match is None:
        return literal(source)
    head, tail = source[: match.start()], source[match.end() :]
    return literal(head) + place("status", match[0]) + literal(tail)
