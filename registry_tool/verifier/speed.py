"""The speed of a row from its timing runs: the median one, and how far they spread."""

from __future__ import annotations

from collections.abc import Sequence

from registry_tool.records.record import Performance
from registry_tool.verifier.logs.facts import LogFacts
from registry_tool.verifier.logs.judge import Judgement, judge
from registry_tool.verifier.logs.request import Request


def judge_timing(
    facts: LogFacts,
    errors: LogFacts | None,
    exit_status: int | None,
    timed_out: bool,
    request: Request,
    stateful: bool,
) -> Judgement:
    """Whether a timing run may stand beside a pass: `pass`, or what it proves to the contrary.

    A run that prints no precision is no failure here; one that prints a failing one is, unless the
    kernel is ``stateful``: then it is expected to, and to end with a failing status for it.
    """
    found = judge(facts, exit_status, timed_out, request, errors)
    spoiled = stateful and facts.has("failed", "bad_output", "mismatch", "other_fail")
    if spoiled and not timed_out:
        found = judge(facts, 0, False, request, errors)
    harmless = {"pass", "unverified"} | ({"fail", "incomplete"} if stateful else set())
    if found.status not in harmless:
        return found
    other = [device for device in facts.devices if device != request.target]
    if request.target is not None and (other or facts.has("fallback")):
        return found
    return Judgement("pass", None, (), found.latency_us, found.gflops, found.gbps)


def speed_of(judgements: Sequence[Judgement]) -> Performance | None:
    """The run of median latency (the lower one of two), None if one of them measured nothing.

    ``spread`` is (max - min) / median over the runs; one run has none.
    """
    runs = [(found.latency_us, found) for found in judgements if found.latency_us is not None]
    if not runs or len(runs) < len(judgements):
        return None
    runs.sort(key=lambda run: run[0])
    latency_us, median = runs[(len(runs) - 1) // 2]
    spread = (runs[-1][0] - runs[0][0]) / latency_us
    return Performance(
        latency_us=latency_us,
        gflops=median.gflops,
        gbps=median.gbps,
        spread=round(spread, 6) if len(runs) > 1 else None,
    )
