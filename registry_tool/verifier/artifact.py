"""Verdicts: made from a finished run, and read back from the log that is stored beside them.

The gate reads back thousands of logs: nothing here is slow to import.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.records.record import Performance
from registry_tool.records.spec import Target
from registry_tool.records.verdict import (
    Attempt,
    Environment,
    Gate,
    Output,
    StoredLog,
    Subject,
    Verdict,
)
from registry_tool.verifier import dialect
from registry_tool.verifier.facts import LogFacts, Precision, Reference
from registry_tool.verifier.harness_log import LogReader, as_utf8, chunks, parse
from registry_tool.verifier.job import Job
from registry_tool.verifier.judge import HOPELESS, Judgement, judge
from registry_tool.verifier.process import Finished
from registry_tool.verifier.request import Request
from registry_tool.verifier.transcode import encoding_of

STORED_WHOLE = 1 << 20
"""Streams up to this size are stored as they are, B."""
EDGE = 1 << 16
"""Of larger ones so much of the start and of the end is stored, B, beside the judged lines."""
_NO_RUN_ID = "00000000T000000Z-00000000"
_LONGEST_REASON = 1000
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Stream:
    """A captured stream: its facts, and what is stored of it."""

    facts: LogFacts
    stored: bytes
    whole: bool
    sha256: str
    size: int

    def as_stored(self, name: str) -> StoredLog:
        """What a verdict says of it."""
        digest = None if self.whole else hashlib.sha256(self.stored).hexdigest()
        return StoredLog(name=name, sha256=self.sha256, size=self.size, excerpt_sha256=digest)


@dataclass(frozen=True)
class Run:
    """One start of the harness, with what it printed and how it was judged by itself."""

    finished: Finished
    wait_s: float
    out: Stream
    err: Stream
    judgement: Judgement


def read_stream(path: Path) -> Stream:
    """The stream captured in ``path``, as it is now; what is written to it later is ignored."""
    size = path.stat().st_size
    if size <= STORED_WHOLE:
        data = path.read_bytes()[:size]
        return Stream(parse(data), data, True, hashlib.sha256(data).hexdigest(), len(data))
    reader, digest, read = LogReader(), hashlib.sha256(), 0
    for chunk in chunks(path, size):
        reader.feed(chunk)
        digest.update(chunk)
        read += len(chunk)
    facts = reader.finish()
    return Stream(facts, excerpt(path, size, facts), False, digest.hexdigest(), read)


def excerpt(path: Path, size: int, facts: LogFacts) -> bytes:
    """Head, judged lines and tail of a long log, in UTF-8, with a line where something is left out.

    It is cut at line ends only, so that it reads back to the same facts.
    """
    text = _Window(path, size)
    head = text.read(0, EDGE).rfind(b"\n") + 1
    last = max(head, facts.size - EDGE)
    cut = text.read(last - 1, facts.size).find(b"\n")
    tail = last + cut if cut >= 0 else facts.size
    spans = [(0, head), *facts.spans(), (tail, facts.size)]
    parts: list[bytes] = []
    done = 0
    for start, end in spans:
        if start > done:
            if parts and not parts[-1].endswith((b"\n", b"\r")):
                parts.append(b"\n")  # after a sign in the middle of an endless line
            parts.append(b"[registry-tool] %d bytes are left out here\n" % (start - done))
        if end > max(start, done):
            parts.append(text.read(max(start, done), end))
        done = max(done, end)
    return b"".join(parts)


class _Window:
    """Random access to a log as UTF-8: in the file if it is that already, else in memory."""

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        with path.open("rb") as file:
            start = file.read(16)
        self._text: bytes | None = None
        if encoding_of(start) != "utf-8":
            self._text = b"".join(as_utf8(chunks(path, size)))

    def read(self, start: int, end: int) -> bytes:
        if self._text is not None:
            return self._text[start:end]
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)


def make(
    job: Job,
    runs: Sequence[Run],
    environment: Environment,
    sources: dict[str, str],
    tool_version: str,
) -> Verdict:
    """The verdict on ``runs``, of which the last one decides; its run id is that of its content."""
    run = runs[-1]
    judgement = run.judgement
    verdict = Verdict(
        run_id=_NO_RUN_ID,
        kind="harness",
        subject=Subject(
            kernel=job.row.kernel,
            target=job.row.target,
            shape=dict(job.shape),
            variant=job.variant,
            precision=job.precision,
            tile=dict(job.tile),
            herd=list(job.herd),
        ),
        status=judgement.status,
        reason=None if judgement.reason is None else one_line(judgement.reason),
        gate=_gate(job, run.out.facts),
        outputs=_outputs(judgement),
        attempts=[_attempt(job, each) for each in runs],
        profile=None,
        performance=performance(judgement, job.target),
        environment=environment,
        sources=sources,
        tool_version=tool_version,
    )
    return _named(verdict, run_id(verdict))


def _outputs(judgement: Judgement) -> list[Output]:
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


def _attempt(job: Job, run: Run) -> Attempt:
    finished = run.finished
    return Attempt(
        command=list(job.recorded_command),
        exit_status=finished.exit_status,
        timed_out=finished.timed_out,
        status=run.judgement.status,
        started=_timestamp(finished.started),
        seconds=round(finished.seconds, 6),
        lock_wait_s=round(run.wait_s, 6),
        log=run.out.as_stored(""),
        err=run.err.as_stored(""),
    )


def performance(judgement: Judgement, target: Target) -> Performance | None:
    """The measured speed of a pass; None on an emulated target, which measures nothing."""
    if target.kind == "emulated" or judgement.status != "pass" or judgement.latency_us is None:
        return None
    return Performance(
        latency_us=judgement.latency_us,
        gflops=judgement.gflops,
        gbps=judgement.gbps,
        spread=None,
    )


def run_id(verdict: Verdict) -> str:
    """The run id that the content of ``verdict`` gives: start of its first run, and a digest."""
    digest = hashlib.sha256(canonical.encode(_named(verdict, _NO_RUN_ID))).hexdigest()
    started = verdict.attempts[0].started
    return f"{started.replace('-', '').replace(':', '')}-{digest[:8]}"


def _named(verdict: Verdict, name: str) -> Verdict:
    """``verdict`` with run id ``name``, and with files named after it; the last run's plainly."""
    last = len(verdict.attempts) - 1
    attempts = []
    for number, attempt in enumerate(verdict.attempts):
        stem = name if number == last else f"{name}.{number + 1}"
        log = replace(attempt.log, name=f"{stem}.log")
        err = replace(attempt.err, name=f"{stem}.err")
        attempts.append(replace(attempt, log=log, err=err))
    return replace(verdict, run_id=name, attempts=attempts)


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def one_line(text: str) -> str:
    """``text`` as a field of one line: control characters become spaces, and it is bounded."""
    line = _CONTROL.sub(" ", text).encode("utf-8", "backslashreplace").decode().strip()
    return line[:_LONGEST_REASON] or "not said"


