"""Verdicts: made from the attempts at a row, and named after their content."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timezone

from msgspec import UNSET
from msgspec.structs import replace

from registry_tool.records import canonical, kernel
from registry_tool.records.record import Performance
from registry_tool.records.verdict import (
    Attempt,
    Environment,
    Gate,
    Output,
    Subject,
    Verdict,
)
from registry_tool.verifier import attempt as attempting
from registry_tool.verifier.attempt import Run
from registry_tool.verifier.job import Job
from registry_tool.verifier.logs.facts import LogFacts
from registry_tool.verifier.logs.judge import Judgement
from registry_tool.verifier.placement import is_refused

NO_RUN_ID = "00000000T000000Z-00000000"
_LONGEST_REASON = 1000
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def make(
    job: Job,
    attempts: Sequence[attempting.Attempt],
    environment: Environment,
    sources: dict[str, str],
    tool_version: str,
    earlier_failures: int = 0,
    is_canary: bool = False,
) -> Verdict:
    """The verdict on ``attempts``, of which the last one decides; its run id is of its content."""
    last = attempts[-1]
    deciding = last.deciding
    judgement = deciding.judgement
    compiled = last.compiled if last.compiled is not deciding else None
    timings = last.timings if last.passed else ()
    measured = job.is_hardware and last.passed
    verdict = Verdict(
        run_id=NO_RUN_ID,
        kind="harness",
        subject=subject_of(job),
        status=judgement.status,
        reason=None if judgement.reason is None else one_line(judgement.reason),
        gate=_gate(job, deciding.out.facts),
        outputs=stored_outputs(judgement),
        attempts=[
            stored(one.deciding, None if one is last else one.deciding.judgement.reason)
            for one in attempts
        ],
        profile=[stored(run, run.judgement.reason) for run in timings] or None,
        performance=_performance(job, last) if measured else None,
        environment=environment,
        sources=sources,
        tool_version=tool_version,
        compile=stored(compiled) if compiled is not None else UNSET,
        earlier_failures=earlier_failures or UNSET,
        canary=True if is_canary else UNSET,
        places=False if is_refused(deciding) else UNSET,
    )
    return named(verdict)


def _performance(job: Job, attempt: attempting.Attempt) -> Performance | None:
    """The measured speed; where the harness prints none in the page's unit, its work over it."""
    found = attempt.performance
    metric = job.spec.metric
    if found is None or getattr(found, metric) is not None:
        return found
    value = kernel.throughput(job.spec, job.shape, found.latency_us)
    return found if value is None else replace(found, **{metric: round(value, 6)})


def subject_of(job: Job) -> Subject:
    """What ``job`` runs, as a verdict says it."""
    return Subject(
        kernel=job.row.kernel,
        target=job.row.target,
        shape=dict(job.shape),
        variant=job.variant,
        precision=job.precision,
        tile=dict(job.tile),
        herd=list(job.herd),
    )


def stored_outputs(judgement: Judgement) -> list[Output]:
    """The outputs that a verdict can hold, by index."""
    storable = [
        output
        for output in judgement.outputs
        if output.elements > 0 and math.isfinite(output.rtol) and math.isfinite(output.atol)
    ]
    return sorted(storable, key=lambda output: output.index)


def _gate(job: Job, facts: LogFacts) -> Gate:
    tolerance, band = job.tolerance, job.band
    # The least share is the weakest gate of the outputs.
    share = min(facts.zero_shares.values(), default=None)
    return Gate(
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        band=band,
        band_reason=None if band is not None else "the kernel's spec gives no band for this shape",
        zero_share=share,
        zero_share_reason=None if share is not None else "the harness prints no [reference] line",
    )


def stored(run: Run, reason: str | None = None) -> Attempt:
    """One start as a verdict keeps it; its files are named later."""
    finished = run.finished
    return Attempt(
        command=list(run.recorded),
        exit_status=finished.exit_status,
        timed_out=finished.timed_out,
        status=run.judgement.status,
        started=_timestamp(finished.started),
        seconds=round(finished.seconds, 6),
        lock_wait_s=round(run.wait_s, 6),
        log=run.out.as_stored(""),
        err=run.err.as_stored(""),
        step=UNSET if run.kind == "gated" else run.kind,
        reason=UNSET if reason is None else one_line(reason),
        survivors=[one_line(command) for command in finished.survivors] or UNSET,
    )


def run_id(verdict: Verdict) -> str:
    """The run id that the content of ``verdict`` gives: start of its first run, and a digest."""
    digest = hashlib.sha256(canonical.encode(_with_name(verdict, NO_RUN_ID))).hexdigest()
    started = verdict.attempts[0].started
    return f"{started.replace('-', '').replace(':', '')}-{digest[:8]}"


def named(verdict: Verdict) -> Verdict:
    """``verdict`` with the run id of its content, and with files named after it."""
    return _with_name(verdict, run_id(verdict))


def _with_name(verdict: Verdict, name: str) -> Verdict:
    """The deciding run's files are named plainly, those of earlier attempts, timing runs and the
    compile-only run with a suffix.
    """
    last = len(verdict.attempts) - 1
    return replace(
        verdict,
        run_id=name,
        attempts=_renamed(verdict.attempts, lambda at: name if at == last else f"{name}.{at + 1}"),
        profile=None
        if verdict.profile is None
        else _renamed(verdict.profile, lambda at: f"{name}.t{at + 1}"),
        compile=UNSET
        if verdict.compile is UNSET
        else _renamed([verdict.compile], lambda at: f"{name}.c")[0],
    )


def _renamed(runs: Sequence[Attempt], stem: Callable[[int], str]) -> list[Attempt]:
    return [
        replace(
            run,
            log=replace(run.log, name=f"{stem(at)}.log"),
            err=replace(run.err, name=f"{stem(at)}.err"),
        )
        for at, run in enumerate(runs)
    ]


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def one_line(text: str) -> str:
    """``text`` as a field of one line: control characters become spaces, and it is bounded."""
    line = _CONTROL.sub(" ", text).encode("utf-8", "backslashreplace").decode().strip()
    return line[:_LONGEST_REASON] or "not said"
