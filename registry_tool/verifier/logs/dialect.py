"""What one line of a harness says: the dialect's forms as patterns; no files, no judgement.

A line is text of one character a byte (latin-1): str is searched four times as fast as bytes, and
offsets stay those of the bytes. re.A keeps \\s and \\w from seeing more than ASCII in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from registry_tool.verifier.logs.driver_timeout import NEEDLES as TIMEOUT_NEEDLES
from registry_tool.verifier.logs.driver_timeout import is_at_driver_timeout
from registry_tool.verifier.logs.facts import (
    Kind,
    Layer,
    Mismatch,
    Passed,
    Precision,
    Reference,
    Timing,
)
from registry_tool.verifier.logs.units import GIGA, MICROSECONDS, RATE, TIME

Statement = Passed | Precision | Reference | Timing

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NOT_FINITE = r"[+-]?(?i:nan|infinity|inf)"
_N = rf"({_NUMBER}|{_NOT_FINITE})"
_SIGNED = rf"([+-]?{_NUMBER}|{_NOT_FINITE})"
_END = r"[ \t]*"
_WORDS = r"(?:[\w./-]+ ){0,4}"

_PRECISION = re.compile(
    r"\[precision\] Output ([0-9]{1,6}) \(([0-9]{1,18}) elements\): "
    rf"mean_rel_L1={_N} \| rel_err max={_N} \| abs_err max={_N} \| rtol={_N} atol={_N}{_END}"
)
_REFERENCE = re.compile(rf"\[reference\] Output ([0-9]{{1,6}}): zero_share={_N}{_END}")
_LATENCY = re.compile(
    rf"Latency \({TIME}\): {_N}"
    rf"((?: \| (?:Throughput|(?:Effective )?Bandwidth): [^ |]+ [A-Za-z/]+)*){_END}"
)
_LATENCY_REST = re.compile(rf"[A-Za-z ]+: {_N} (?:{RATE})")
_AVERAGE_TIME = re.compile(rf"(?:Avg|Average|Mean) NPU {_WORDS}time: ?{_N} ?{TIME}\.?{_END}", re.A)
_AVERAGE_LATENCY = re.compile(
    rf" *(?:Avg|Average|Mean) (?:NPU )?[Ll]atency: ?{_N} ?{TIME}(?: +\({_N} ?(?:{RATE})\))?{_END}",
    re.A,
)
_AVERAGE_RATE = re.compile(
    rf"(?:Avg|Average|Mean|Effective) (?:NPU )?{_WORDS}"
    rf"(?:([kmgtp]?)flops|[Tt]hroughput|[Bb]andwidth): ?{_N}(?: ?(?:{RATE}))?\.?{_END}",
    re.A,
)
_MISMATCH = re.compile(r".*?Mismatches: ([0-9]{1,18}) / ([0-9]{1,18}) elements", re.A)
_DEVICE = re.compile(r"(?:Detected NPU device|Target device from AIR_TARGET_DEVICE): *([!-~]+)")
_LAYER_HEAD = r"\|\s*Layer\s*\|\s*cos_p5\s*\|\s*cos_min\s*\|\s*cos_median\s*\|\s*max_abs\s*\|\s*\Z"
_LAYER = re.compile(
    r"\|\s*([0-9]{1,6})\s*\|\s*" + r"\s*\|\s*".join([_SIGNED] * 4) + r"\s*\|\s*", re.A
)
_LAYER_RULE = re.compile(r"\|[-:|\s]+\|\s*", re.A)
_LAYERS_CLAIMED = re.compile(r"(?:\bn_layers=|'n_layer_records': )([0-9]{1,6})\b", re.A)
# Colours, erasing to the line's end, cursor on and off, titles: nothing that moves the cursor. A
# line whose letters stand elsewhere on the screen than in the file is no line of the dialect.
_COLOUR = re.compile(
    r"\x1b\[[0-9;:]*m|\x1b\[0?K|\x1b\[\?[0-9;]*[hl]|\x1b\([AB0]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
)
# Erasing the whole line or its start is harmless only before anything stands in it.
_ERASED_AT_START = re.compile(r"(?:\x1b\[[0-9;:]*m)*\x1b\[[12]K")
_COLOUR_IN_NUMBER = re.compile(r"[0-9.](?:\x1b\[[0-9;:]*[mK])+[0-9.]")
_ANY_ESCAPE = re.compile(_COLOUR.pattern + r"|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\^_=>78]")


def statement(text: str, line: int) -> Statement | None:
    """What a whole line of its own states for the run, or None if it is no such line."""
    for form in _FORMS.get(text[:1], ()):
        found = form(text, line)
        if found is not None:
            return found
    return None


def survives_the_end(text: str, found: Statement) -> bool:
    """Whether a line at the log's very end, with no line end, cannot have lost a digit."""
    return isinstance(found, Passed) or (isinstance(found, Timing) and text[-1] not in "0123456789")