def read_back(
    verdict: Verdict,
    log: bytes,
    err: bytes | None = None,
    elements: Sequence[int] | None = None,
) -> list[str]:
    """What the stored log of the deciding run says otherwise than ``verdict``; empty if nothing.

    ``elements`` are those of the kernel's outputs; without them the verdict's own are taken.
    """
    if not err and elements is not None and _reads_back_plainly(verdict, log, elements):
        return []
    attempt = verdict.attempts[-1]
    problems = _digest_problems(attempt.log, log)
    facts = parse(log)
    errors = None
    if err is not None:
        problems += _digest_problems(attempt.err, err)
        errors = parse(err) if err else None
    gate, said = verdict.gate, verdict.outputs
    asked = [output.elements for output in said] if elements is None else elements
    judgement = judge(
        facts,
        attempt.exit_status,
        attempt.timed_out,
        Request(
            elements=tuple(asked),
            outputs=len(asked) or None,
            rtol=gate.rtol,
            atol=gate.atol,
            target=verdict.subject.target,
            band=gate.band,
        ),
        errors,
    )
    read = _outputs(judgement)
    if read != said:
        problems += _output_problems(said, read)
    passes, passed = judgement.status == "pass", verdict.status == "pass"
    # Without standard error or the elements, less speaks against the run than its judge knew.
    if passes != passed and (passed or (err is not None and elements is not None)):
        why = f" ({judgement.reason})" if judgement.reason else ""
        problems.append(
            f"the log reads as {judgement.status}{why}, the verdict says {verdict.status}"
        )
    share = min(facts.zero_shares.values(), default=None)
    if share != gate.zero_share:
        problems.append(f"zero_share is {share} in the log, {gate.zero_share} in the verdict")
    if verdict.performance is not None and verdict.profile is None:
        problems += _performance_problems(verdict.performance, judgement)
    return problems


