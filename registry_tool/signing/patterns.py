"""OpenSSH's patterns (`*`, `?`, and `!` before what must not match), in lists with commas."""

from __future__ import annotations

import re
from functools import lru_cache


# The same few names are held against the same few lines for every signature of a registry.
@lru_cache(maxsize=4096)
def matches_list(text: str, patterns: str) -> bool:
    """Whether ``text`` matches one of ``patterns``, and none that is negated."""
    found = False
    for pattern in patterns.split(","):
        if _matches(text, pattern.removeprefix("!")):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def _matches(text: str, pattern: str) -> bool:
    parts = {"*": ".*", "?": "."}
    words = "".join(parts.get(character, re.escape(character)) for character in pattern)
    return re.fullmatch(words, text, re.S) is not None