def _passed(text: str, line: int) -> Passed | None:
    del line
    return Passed() if text.rstrip(" \t") == "PASS!" else None


def _precision(text: str, line: int) -> Precision | None:
    match = _PRECISION.fullmatch(text)
    if match is None:
        return None
    index, elements, mean, max_rel, max_abs, rtol, atol = match.groups()
    return Precision(
        int(index),
        int(elements),
        float(mean),
        float(max_rel),
        float(max_abs),
        float(rtol),
        float(atol),
        line,
    )


def _reference(text: str, line: int) -> Reference | None:
    del line
    match = _REFERENCE.fullmatch(text)
    if match is None or not 0.0 <= float(match[2]) <= 1.0:
        return None
    return Reference(int(match[1]), float(match[2]))


def _latency(text: str, line: int) -> Timing | None:
    match = _LATENCY.fullmatch(text)
    if match is None:
        return None
    rates: dict[str, float] = {}
    for part in filter(None, match[3].split(" | ")):
        rate = _LATENCY_REST.fullmatch(part)
        if rate is None:
            return None
        rates |= _rate(rate[1], rate[2], rate[3])
    printed = float(match[2])
    latency_us = printed * MICROSECONDS[match[1]]
    return Timing(latency_us, rates.get("gflops"), rates.get("gbps"), printed, line)


def _average(text: str, line: int) -> Timing | None:
    match = _AVERAGE_TIME.fullmatch(text)
    if match:
        printed = float(match[1])
        return Timing(printed * MICROSECONDS[match[2]], None, None, printed, line)
    match = _AVERAGE_LATENCY.fullmatch(text)
    if match:
        said, unit, value, flops_unit, bytes_unit = match.groups()
        rates = _rate(value, flops_unit, bytes_unit) if value else {}
        printed = float(said)
        latency_us = printed * MICROSECONDS[unit]
        return Timing(latency_us, rates.get("gflops"), rates.get("gbps"), printed, line)
    match = _AVERAGE_RATE.fullmatch(text)
    if match is None:
        return None
    named, value, flops_unit, bytes_unit = match.groups()
    if named is not None:  # the unit is in the name: `Avg NPU gflops: 41.3`
        flops_unit, bytes_unit = named.upper(), None
    rates = _rate(value, flops_unit, bytes_unit)
    if not rates:
        return None
    return Timing(None, rates.get("gflops"), rates.get("gbps"), None, line)


def _rate(value: str, flops_unit: str | None, bytes_unit: str | None) -> dict[str, float]:
    if flops_unit is not None:
        return {"gflops": float(value) * GIGA[flops_unit]}
    if bytes_unit is not None:
        return {"gbps": float(value) * GIGA[bytes_unit]}
    return {}


_Form = Callable[[str, int], Statement | None]
_FORMS: dict[str, tuple[_Form, ...]] = {
    "P": (_passed,),
    "[": (_precision, _reference),
    "L": (_latency,),
    "A": (_average,),
    " ": (_average,),
    "M": (_average,),
    "E": (_average,),
}


class _Sign(NamedTuple):
    """What speaks against a run, or explains it, wherever it stands in a line.

    ``says`` decides whether a line with the needle says so; None: the needle is enough.
    """

    kind: Kind
    needle: str
    says: Callable[[str], object] | None = None


def _sign(kind: Kind, needle: str, pattern: str) -> _Sign:
    """A sign whose pattern must match from the line's start."""
    return _Sign(kind, needle, re.compile(pattern, re.A).match)


_FAIL_WORDS = re.compile(
    r"(?i:\W{0,5}\s*(?:(?:the )?(?:tests?|verification|validation|comparison|check|result"
    r"|output [0-9]+)(?: has)?\s*:?\s*)?fail(?:ed|ure)?\s*[.!]*\s*\W{0,5})",
    re.A,
)


