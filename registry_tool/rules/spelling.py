"""Whether an unknown name is a known one, misspelt."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ALIKE = 0.84


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` was probably meant to be, or None.

    Names with different digits are different things (Qwen2-0.5B and Qwen2.5-0.5B).
    """
    from difflib import SequenceMatcher

    digits, letters = _parts(name)
    best: tuple[float, str] = (_ALIKE, "")
    for candidate in known:
        other_digits, other_letters = _parts(candidate)
        if digits == other_digits:
            ratio = SequenceMatcher(None, letters, other_letters).ratio()
            best = max(best, (ratio, candidate))
    return best[1] or None


def _parts(name: str) -> tuple[str, str]:
    folded = name.casefold()
    return " ".join(re.findall(r"[0-9]+", folded)), re.sub(r"[^a-z]", "", folded)
