"""What shows a symptom in a run: each function says it in words, or None; no causes here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from registry_tool.verifier.causes.lines import meaningful
from registry_tool.verifier.causes.setup import Setup
from registry_tool.verifier.logs.facts import Kind, LogFacts
from registry_tool.verifier.logs.judge import HOPELESS, Judgement

_EDGE_SHARE = 1e-4
"""Up to this share of wrong elements is a few elements beside a sound datapath."""
_CLIFF = 0.5
"""A fall of the cosine from one layer to the next that is silent corruption, not rounding."""
# What verdicts say of a compile-only run that our limit ended.
_COMPILE_ENDED = "compiling was ended at its time limit"
# What argparse and make say of a flag, a value or a target that they do not have.
_MISUNDERSTOOD = re.compile(
    r"error: (?:unrecognized arguments: |argument .*: (?:invalid|expected|ignored)"
    r"|ambiguous option: |the following arguments are required: )|No rule to make target "
)
# A line of source that a traceback or a compiler shows: its words are not what happened.
_SOURCE = re.compile(
    r"(?:raise|assert|return|print|throw|except|if|f?[\"'])\b|[0-9]+ +\||f?[\"']", re.A
)
_COMPILING = re.compile(
    r"compile-only|\b(?:aircc|aiecc|clang(?:\+\+)?|llc|opt|xclbinutil|bootgen|chess\w*|ninja|cmake)\b"
    r"|\b[Cc]ompil(?:e|ing)\b(?!-mode)|\bpass pipeline\b|\.mlir\b",
    re.A,
)
_RUNNING = re.compile(
    r"\b[Rr]unning (?:kernel|the kernel|on)|\b[Dd]ispatch|\b[Ii]teration\b|\b[Ww]arm-?up\b|\[XRT\]"
    r"|\bLoading xclbin|Compile-only done",
    re.A,
)


class Seen(NamedTuple):
    """One stream of a run that did not pass, all of them, and what was run (if known)."""

    facts: LogFacts
    judgement: Judgement
    setup: Setup | None
    streams: tuple[LogFacts, ...]

    @property
    def reason(self) -> str:
        """Why it did not pass."""
        return self.judgement.reason or ""


Signature = Callable[[Seen], str | None]


def line(*kinds: Kind) -> Signature:
    """A line of one of ``kinds``, unless it is source code that a traceback shows."""

    def shows(seen: Seen) -> str | None:
        for kind in kinds:
            for mark in seen.facts.marks.get(kind, ()):
                if not _SOURCE.match(mark.text):
                    return mark.text
        return None

    return shows


def reason(*words: str) -> Signature:
    """Any of ``words`` in the judgement's reason."""

    def shows(seen: Seen) -> str | None:
        return seen.reason if any(word in seen.reason for word in words) else None

    return shows


def device_timeout(seen: Seen) -> str | None:
    """The device gave up: it says so, or a latency is the driver's time-out."""
    mark = seen.facts.first("device_timeout")
    if mark is not None:
        return mark.text
    if "is the driver's time-out" in seen.reason and seen.facts.timings:
        return f"a latency of {seen.judgement.latency_us:g} us, the driver's time-out"
    return None


def _ended_by_us(seen: Seen) -> bool:
    """Our limit ended it, and neither stream tells of a time-out of the device."""
    by_device = any(words in seen.reason for words in ("device timed out", "driver's time-out"))
    return "ended at its time limit" in seen.reason and not by_device


def compile_limit(seen: Seen) -> str | None:
    """Our own limit ended it while it compiled."""
    if not _ended_by_us(seen):
        return None
    if _COMPILE_ENDED in seen.reason:
        return seen.reason
    if seen.setup is not None and seen.setup.step == "compile":
        return "a compile-only run was ended at its time limit"
    last = _last_line(seen)
    if _came_to_run(seen) or not _COMPILING.search(last):
        return None
    return f"ended at the time limit while compiling: {last}"


def run_limit(seen: Seen) -> str | None:
    """Our own limit ended it while the device worked: no word of a time-out from the driver."""
    if not _ended_by_us(seen) or not _came_to_run(seen):
        return None
    return f"ended at the time limit after it had come to run: {_last_line(seen)}"


def unknown_limit(seen: Seen) -> str | None:
    """Our own limit ended it, and nothing tells whether it still compiled."""
    if not _ended_by_us(seen) or compile_limit(seen) or run_limit(seen):
        return None
    return "ended at the time limit without a figure"