def _says_failed(text: str) -> bool:
    """Whether a line says that it failed and nothing else; `failed.` is the dialect's own word."""
    words = text.strip()
    return len(words) <= 80 and words != "failed." and _FAIL_WORDS.fullmatch(words) is not None


_SIGNS = (
    _sign("torn", "[prec", r"\s*\[prec|.*\[precision\] Output [0-9]+ \("),
    _sign("torn", "_err max=", r".*(?:rel_err max=\S+ \||\| abs_err max=\S)"),
    _sign("torn", " atol=", r".*\| rtol=\S+ atol="),
    _Sign("fragment", "mean_rel_L1"),
    _sign("failed", "failed.", r"\s*failed\.\s*\Z"),
    _Sign("other_fail", "fail", _says_failed),
    _Sign("other_fail", "Fail", _says_failed),
    _Sign("other_fail", "FAIL", _says_failed),
    _sign("other_fail", "FAIL", r"\s*FAIL(?:ED)?(?=[\s:!.]|\Z)(?!\s*:\s*0\b)"),
    _sign("other_fail", "FAIL", r"\s*(?:\[verify\] FAIL\b|Result: \*\*FAIL)"),
    _sign("other_fail", "Error at index ", r"\s*Error at index [0-9]"),
    _sign("other_pass", "PASS", r"\s*PASS(?:ED)?(?:: |\s*[.]?\s*\Z)"),
    _sign("other_pass", "PASS", r"\s*(?:\[verify\] PASS\b|Result: \*\*PASS)"),
    _sign("mismatch", "Mismatches: ", _MISMATCH.pattern),
    _sign("bad_output", "ERROR: Output ", r"\s*ERROR: Output [0-9]"),
    _Sign("bad_output", "does not meet expected output"),
    _sign("correlation", "correlation: ", r"\s*Output [0-9]+ correlation: "),
    _Sign("sampled", "Stochastic check"),
    _sign(
        "sampled",
        "ampled ",
        r".*(?:\b[Ss]ampled (?:check|comparison|elements|outputs|points|positions)|[0-9] sampled )",
    ),
    _sign("sampled", "random sample", r".*[0-9] random samples?\b"),
    _sign("no_outputs", "No outputs to validate", r"\s*No outputs to validate"),
    _Sign("compile_only", "ompile-only done"),
    _sign("device", "Detected NPU device", r".*?" + _DEVICE.pattern),
    _sign("device", "AIR_TARGET_DEVICE", r".*?" + _DEVICE.pattern),
    _Sign("fallback", "could not detect the NPU generation"),
    _Sign("fallback", "falling back to 'npu"),
    _Sign("emulated", "Emulated target "),
    _Sign("device_timeout", "ERT_CMD_STATE_TIMEOUT"),
    # One dispatch at the driver's time-out (6144 ms), in a list of times or as their maximum.
    *(_Sign("device_timeout", needle, is_at_driver_timeout) for needle in TIMEOUT_NEEDLES),
    _Sign("crash", "Traceback (most recent call last)"),
    _Sign("crash", "core dumped"),
    _Sign("crash", "Segmentation fault"),
    _Sign("crash", "terminate called"),
    _sign("crash", "Bus error", r".*(?:\A|: )\s*Bus error\b"),
    _sign("crash", "Aborted", r"\s*Aborted\s*\Z"),
    _sign("crash", "Killed", r"\s*Killed\s*\Z"),
    _Sign("crash", "double free or corruption"),
    _Sign("crash", "unexpected command state"),
    _Sign("crash", "ERT_CMD_STATE_ABORT"),
    _Sign("crash", "ERT_CMD_STATE_ERROR"),
    _Sign("crash", "kernel run did not complete"),
    _Sign("crash", "pass pipeline failed"),
    _Sign("crash", "compilation failed"),
    _sign("crash", "error: ", r"(?:.*: )?(?:fatal )?error: "),
    _sign("exception", "Error", r"\s*[A-Za-z_][\w.]*(?:Error|Exception)(?:: |\s*\Z)"),
    _Sign("exception", "what():"),
    _sign("make_error", "*** ", r"make(?:\[[0-9]+\])?: \*\*\* "),
    _sign("layer", "cos_p5", _LAYER_HEAD),
    _sign("layers_claimed", "n_layer", r".*?" + _LAYERS_CLAIMED.pattern),
    _sign("older_device", "aie2", r".*(?:AIE_TARGET=|--arch[ =]|--target=)aie2(?![a-z0-9])"),
    _Sign("repeat_count", "Repeat count exceeds"),
    _Sign("descriptors", "exhausted available buffer descriptor"),
    _Sign("l2_capacity", "L2 capacity exceeded"),
    _Sign("dispatch_state", "qds_device::wait()"),
    _sign("stride", "op Stride ", r".*op Stride -?[0-9]+ exceeds"),
    _Sign("l1_capacity", "allocated buffers exceeded available memory"),
    _Sign("missing_module", "No module named "),
    _sign(
        "peano",
        "PEANO_INSTALL_DIR",
        r".*PEANO_INSTALL_DIR[^=/]{0,40}"
        r"(?i:\b(?:not (?:set|found|defined)|unset|undefined|empty|missing|must be))",
    ),
    _Sign("lock_busy", "timeout while waiting to get lock"),
    # Python's filelock: the harness's own lock.
    _sign("lock_busy", "could not be acquired", r".*[Ll]ock.*could not be acquired"),
)
# A comment, or a command that only says something (make shows both): no word of the run itself.
_ASIDE = re.compile(r"\s*(?:#{1,2}(?:\s|\Z)|//|(?:\++ |@)?(?:echo|printf)\b)", re.A)
_UNMISTAKABLE = tuple(sign for sign in _SIGNS if sign.says is None)
LONGEST_NEEDLE = max(len(sign.needle) for sign in _UNMISTAKABLE)
NEEDLES = tuple(
    dict.fromkeys(
        [sign.needle for sign in _SIGNS]
        + ["[reference]", "Latency (", "Avg ", "Average ", "Mean NPU ", "Effective ", "\x1b", "\0"]
    )
)
"""A line with none of these says nothing."""


