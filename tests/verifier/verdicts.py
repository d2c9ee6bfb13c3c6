"""Verdicts on logs that a test made up."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from registry_tool.records.verdict import Verdict
from registry_tool.verifier import artifact
from registry_tool.verifier.attempt import Attempt, Run
from registry_tool.verifier.logs.judge import judge
from registry_tool.verifier.machine import environment
from registry_tool.verifier.process import Finished
from registry_tool.verifier.streams import read_stream
from tests.verifier.jobs import job

STARTED = datetime(2026, 11, 30, 23, 59, 58, 5, tzinfo=timezone.utc)


def verdict_on(folder: Path, *logs: bytes, exit_status: int = 0, kind: str = "emulated") -> Verdict:
    """The verdict on one attempt per log, none of them timed apart."""
    work = job(folder, "", kind)
    attempts = []
    for log in logs:
        (folder / "log").write_bytes(log)
        (folder / "err").write_bytes(b"")
        out, err = read_stream(folder / "log"), read_stream(folder / "err")
        judgement = judge(out.facts, exit_status, False, work.request, err.facts)
        finished = Finished(exit_status, False, 1.5, STARTED)
        recorded = work.commands.correctness.recorded
        attempts.append(Attempt((Run(finished, 0.25, out, err, judgement, recorded),)))
    facts = attempts[-1].deciding.out.facts
    return artifact.make(work, attempts, environment.gather(work.target, facts), {}, "1.0")
