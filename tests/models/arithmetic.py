"""The arithmetic of a dim worked out from its text alone: the number that a reader gets from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

_ROUNDED = re.compile(r",? up to a multiple of (\d+)")
_TOKEN = re.compile(r"\d+(?:\.\d+)?|//|[()+/^=]|[A-Za-z_][\w.]*")
# Words that count; any other names the number beside it (`head_dim 128`, `26 patches`).
_WORDS = {"x": "*", "of": "*", "squared": "squared", "one": "1"}


def worked_out(explained: str) -> int:
    """The value of the left side of ``explained``, as `Size.explained` writes it.

    Raises AssertionError if it is not what the text itself gives as its result.
    """
    text = _ROUNDED.sub(r" ^ \1", _without_sources(explained))
    tokens = [_WORDS.get(word, word) for word in _TOKEN.findall(text)]
    reader = _Reader([one for one in tokens if one in _WORDS.values() or not one[0].isalpha()])
    value = reader.expression()
    assert reader.at_end, f"cannot read {explained!r}"
    return int(value)


def _without_sources(explained: str) -> str:
    """The text without the bracket at its end, which may hold others."""
    if not explained.endswith(")"):
        return explained
    depth = 0
    for at in range(len(explained) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(explained[at], 0)
        if depth == 0:
            return explained[:at]
    raise AssertionError(f"brackets do not match in {explained!r}")


class _Reader:
    """A sum of products, of which brackets, results (`= 7`) and rounding (`^ 64`) are parts."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._tokens)

    def _take(self, *wanted: str) -> Iterator[str]:
        while not self.at_end and self._tokens[self._at] in wanted:
            self._at += 1
            yield self._tokens[self._at - 1]

    def expression(self) -> Fraction:
        value = self._product()
        for _ in self._take("+"):
            value += self._product()
        for sign in self._take("=", "^"):
            number = self._primary()
            if sign == "=":
                assert int(value) == number, (self._tokens, value, number)
            value = number if sign == "=" else -(-int(value) // number) * number
        return value

    def _product(self) -> Fraction:
        value = self._power()
        for sign in self._take("*", "/", "//"):
            other = self._power()
            value = value * other if sign == "*" else value / other
            value = Fraction(value.__floor__()) if sign == "//" else value
        return value

    def _power(self) -> Fraction:
        value = self._primary()
        for _ in self._take("squared"):
            value *= value
        return value

    def _primary(self) -> Fraction:
        token = self._tokens[self._at]
        self._at += 1
        if token == "(":
            value = self.expression()
            assert self._tokens[self._at] == ")"
            self._at += 1
            return value
        return Fraction(token)
