"""Sizes that remember how they came about, so that every dim of a need can be explained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

CONFIG = "config.json: "


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
    text = " x ".join(f"({one.text})" if " + " in one.text else one.text for one in factors)
    return Size(value, text, _all(factors), True)


def plus(*parts: Size) -> Size:
    """The sum."""
    text = " + ".join(part.text for part in parts)
    return Size(sum(part.value for part in parts), text, _all(parts), True)


def scaled(factor: int, size: Size) -> Size:
    """``factor`` times ``size``."""
    text = f"({size.text})" if " + " in size.text else size.text
    return Size(factor * size.value, f"{factor} x {text}", size.sources, True)


def rounded_up(size: Size, multiple: int, option: str) -> Size:
    """``size`` up to a multiple, because ``option`` asks for it; itself where it is one."""
    value = -(-size.value // multiple) * multiple
    if value == size.value:
        return size
    before = f"{size.text} = {size.value}" if size.compound else size.text
    text = f"{before}, up to a multiple of {multiple}"
    return Size(value, text, (*size.sources, option), True)


def _all(sizes: Iterable[Size]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source for size in sizes for source in size.sources))


def _grouped(sources: Iterable[str]) -> str:
    """The sources with the config's keys together: ``config.json: a, b; --seq``."""
    keys = [source.removeprefix(CONFIG) for source in sources if source.startswith(CONFIG)]
    rest = [source for source in sources if not source.startswith(CONFIG)]
    return "; ".join(([CONFIG + ", ".join(keys)] if keys else []) + rest)
