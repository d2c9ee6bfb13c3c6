"""Sizes that remember how they came about, so that every dim of a need can be explained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

CONFIG = "config.json: "
_ROUNDED = ", up to a multiple of "
# What binds no tighter than a product, and is put in brackets inside one.
_LOOSE = (" + ", " / ", " // ", " of ")


@dataclass(frozen=True)
class Size:
    """A whole number from 1 with its arithmetic.

    ``text`` is what it was computed from, e.g. ``num_attention_heads 16 x head_dim 128``;
    ``sources`` say where those numbers stand (``config.json: head_dim``, ``--seq``).
    """

    value: int
    text: str
    sources: tuple[str, ...] = ()
    compound: bool = False

    @property
    def explained(self) -> str:
        """The arithmetic in one line, e.g. ``n_head 2 x head_dim 4 = 8 (config.json: n_head)``."""
        result = f" = {self.value}" if self.compound else ""
        where = _grouped(self.sources)
        return f"{self.text}{result} ({where})" if where else f"{self.text}{result}"


def times(*factors: Size) -> Size:
    """The product."""
    value = 1
    for factor in factors:
        value *= factor.value
    return Size(value, " x ".join(map(_factor, factors)), _all(factors), True)


def plus(*parts: Size) -> Size:
    """The sum."""
    text = " + ".join(_factor(part) if _ROUNDED in part.text else part.text for part in parts)
    return Size(sum(part.value for part in parts), text, _all(parts), True)


def scaled(factor: int, size: Size) -> Size:
    """``factor`` times ``size``."""
    return Size(factor * size.value, f"{factor} x {_factor(size)}", size.sources, True)


def divided(size: Size, divisor: Size) -> Size:
    """``size`` by ``divisor``, a single number that must divide it."""
    text = f"{_factor(size)} / {_factor(divisor)}"
    return Size(size.value // divisor.value, text, _all((size, divisor)), True)


def rounded_up(size: Size, multiple: int, option: str) -> Size:
    """``size`` up to a multiple, because ``option`` asks for it; itself where it is one."""
    value = -(-size.value // multiple) * multiple
    if value == size.value:
        return size
    before = f"{size.text} = {size.value}" if size.compound else size.text
    text = f"{before}{_ROUNDED}{multiple}"
    return Size(value, text, (*size.sources, option), True)


def _factor(size: Size) -> str:
    """The text of ``size`` inside a product, so that a reader gets the same number from it."""
    if _ROUNDED in size.text:
        return f"({size.text} = {size.value})"
    return f"({size.text})" if any(sign in size.text for sign in _LOOSE) else size.text


def _all(sizes: Iterable[Size]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source for size in sizes for source in size.sources))


def _grouped(sources: Iterable[str]) -> str:
    """The sources with the config's keys together: ``config.json: a, b; --seq``."""
    keys = [source.removeprefix(CONFIG) for source in sources if source.startswith(CONFIG)]
    rest = [source for source in sources if not source.startswith(CONFIG)]
    return "; ".join(([CONFIG + ", ".join(keys)] if keys else []) + rest)