def signs(text: str) -> tuple[Kind, ...]:
    """What a line says that is no `statement`; each kind once."""
    return _signs_again(text) if len(text) < 200 else _signs(text)


def _signs(text: str) -> tuple[Kind, ...]:
    if _ASIDE.match(text):
        return ()
    found = [
        kind for kind, needle, says in _SIGNS if needle in text and (says is None or says(text))
    ]
    return tuple(dict.fromkeys(found))


# The gate reads thousands of logs that say the same in most of their lines.
_signs_again = lru_cache(maxsize=512)(_signs)


def unmistakable(text: str) -> list[tuple[int, int, Kind]]:
    """Start, end and kind of every sign in ``text`` that needs no whole line."""
    return sorted(
        (match.start(), match.end(), sign.kind)
        for sign in _UNMISTAKABLE
        if sign.needle in text
        for match in re.finditer(re.escape(sign.needle), text)
    )


def starts_like_precision(text: str) -> bool:
    """Whether a log that ends in ``text`` may have ended inside a precision line."""
    return len(text) >= 2 and "[precision] Output ".startswith(text)


def mismatch(text: str, line: int) -> Mismatch:
    """The counts in a line of kind `mismatch`."""
    match = _MISMATCH.match(text)
    assert match is not None
    return Mismatch(int(match[1]), int(match[2]), line)


def device(text: str) -> str:
    """The device in a line of kind `device`."""
    match = _DEVICE.search(text)
    assert match is not None
    return match[1]


def layers_claimed(text: str) -> int:
    """The number of layers in a line of kind `layers_claimed`."""
    return max(int(count) for count in _LAYERS_CLAIMED.findall(text))


def layer(text: str, line: int) -> Layer | None:
    """The figures in a row of a diagnosis table, or None."""
    match = _LAYER.fullmatch(text)
    if match is None:
        return None
    index, p5, least, median, max_abs = match.groups()
    return Layer(int(index), float(p5), float(least), float(median), float(max_abs), line)


def is_layer_rule(text: str) -> bool:
    """Whether a row of a diagnosis table is the rule below its heading."""
    return _LAYER_RULE.fullmatch(text) is not None


def without_colour(text: str) -> str:
    """The line without its colours; untouched where one would glue a number's halves together."""
    erased = _ERASED_AT_START.match(text)
    if erased is not None:
        text = text[erased.end() :]
    return text if _COLOUR_IN_NUMBER.search(text) else _COLOUR.sub("", text)


def without_escapes(text: str) -> str:
    """The line without any terminal control, as good as it gets."""
    return _ANY_ESCAPE.sub("", text)