def _came_to_run(seen: Seen) -> bool:
    if _COMPILE_ENDED in seen.reason:
        return False
    if seen.setup is not None and seen.setup.step == "compile":
        return False
    return any(
        facts.timings
        or facts.outputs
        or facts.has("pass", "failed", "bad_output")
        or any(_RUNNING.search(text) for text in meaningful(facts, 5))
        for facts in seen.streams
    )


def _last_line(seen: Seen) -> str:
    """The last line that says something, of standard output if it has one."""
    return next((line for facts in seen.streams for line in meaningful(facts, 1)), "")


def misunderstood(seen: Seen) -> str | None:
    """The script or its Makefile does not know what it was asked."""
    for kind in ("crash", "make_error"):
        for mark in seen.facts.marks.get(kind, ()):
            if _MISUNDERSTOOD.search(mark.text):
                return mark.text
    return None


def not_finite(seen: Seen) -> str | None:
    """NaN or infinity in an output."""
    for output in seen.facts.outputs:
        if not output.finite:
            return f"NaN or infinity in output {output.index}"
    return None


def all_zero(seen: Seen) -> str | None:
    """A mean_rel_L1 of exactly 1: the output is zeros."""
    for output in seen.facts.outputs:
        if 0.9995 <= output.mean_rel_L1 <= 1.0005:
            return f"mean_rel_L1 of output {output.index} is 1: it is all zeros"
    return None


def older_device(seen: Seen) -> str | None:
    """Zeros, and a command line that builds for aie2, which is another device than NPU2's aie2p."""
    mark = seen.facts.first("older_device")
    if mark is None or (all_zero(seen) is None and not_finite(seen) is None):
        return None
    return mark.text


def mostly_wrong(seen: Seen) -> str | None:
    """Most elements wrong, but not zeros; or cosines that fall off a cliff."""
    for output in seen.facts.outputs:
        if HOPELESS <= output.mean_rel_L1 < 0.9995 or output.mean_rel_L1 > 1.0005:
            return f"mean_rel_L1 of output {output.index} is {output.mean_rel_L1:g}"
    before = None
    for layer in sorted(seen.facts.layers, key=lambda layer: layer.index):
        if (1.0 if before is None else before.cos_median) - layer.cos_median > _CLIFF:
            after = "" if before is None else f" after layer {before.index}"
            return f"the cosines fall to {layer.cos_median:g} at layer {layer.index}{after}"
        before = layer
    return None


def cosine_of_nan(seen: Seen) -> str | None:
    """A cosine of 0 in a layer table, or figures that say nan."""
    for layer in seen.facts.layers:
        figures = (layer.cos_p5, layer.cos_min, layer.cos_median)
        if 0.0 in figures or any(figure != figure for figure in (*figures, layer.max_abs)):
            return f"NaN in layer {layer.index} (a cosine of 0 is a row of NaN)"
    return None


def few_wrong(seen: Seen) -> str | None:
    """A handful of wrong elements beside a sound mean."""
    worst = seen.judgement.worst
    if worst is None or worst.mean_rel_L1 is None or worst.mean_rel_L1 >= HOPELESS:
        return None
    for found in seen.facts.mismatches:
        if 0 < found.count <= max(20.0, found.elements * _EDGE_SHARE):
            return f"{found.count} of {found.elements} elements differ, mean_rel_L1 is sound"
    return None


def partly_wrong(seen: Seen) -> str | None:
    """A share of the output that looks like tiles or columns."""
    if few_wrong(seen) is not None:
        return None
    for found in seen.facts.mismatches:
        if found.elements and 0.02 < found.count / found.elements < 0.98:
            share = 100 * found.count / found.elements
            return f"{share:.0f} % of the elements differ"
    return None


def other_device(seen: Seen) -> str | None:
    """It ran on, or was built for, another device than the one asked for."""
    mark = seen.facts.first("fallback")
    return mark.text if mark is not None else reason("ran on ")(seen)


def sampled(seen: Seen) -> str | None:
    """Fewer elements were compared than the output has."""
    if seen.facts.has("sampled"):
        return "the harness says that it compared samples"
    return reason(" elements of ")(seen)


def never_ran(seen: Seen) -> str | None:
    """The lock stayed busy."""
    mark = seen.facts.first("lock_busy")
    if mark is not None:
        return mark.text
    if "no output at all" in seen.reason:
        return "a failing exit status and no output at all"
    return None


def only_timed(seen: Seen) -> str | None:
    """Figures of time and none of precision."""
    facts = seen.facts
    against = facts.has("pass", "other_fail", "failed", "no_outputs", "crash", "device_timeout")
    if facts.timings and not facts.outputs and not against and seen.judgement.status != "timeout":
        return "figures of time, none of precision"
    return None
