"""What a stored log says otherwise than its verdict: the gate reads thousands of them back.

Nothing here is slow to import.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from registry_tool.records.record import Performance
from registry_tool.records.verdict import Output, StoredLog, Verdict
from registry_tool.verifier.artifact import stored_outputs
from registry_tool.verifier.logs import dialect
from registry_tool.verifier.logs.facts import Precision, Reference
from registry_tool.verifier.logs.harness_log import parse
from registry_tool.verifier.logs.judge import HOPELESS, judge
from registry_tool.verifier.logs.request import Request
from registry_tool.verifier.speed import judge_timing, speed_of


def read_back(
    verdict: Verdict,
    log: bytes,
    err: bytes | None = None,
    elements: Sequence[int] | None = None,
    timings: Sequence[tuple[bytes, bytes]] = (),
    stateful: bool = False,
) -> list[str]:
    """What the stored log of the deciding run says otherwise than ``verdict``; empty if nothing.

    ``elements`` are those of the kernel's outputs; without them the verdict's own are taken.
    ``timings`` are log and standard error of each timing run, of a ``stateful`` kernel or not.
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
    request = Request(
        elements=tuple(asked),
        outputs=len(asked) or None,
        rtol=gate.rtol,
        atol=gate.atol,
        target=verdict.subject.target,
        band=gate.band,
    )
    judgement = judge(facts, attempt.exit_status, attempt.timed_out, request, errors)
    read = stored_outputs(judgement)
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
    if verdict.profile is not None and timings:
        problems += _timing_problems(verdict, timings, request, stateful)
    elif verdict.performance is not None and verdict.profile is None:
        problems += _speed_problems(verdict.performance, speed_of([judgement]))
    return problems


def _timing_problems(
    verdict: Verdict,
    timings: Sequence[tuple[bytes, bytes]],
    request: Request,
    stateful: bool,
) -> list[str]:
    problems, read = [], []
    for attempt, (log, err) in zip(verdict.profile or (), timings, strict=True):
        problems += _digest_problems(attempt.log, log) + _digest_problems(attempt.err, err)
        status, timed_out = attempt.exit_status, attempt.timed_out
        found = judge_timing(parse(log), parse(err), status, timed_out, request, stateful)
        read.append(found)
        if found.status != attempt.status:
            problems.append(
                f"{attempt.log.name} reads as {found.status} ({found.reason}), the verdict says "
                f"{attempt.status}"
            )
    return problems + _speed_problems(verdict.performance, speed_of(read))


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


def _speed_problems(said: Performance | None, read: Performance | None) -> list[str]:
    if said is None and read is None:
        return []
    if said is None or read is None:
        return [f"the logs {'give a' if said is None else 'have no'} speed, unlike the verdict"]
    return [
        f"{name} is {getattr(read, name)} in the logs, {getattr(said, name)} in the verdict"
        for name in Performance.__struct_fields__
        if getattr(read, name) != getattr(said, name)
        # A throughput that no harness printed was computed from latency and work.
        and not (name in ("gflops", "gbps") and getattr(read, name) is None)
    ]
