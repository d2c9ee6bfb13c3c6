"""What an inline value shows, as words: `best throughput kernel=GEMV_bf16 K=2048`.

    FUNCTION [FIELD] [KEY=VALUE ...]

A grammar and nothing else: whether there is such a kernel or a row is not its affair.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping

FIELDS = ("throughput", "latency", "mean_rel_L1", "max_abs", "max_rel", "tiles")
COUNTED = ("rows", "shapes")
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "best": FIELDS,
    "worst": FIELDS,
    "range": FIELDS,
    "count": COUNTED,
}
TEXT_KEYS = ("kernel", "target", "variant", "precision", "model")
MOST_DIGITS = 6

_TOKEN = re.compile(
    r"""\s*(?:(?P<key>[^\s="]+)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"(?=\s|\Z)|(?P<bare>[^\s="]+)(?=\s|\Z))
          |(?P<word>[^\s="]+)(?=\s|\Z))""",
    re.X | re.A,
)
_BARE = re.compile(r"[^\s=\"\\>-][^\s=\">]*\Z")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_NUMBER = re.compile(r"[0-9]{1,15}\Z")
_ESCAPE = re.compile(r"\\(.)")


class SelectorError(ValueError):
    """Words that say no selection; the message tells what was expected."""


@dataclasses.dataclass(frozen=True)
class Selector:
    """A function over the rows that fit.

    ``dims`` are sizes by dimension name. ``digits`` are significant ones, None for those of the
    table's column; ``unit`` says whether it is shown, None for as in the column.
    """

    function: str
    field: str
    kernel: str | None = None
    target: str | None = None
    variant: str | None = None
    precision: str | None = None
    model: str | None = None
    dims: Mapping[str, int] = dataclasses.field(default_factory=dict)
    digits: int | None = None
    unit: bool | None = None

    def __str__(self) -> str:
        words = [self.function, self.field]
        for key in TEXT_KEYS:
            value = getattr(self, key)
            if value is not None:
                words.append(f"{key}={_quoted(value)}")
        words += [f"{dim}={size}" for dim, size in self.dims.items()]
        if self.digits is not None:
            words.append(f"digits={self.digits}")
        if self.unit is not None:
            words.append(f"unit={'yes' if self.unit else 'no'}")
        return " ".join(words)


def parse(text: str) -> Selector:
    """The selector that ``text`` says; raises SelectorError for the first word that does not fit.

    A key that is none of the known ones is taken for the name of a dimension.
    """
    words, pairs = _tokens(text)
    function, what = _function(words)
    found: dict[str, str | int | bool] = {}
    dims: dict[str, int] = {}
    for key, value in pairs:
        if key in found or key in dims:
            raise SelectorError(f"{key}= is here a second time; expected it once")
        if key in TEXT_KEYS:
            found[key] = value
        elif key == "digits":
            found[key] = _digits(value, what)
        elif key == "unit":
            found[key] = _unit(value, what)
        elif _NAME.match(key):
            dims[key] = _size(key, value)
        else:
            raise SelectorError(f"unknown key {key!r}; expected {_keys()}")
    return Selector(function, what, dims=dims, **found)  # type: ignore[arg-type]


def _tokens(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    words: list[str] = []
    pairs: list[tuple[str, str]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at, end)
        if match is None:
            rest = text[at:end].split()[0]
            raise SelectorError(f'cannot read {rest!r}; expected a word, KEY=VALUE or KEY="VALUE"')
        at = match.end()
        if match["word"] is not None:
            if pairs:
                raise SelectorError(
                    f"unknown word {match['word']!r} after {pairs[-1][0]}=; expected {_keys()}"
                )
            words.append(match["word"])
        else:
            quoted = match["quoted"]
            value = match["bare"] if quoted is None else _ESCAPE.sub(r"\1", quoted)
            pairs.append((match["key"], value))
    return words, pairs


def _function(words: list[str]) -> tuple[str, str]:
    if not words or words[0] not in FUNCTIONS:
        found = f"unknown word {words[0]!r}" if words else "nothing says what to show"
        raise SelectorError(f"{found}; expected {_or(FUNCTIONS)}")
    function, *others = words
    fields = FUNCTIONS[function]
    if not others and function == "count":
        return function, fields[0]
    if not others or others[0] not in fields:
        found = f"unknown word {others[0]!r}" if others else f"nothing after {function!r}"
        raise SelectorError(f"{found}; expected {_or(fields)}")
    if len(others) > 1:
        raise SelectorError(f"unknown word {others[1]!r} after {others[0]!r}; expected {_keys()}")
    return function, others[0]


def _digits(value: str, what: str) -> int:
    if what in (*COUNTED, "tiles"):
        raise SelectorError(f"digits= says nothing about {what}: it is a whole number")
    number = int(value) if _NUMBER.match(value) else 0
    if not 1 <= number <= MOST_DIGITS:
        raise SelectorError(f"digits={value}; expected a number from 1 to {MOST_DIGITS}")
    return number


def _unit(value: str, what: str) -> bool:
    if what not in ("throughput", "latency"):
        raise SelectorError(f"unit= says nothing about {what}: it has no unit")
    if value not in ("yes", "no"):
        raise SelectorError(f"unit={value}; expected yes or no")
    return value == "yes"


def _size(dim: str, value: str) -> int:
    if not _NUMBER.match(value):
        raise SelectorError(f"{dim}={value}; expected a whole number, the size of a dimension")
    return int(value)


def _keys() -> str:
    return f"{', '.join(f'{key}=' for key in (*TEXT_KEYS, 'digits', 'unit'))} or DIM=SIZE"


def _or(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}"


def _quoted(value: str) -> str:
    if _BARE.match(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
