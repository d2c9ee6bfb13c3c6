"""The lines of a log's end that say something: no noise of make, no progress, no stack frames."""

from __future__ import annotations

import re
from collections.abc import Iterator

from registry_tool.verifier.logs import dialect
from registry_tool.verifier.logs.facts import LogFacts

_NOISE = re.compile(
    r"make(?:\[[0-9]+\])?: (?:Entering|Leaving|Nothing|\*\*\*|warning: )"  # make's own words
    r"|(?:mkdir|rm|cp|ln|touch) -"  # recipe lines, as make shows them
    r"|Traceback \(most recent call last\)|During handling of |The above exception was "
    r"|\W*[0-9]{1,3}(?:\.[0-9]+)? ?%|.{0,40}?[0-9]{1,3}%[ |\[]"  # progress
    r"|.*[0-9](?:it/s|s/it)\b"
    r"|\[?[0-9]+/[0-9]+\]?\s*\Z"
    r"|[\W_]*\Z",  # rules, carets
    re.A,
)
_FRAME = re.compile(r'\s*File "[^"]*", line [0-9]+')


def meaningful(facts: LogFacts, most: int) -> list[str]:
    """The last ``most`` lines that say something; of a log of noise alone, its last lines."""
    lines = list(_lines(facts))
    kept = [line for line in _without_frames(lines) if not _NOISE.match(line.strip())]
    chosen = kept or lines
    return [line.strip()[:300] for line in chosen[-most:]]


def _lines(facts: LogFacts) -> Iterator[str]:
    for line in dialect.without_escapes(facts.tail).split("\n"):
        # Of a line that carriage returns started anew, the last one is what a terminal shows.
        shown = line.rstrip("\r").rsplit("\r", 1)[-1].strip("\0\ufeff")
        text = shown if shown.isascii() else shown.encode("latin-1").decode("utf-8", "replace")
        if text.strip():
            yield text


def _without_frames(lines: list[str]) -> Iterator[str]:
    """Without the frames of tracebacks: a line that names the place, and the source below it."""
    in_frame = False
    for line in lines:
        if _FRAME.match(line):
            in_frame = True
        elif in_frame and line.startswith("    "):
            continue
        else:
            in_frame = False
            yield line
