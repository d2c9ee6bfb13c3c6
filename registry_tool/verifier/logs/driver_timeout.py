"""Whether a line gives a dispatch the driver's time-out as its time, alone or among others."""

from __future__ import annotations

import re

from registry_tool.verifier.logs.units import MICROSECONDS, TIME

DRIVER_TIMEOUT_MS = 6144
"""After so long the driver gives up on a dispatch and hands back what is there
(Xilinx/mlir-air#1824); a run that is timed all the same shows this as its latency."""
NEEDLES = ("6144", "6.144")
"""A line with none of these gives no such time."""
_UNIT_BEFORE = re.compile(rf"(?:[(\[_]|\bin ){TIME}(?![A-Za-z])", re.A)
_LIST = re.compile(r"[0-9.,/; \t]{0,80}")
_LAST_FIGURE = re.compile(r"[0-9] ?\Z")
_UNIT = re.compile(rf"{TIME}(?![A-Za-z/])", re.A)
_AT_TIMEOUT = re.compile(
    r"(?<![0-9A-Za-z.\x97])(?:6144[0-9]{3}(?:\.[0-9]+)?|6\.144[0-9]*[eE]\+?0?[36]"
    r"|6144(?:\.[0-9]+)?|6\.144[0-9]*)(?![0-9])(?!\.[0-9])"
)
# A figure of one dispatch, not that of a build or of the whole script.
_OF_A_DISPATCH = re.compile(
    r"(?i)\b(?:\w+_)?(?:time|times|latency|latencies|dispatch|iter|iteration|run|took|elapsed|duration|"
    r"avg|average|mean|median|min|max|kernel|npu)(?:\b|_)",
    re.A,
)
_OF_ELSE = re.compile(
    r"(?i)\b(?:compil\w*|build\w*|built|link\w*|aircc|aiecc|pipeline|load\w*|setup|total|wall)\b",
    re.A,
)


def is_at_driver_timeout(text: str) -> bool:
    """Whether a line gives a dispatch the driver's time-out of 6144 ms, alone or among others.

    The unit stands behind the figure, behind the list that it is in, or before it: ``(us)``.
    """
    if _OF_ELSE.search(text) or not _OF_A_DISPATCH.search(text):
        return False
    before: str | None = None
    read = 0
    for found in _AT_TIMEOUT.finditer(text):
        for earlier in _UNIT_BEFORE.finditer(text, read, found.start()):
            before = earlier[1]
        read = found.end()
        unit = _unit_after(text, read) or before
        if unit and -0.01 <= float(found[0]) * MICROSECONDS[unit] / 1e3 - DRIVER_TIMEOUT_MS < 1:
            return True
    return False


def _unit_after(text: str, start: int) -> str | None:
    """The unit behind the figure that ends at ``start``, or behind the list that goes on there."""
    # No unit begins like a list goes on: only where it ends can one stand.
    more = _LIST.match(text, start)
    assert more is not None
    unit = _UNIT.match(text, more.end())
    alone = not more[0].strip(" \t")
    return unit[1] if unit and (alone or _LAST_FIGURE.search(more[0])) else None
