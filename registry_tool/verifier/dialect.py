"""What one line of a harness says: the dialect's forms as patterns; no files, no judgement.

A line is text of one character a byte (latin-1): str is searched four times as fast as bytes, and
offsets stay those of the bytes. re.A keeps \\s and \\w from seeing more than ASCII in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from registry_tool.verifier.facts import Kind, Layer, Mismatch, Passed, Precision, Reference, Timing

Statement = Passed | Precision | Reference | Timing

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NOT_FINITE = r"[+-]?(?i:nan|infinity|inf)"
_N = rf"({_NUMBER}|{_NOT_FINITE})"
_SIGNED = rf"([+-]?{_NUMBER}|{_NOT_FINITE})"
_END = r"[ \t]*"
_MICRO = ("\xc2\xb5", "\xce\xbc")  # the two signs for micro, in UTF-8
_TIME = rf"(ns|us|(?:{'|'.join(_MICRO)})s|usec|ms|msec|s|sec)"
_RATE = r"([KMGTP]?)FLOP(?:/s|S|s)?|([KMGTP]i?)B/s"
_WORDS = r"(?:[\w./-]+ ){0,4}"

_PRECISION = re.compile(
    r"\[precision\] Output ([0-9]{1,6}) \(([0-9]{1,18}) elements\): "
    rf"mean_rel_L1={_N} \| rel_err max={_N} \| abs_err max={_N} \| rtol={_N} atol={_N}{_END}"
)
_REFERENCE = re.compile(rf"\[reference\] Output ([0-9]{{1,6}}): zero_share={_N}{_END}")
_LATENCY = re.compile(
    rf"Latency \({_TIME}\): {_N}"
    rf"((?: \| (?:Throughput|(?:Effective )?Bandwidth): [^ |]+ [A-Za-z/]+)*){_END}"
)
_LATENCY_REST = re.compile(rf"[A-Za-z ]+: {_N} (?:{_RATE})")
_AVERAGE_TIME = re.compile(rf"(?:Avg|Average|Mean) NPU {_WORDS}time: ?{_N} ?{_TIME}\.?{_END}", re.A)
_AVERAGE_RATE = re.compile(
    rf"(?:Avg|Average|Mean|Effective) (?:NPU )?{_WORDS}"
    rf"(?:([kmgtp]?)flops|[Tt]hroughput|[Bb]andwidth): ?{_N}(?: ?(?:{_RATE}))?\.?{_END}",
    re.A,
)
_MISMATCH = re.compile(r"\s*Mismatches: ([0-9]{1,18}) / ([0-9]{1,18}) elements", re.A)
_DEVICE = re.compile(r"(?:Detected NPU device|Target device from AIR_TARGET_DEVICE): *([!-~]+)")
_DRIVER_TIMEOUT = (
    r".*\b(?i:time|latency)[^0-9]*"
    r"(?:(?:6144[0-9]{3}(?:\.[0-9]+)?|6\.144[0-9]*e\+06) ?us|6144(?:\.[0-9]+)? ?ms)\b"
)
_LAYER_HEAD = r"\|\s*Layer\s*\|\s*cos_p5\s*\|\s*cos_min\s*\|\s*cos_median\s*\|\s*max_abs\s*\|\s*\Z"
_LAYER = re.compile(
    r"\|\s*([0-9]{1,6})\s*\|\s*" + r"\s*\|\s*".join([_SIGNED] * 4) + r"\s*\|\s*", re.A
)
_LAYER_RULE = re.compile(r"\|[-:|\s]+\|\s*", re.A)
_LAYERS_CLAIMED = re.compile(r"(?:\bn_layers=|'n_layer_records': )([0-9]{1,6})\b", re.A)
# Colours, erasing to the line's end, cursor on and off, titles: nothing that moves the cursor. A
# line whose letters stand elsewhere on the screen than in the file is no line of the dialect.
_COLOUR = re.compile(
    r"\x1b\[[0-9;:]*[mK]|\x1b\[\?[0-9;]*[hl]|\x1b\([AB0]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
)
_COLOUR_IN_NUMBER = re.compile(r"[0-9.](?:\x1b\[[0-9;:]*[mK])+[0-9.]")
_ANY_ESCAPE = re.compile(_COLOUR.pattern + r"|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\^_=>78]")

_GIGA = {"": 1e-9, "K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3, "P": 1e6} | {
    f"{prefix}i": 1024.0**power * 1e-9 for power, prefix in enumerate("KMGTP", 1)
}
_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "usec": 1.0, "ms": 1e3, "msec": 1e3, "s": 1e6, "sec": 1e6}
_MICROSECONDS |= {f"{micro}s": 1.0 for micro in _MICRO}


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
    latency_us = printed * _MICROSECONDS[match[1]]
    return Timing(latency_us, rates.get("gflops"), rates.get("gbps"), printed, line)


def _average(text: str, line: int) -> Timing | None:
    match = _AVERAGE_TIME.fullmatch(text)
    if match:
        printed = float(match[1])
        return Timing(printed * _MICROSECONDS[match[2]], None, None, printed, line)
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
        return {"gflops": float(value) * _GIGA[flops_unit]}
    if bytes_unit is not None:
        return {"gbps": float(value) * _GIGA[bytes_unit]}
    return {}


_Form = Callable[[str, int], Statement | None]
_FORMS: dict[str, tuple[_Form, ...]] = {
    "P": (_passed,),
    "[": (_precision, _reference),
    "L": (_latency,),
    "A": (_average,),
    "M": (_average,),
    "E": (_average,),
}


class _Sign(NamedTuple):
    """What speaks against a run, or explains it, wherever it stands in a line.

    ``pattern`` must match from the line's start; None: the needle is enough.
    """

    kind: Kind
    needle: str
    pattern: re.Pattern[str] | None = None


def _sign(kind: Kind, needle: str, pattern: str) -> _Sign:
    return _Sign(kind, needle, re.compile(pattern, re.A))


_SIGNS = (
    _sign("torn", "[prec", r"\s*\[prec"),
    _sign("fragment", "mean_rel_L1", r"(?!\s*(?://|#|echo ))"),
    _sign("failed", "failed.", r"\s*failed\.\s*\Z"),
    _sign("other_fail", "fail.", r"\s*fail\.\s*\Z"),
    _sign("other_fail", "FAIL", r"\s*FAIL(?:ED)?(?=[\s:!.]|\Z)(?!\s*:\s*0\b)"),
    _sign("other_fail", "FAIL", r"\s*(?:\[verify\] FAIL\b|Result: \*\*FAIL)"),
    _sign("other_fail", "Error at index ", r"\s*Error at index [0-9]"),
    _sign("other_pass", "PASS", r"\s*PASS(?:ED)?(?:: |\s*[.]?\s*\Z)"),
    _sign("other_pass", "PASS", r"\s*(?:\[verify\] PASS\b|Result: \*\*PASS)"),
    _sign("mismatch", "Mismatches: ", _MISMATCH.pattern),
    _sign("bad_output", "ERROR: Output ", r"\s*ERROR: Output [0-9]"),
    _sign("correlation", "correlation: ", r"\s*Output [0-9]+ correlation: "),
    _Sign("sampled", "Stochastic check"),
    _sign("no_outputs", "No outputs to validate", r"\s*No outputs to validate"),
    _Sign("compile_only", "ompile-only done"),
    _sign("device", "Detected NPU device", r".*?" + _DEVICE.pattern),
    _sign("device", "AIR_TARGET_DEVICE", r".*?" + _DEVICE.pattern),
    _Sign("fallback", "could not detect the NPU generation"),
    _Sign("fallback", "falling back to '"),
    _Sign("emulated", "Emulated target "),
    _Sign("device_timeout", "ERT_CMD_STATE_TIMEOUT"),
    # One dispatch at the driver's time-out (6144 ms), in a list of times or as their maximum.
    _sign("device_timeout", "6144", _DRIVER_TIMEOUT),
    _sign("device_timeout", "6.144", _DRIVER_TIMEOUT),
    _Sign("crash", "Traceback (most recent call last)"),
    _Sign("crash", "core dumped"),
    _Sign("crash", "Segmentation fault"),
    _Sign("crash", "terminate called"),
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
    _Sign("repeat_count", "Repeat count exceeds"),
    _Sign("descriptors", "exhausted available buffer descriptor"),
    _Sign("l2_capacity", "L2 capacity exceeded"),
    _Sign("dispatch_state", "qds_device::wait()"),
    _Sign("stride", "op Stride "),
    _Sign("missing_module", "No module named "),
    _Sign("lock_busy", "timeout while waiting to get lock"),
)
_UNMISTAKABLE = tuple(sign for sign in _SIGNS if sign.pattern is None)
LONGEST_NEEDLE = max(len(sign.needle) for sign in _UNMISTAKABLE)
NEEDLES = tuple(
    dict.fromkeys(
        [sign.needle for sign in _SIGNS]
        + ["[reference]", "Latency (", "Avg ", "Average ", "Mean NPU ", "Effective ", "\x1b", "\0"]
    )
)
"""A line with none of these says nothing."""


def signs(text: str) -> tuple[Kind, ...]:
    """What a line says that is no `statement`."""
    return _signs_again(text) if len(text) < 200 else _signs(text)


def _signs(text: str) -> tuple[Kind, ...]:
    found = [
        kind
        for kind, needle, pattern in _SIGNS
        if needle in text and (pattern is None or pattern.match(text))
    ]
    if "\0" in text:
        whole = text.replace("\0", "")
        if whole.lstrip(" \t").startswith("[prec") or "mean_rel_L1" in whole:
            found.append("torn")
    return tuple(found)


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
    return text if _COLOUR_IN_NUMBER.search(text) else _COLOUR.sub("", text)


def without_escapes(text: str) -> str:
    """The line without any terminal control, as good as it gets."""
    return _ANY_ESCAPE.sub("", text)