def _reads_back_plainly(verdict: Verdict, log: bytes, elements: Sequence[int]) -> bool:
    """Whether all is well in the plainest way: a short cut for nearly every log of an emulation.

    Where it says no, the judge has to look.
    """
    text, attempt, gate = log.decode("latin-1"), verdict.attempts[-1], verdict.gate
    lines = text.split("\n")
    if len(lines) < 5 or lines[-2:] != ["PASS!", ""] or "\r" in text or "\x1b" in text:
        return False
    target, said, shares = verdict.subject.target, verdict.outputs, []
    if lines[1] != f"Detected NPU device: {target}" or f"target {target}:" not in lines[0]:
        return False
    if dialect.signs(lines[0]) != ("emulated",) or len(elements) != len(said):
        return False
    found = []
    for line in lines[2:-2]:
        statement = dialect.statement(line, 0)
        if isinstance(statement, Precision):
            found.append(statement)
        elif isinstance(statement, Reference):
            shares.append(statement.zero_share)
        else:
            return False
    low, high = (gate.band.low, gate.band.high) if gate.band else (0.0, math.inf)
    return (
        len(found) == len(said)
        and all(
            (output.index, output.elements, one.elements) == (index, one.elements, count)
            and (output.mean_rel_L1, output.max_rel) == (one.mean_rel_L1, one.max_rel)
            and (output.max_abs, output.rtol, output.atol) == (one.max_abs, one.rtol, one.atol)
            and one.index == index
            and output.rtol <= gate.rtol
            and output.atol <= gate.atol
            and low <= one.mean_rel_L1 <= high
            and one.mean_rel_L1 < HOPELESS
            for index, (output, one, count) in enumerate(zip(said, found, elements, strict=True))
        )
        and (verdict.status, attempt.exit_status, attempt.timed_out) == ("pass", 0, False)
        and min(shares, default=None) == gate.zero_share
        and verdict.performance is None
        and not _digest_problems(attempt.log, log)
        and not _digest_problems(attempt.err, b"")
    )


def _digest_problems(stored: StoredLog, data: bytes) -> list[str]:
    expected = stored.excerpt_sha256 or stored.sha256
    if hashlib.sha256(data).hexdigest() == expected:
        return []
    return [f"{stored.name} does not have the digest that the verdict gives"]


def _output_problems(said: list[Output], read: list[Output]) -> list[str]:
    problems = []
    claimed, found = ({output.index: output for output in side} for side in (said, read))
    for index in sorted({*claimed, *found}):
        if index not in found:
            problems.append(f"output {index} is not in the log")
        elif index not in claimed:
            problems.append(f"output {index} is in the log, not in the verdict")
        elif found[index] != claimed[index]:
            problems.append(
                f"output {index}: "
                + ", ".join(
                    f"{name} is {getattr(found[index], name)} in the log, "
                    f"{getattr(claimed[index], name)} in the verdict"
                    for name in Output.__struct_fields__
                    if getattr(found[index], name) != getattr(claimed[index], name)
                )
            )
    return problems or ["the outputs are not in the order of their indices"]


def _performance_problems(said: Performance, judgement: Judgement) -> list[str]:
    return [
        f"{name} is {getattr(judgement, name)} in the log, {getattr(said, name)} in the verdict"
        for name in ("latency_us", "gflops", "gbps")
        if getattr(judgement, name) != getattr(said, name)
    ]
