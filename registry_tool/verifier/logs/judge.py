"""The verdict on a run: it passes only if every signal agrees; no file is read here.

Each check may answer with a complaint; the gravest status among them is the verdict's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from registry_tool.records.fields import Status
from registry_tool.records.verdict import Output
from registry_tool.verifier.logs import layers
from registry_tool.verifier.logs.driver_timeout import DRIVER_TIMEOUT_MS
from registry_tool.verifier.logs.facts import Kind, LogFacts, Precision, Timing
from registry_tool.verifier.logs.request import Complaint, Request

PRECEDENCE: tuple[Status, ...] = ("timeout", "error", "fail", "incomplete", "unverified", "pass")
HOPELESS = 0.5
"""A mean_rel_L1 from here on is an output that has little to do with the reference (1.0: zeros),
whatever a harness says of it and even if no band is known."""


@dataclass(frozen=True)
class Judgement:
    """The verdict, its reason (None for a pass), and the figures, the worst output first."""

    status: Status
    reason: str | None
    outputs: tuple[Output, ...]
    latency_us: float | None
    gflops: float | None
    gbps: float | None

    @property
    def worst(self) -> Output | None:
        """The output that a row is judged by."""
        return self.outputs[0] if self.outputs else None


class Ending(NamedTuple):
    """How the process ended; ``exit_status`` None if that is unknown."""

    exit_status: int | None
    timed_out: bool


Check = Callable[[LogFacts, Request], Iterator[Complaint]]


class Rule(NamedTuple):
    """A check, and the kinds of lines without which it has nothing to say (empty: always)."""

    kinds: frozenset[Kind]
    check: Check


def judge(
    facts: LogFacts,
    exit_status: int | None,
    timed_out: bool,
    request: Request,
    errors: LogFacts | None = None,
) -> Judgement:
    """The verdict on a run; ``errors`` are the facts of its standard error, if that was apart.

    What stands in ``errors`` can only speak against the run.
    """
    ending = Ending(exit_status, timed_out)
    complaints = _complaints(
        _DIAGNOSIS if request.mode == "diagnosis" else _HARNESS, facts, request
    )
    if errors is not None and errors.marks:
        complaints += _complaints(_AGAINST, errors, request)
    complaints += _process(facts, errors, ending)
    status, reason = _gravest(complaints)
    latency_us, gflops, gbps = _speed(facts.timings)
    return Judgement(status, reason, _outputs(facts), latency_us, gflops, gbps)


def _complaints(rules: tuple[Rule, ...], facts: LogFacts, request: Request) -> list[Complaint]:
    found: list[Complaint] = []
    for kinds, check in rules:
        if not kinds or not kinds.isdisjoint(facts.marks):
            found += check(facts, request)
    return found


def _gravest(complaints: list[Complaint]) -> tuple[Status, str | None]:
    if not complaints:
        return "pass", None
    for status in PRECEDENCE:
        reasons = [found.reason for found in complaints if found.status == status]
        if reasons:
            return status, "; ".join(dict.fromkeys(reasons[:4]))
    raise AssertionError("every complaint has a status of PRECEDENCE")


# How the process ended.


def _process(facts: LogFacts, errors: LogFacts | None, ending: Ending) -> list[Complaint]:
    """Complaints about the end of the process, which need all that it printed."""
    if ending.timed_out:
        return [Complaint("timeout", "the run was ended at its time limit")]
    status = ending.exit_status
    # The harness's own 255, or make's 2 for it, says no more than the failure that it printed.
    printed = _has_failed(facts) or (errors is not None and _has_failed(errors))
    if status is None or status == 0:
        # In a pipe (`make run | tee log`) the exit status is not that of make.
        made = facts.first("make_error")
        if made is None and errors is not None:
            made = errors.first("make_error")
        found = [Complaint("unverified", "the exit status is not known")] if status is None else []
        if made is not None and not printed:
            found.append(Complaint("error", f"{made.text} (line {made.line})"))
        return found
    if status < 0 or 128 < status <= 192:
        return [Complaint("error", f"killed by signal {-status if status < 0 else status - 128}")]
    if printed:
        return []
    if facts.size == 0 and (errors is None or errors.size == 0):
        return [
            Complaint(
                "error",
                f"exit status {status} and no output at all: the harness never ran "
                "(`flock -w` ends so when the lock stays busy)",
            )
        ]
    if facts.has("pass"):
        return [Complaint("error", f"exit status {status} contradicts PASS!")]
    return [Complaint("error", f"exit status {status}")]


def _has_failed(facts: LogFacts) -> bool:
    return facts.has("failed", "other_fail", "bad_output") or any(
        found.count for found in facts.mismatches
    )


def _timeouts(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    mark = facts.first("device_timeout")
    if mark is not None:
        yield Complaint("timeout", f"the device timed out (line {mark.line})")
    for timing in facts.timings:
        if _is_driver_timeout(timing):
            yield Complaint(
                "timeout",
                f"the latency on line {timing.line} is the driver's time-out of "
                f"{DRIVER_TIMEOUT_MS} ms: the device never finished",
            )


def _is_driver_timeout(timing: Timing) -> bool:
    if timing.latency_us is None:
        return False
    # Nothing takes longer than the time-out, and a mean over runs that hung comes close to it.
    at_it = timing.latency_us >= DRIVER_TIMEOUT_MS * 1e3 * 0.99
    return at_it or timing.printed == DRIVER_TIMEOUT_MS


def _crashes(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    what = facts.first(*_TELLING, "exception", "crash")
    if what is not None and facts.has("crash"):
        yield Complaint("error", f"{what.text} (line {what.line})")


# Lines that say more than the exception which follows them.
_TELLING: tuple[Kind, ...] = (
    "repeat_count",
    "descriptors",
    "l2_capacity",
    "stride",
    "dispatch_state",
    "missing_module",
)


# What the harness says of its outputs.


def _failures(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    words = facts.first("failed", "other_fail")
    counted = [found for found in facts.mismatches if found.count]
    if not _only_correlation(facts):
        for found in counted:
            yield Complaint(
                "fail", f"{found.count} of {found.elements} elements differ (line {found.line})"
            )
        mark = facts.first("bad_output")
        if mark is not None and not counted:
            yield Complaint("fail", f"{mark.text} (line {mark.line})")
    if words is not None:
        yield Complaint("fail", f"the harness says {words.text!r} (line {words.line})")


def _only_correlation(facts: LogFacts) -> bool:
    # That harness lets every element differ and looks at the correlation, which a scaled or
    # shifted output has too: its mismatches are no failure, and its PASS! is no pass.
    return facts.has("correlation") and facts.has("pass") and not facts.has("failed", "other_fail")


def _figures(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    for output in facts.outputs:
        where = f"output {output.index} (line {output.line})"
        if not output.finite:
            yield Complaint("fail", f"{where}: the figures are not finite")
        elif output.mean_rel_L1 >= HOPELESS:
            yield Complaint(
                "fail", f"{where}: mean_rel_L1 {output.mean_rel_L1:g}; zeros would give 1"
            )
        elif request.band is not None and not (
            request.band.low <= output.mean_rel_L1 <= request.band.high
        ):
            yield Complaint(
                "fail",
                f"{where}: mean_rel_L1 {output.mean_rel_L1:g} is outside the band "
                f"{request.band.low:g} to {request.band.high:g}",
            )
        if output.finite and (output.mean_rel_L1 == 0.0) != (output.max_abs == 0.0):
            yield Complaint(
                "unverified",
                f"{where}: mean_rel_L1 {output.mean_rel_L1:g} and abs_err max {output.max_abs:g} "
                "contradict each other",
            )


def _tolerances(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    for output in facts.outputs:
        for name, printed, asked in (
            ("rtol", output.rtol, request.rtol),
            ("atol", output.atol, request.atol),
        ):
            if not math.isfinite(printed):
                yield Complaint(
                    "fail",
                    f"output {output.index} was held to {name}={printed:g}, which is no gate",
                )
            # The harness prints two digits of what it was given.
            elif asked is not None and printed > max(asked, float(f"{asked:.1e}")):
                yield Complaint(
                    "fail",
                    f"output {output.index} was held to {name}={printed:g}, looser than {asked:g}",
                )


def _completeness(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    torn = facts.first("torn")
    if torn is not None:
        yield Complaint("incomplete", f"a precision line is torn (line {torn.line})")
    seen = {output.index for output in facts.outputs}
    wanted = request.output_count or max(seen, default=0) + 1
    missing = [str(index) for index in range(wanted) if index not in seen]
    fragment = facts.first("fragment")
    if missing and fragment is not None:
        yield Complaint("incomplete", f"a precision line is torn (line {fragment.line})")
    if missing and seen:
        yield Complaint(
            "incomplete",
            f"{wanted} outputs were asked for; no precision line for {', '.join(missing[:8])}",
        )
    if seen and not facts.has("pass") and not _has_failed(facts):
        yield Complaint("incomplete", "the log ends without PASS! or failed.")


def _coverage(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    """Whether the run is the one that was asked for, and compared all of it."""
    outputs = facts.outputs
    if not outputs:
        yield Complaint("unverified", _why_no_figures(facts))
    if outputs and facts.has("no_outputs"):
        yield Complaint("unverified", "the harness found no outputs to validate")
    seen: set[int] = set()
    for output in outputs:
        if output.index in seen:
            yield Complaint("unverified", f"output {output.index} is reported more than once")
        seen.add(output.index)
        wanted = _wanted_elements(request, output)
        if output.elements == 0 or wanted not in (None, output.elements):
            yield Complaint(
                "unverified",
                f"output {output.index} compared {output.elements} elements of {wanted}",
            )
    count = request.output_count
    if count is not None and max(seen, default=0) >= count:
        yield Complaint("unverified", f"{count} outputs were asked for, more are reported")
    marks = facts.marks
    if outputs and "pass" in marks:
        if len(marks["pass"]) > 1:
            yield Complaint("unverified", f"PASS! stands {len(marks['pass'])} times")
        if marks["pass"][0].start < marks["precision"][-1].start:
            yield Complaint(
                "unverified",
                f"PASS! (line {marks['pass'][0].line}) stands before the last precision line",
            )


def _half_measures(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    if facts.has("correlation"):
        yield Complaint("unverified", "the harness gates on correlation, which is no gate")
    if facts.has("sampled"):
        yield Complaint("unverified", "the harness compared a sample of the elements")


def _why_no_figures(facts: LogFacts) -> str:
    if facts.has("no_outputs"):
        return "the harness found no outputs to validate"
    if facts.has("compile_only"):
        return "only compiled, not run"
    if facts.has("pass", "other_pass"):
        return "a pass without precision lines: no figures to judge"
    if facts.timings:
        return "only timed: no precision line and no PASS!"
    return "no precision line and no PASS! in the log"


def _wanted_elements(request: Request, output: Precision) -> int | None:
    if request.elements is None or output.index >= len(request.elements):
        return None
    return request.elements[output.index]


def _device(facts: LogFacts, request: Request) -> Iterator[Complaint]:
    mark = facts.first("fallback")
    if mark is not None:
        yield Complaint("unverified", f"the device was not detected (line {mark.line})")
    if request.target is None:
        return
    for device in dict.fromkeys(facts.devices):
        if device != request.target:
            yield Complaint("unverified", f"ran on {device}, not on {request.target}")
    for mark in facts.marks.get("emulated", ()):
        if f"target {request.target}:" not in mark.text:
            yield Complaint("unverified", f"{mark.text} (line {mark.line}); not {request.target}")


def _rule(check: Check, *kinds: Kind) -> Rule:
    return Rule(frozenset(kinds), check)


# Standard error can only speak against a run: these are the checks that read it too.
_AGAINST = (
    _rule(_timeouts, "device_timeout", "timing"),
    _rule(_crashes, "crash"),
    _rule(_failures, "failed", "other_fail", "mismatch", "bad_output"),
    _rule(_half_measures, "correlation", "sampled"),
    _rule(_device, "fallback", "device", "emulated"),
)
_HARNESS = (
    *_AGAINST,
    _rule(_figures, "precision"),
    _rule(_tolerances, "precision"),
    _rule(_completeness, "precision", "torn", "fragment"),
    _rule(_coverage),
)
_DIAGNOSIS = (*_AGAINST, _rule(layers.complete), _rule(layers.continuous, "layer"))


# The figures.


def _outputs(facts: LogFacts) -> tuple[Output, ...]:
    worst: dict[int, Precision] = {}
    for output in facts.outputs:
        if output.index not in worst or _badness(output) > _badness(worst[output.index]):
            worst[output.index] = output
    ranked = sorted(worst.values(), key=_badness, reverse=True)
    return tuple([_output(output) for output in ranked])


def _badness(output: Precision) -> tuple[bool, float, float]:
    if not output.finite:
        return True, math.inf, math.inf
    return False, output.mean_rel_L1, output.max_abs


def _output(output: Precision) -> Output:
    return Output(
        index=output.index,
        elements=output.elements,
        mean_rel_L1=_number(output.mean_rel_L1),
        max_rel=_number(output.max_rel),
        max_abs=_number(output.max_abs),
        rtol=output.rtol,
        atol=output.atol,
    )


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _speed(timings: list[Timing]) -> tuple[float | None, float | None, float | None]:
    """Latency, GFLOP/s and GB/s; the slowest where several are given, None where none is real."""
    if not timings:
        return None, None, None
    latencies = [t.latency_us for t in timings if t.latency_us is not None]
    gflops = [t.gflops for t in timings if t.gflops is not None]
    gbps = [t.gbps for t in timings if t.gbps is not None]
    if not all(map(_is_real, latencies)):
        # A latency of 0 is no measurement, and no throughput comes of it.
        return None, None, None
    return (
        max(latencies, default=None),
        min(filter(_is_real, gflops), default=None),
        min(filter(_is_real, gbps), default=None),
    )


def _is_real(value: float) -> bool:
    return math.isfinite(value) and value > 0.0
