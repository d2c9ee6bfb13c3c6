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
_UNIT_AFTER = re.compile(rf"[ \t]*(?:[0-9.,/; \t]{{0,80}}[0-9] ?)?{TIME}(?![A-Za-z/])", re.A)
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
            before, read = earlier[1], earlier.end()
        after = _UNIT_AFTER.match(text, found.end())
        unit = after[1] if after else before
        if unit and -0.01 <= float(found[0]) * MICROSECONDS[unit] / 1e3 - DRIVER_TIMEOUT_MS < 1:
            return True
    return False
