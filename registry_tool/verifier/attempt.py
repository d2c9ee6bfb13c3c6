"""One attempt at a row: build folders made anew, compile-only run, gated run, timing runs.

Each start of the harness is judged by itself; the attempt ends with the first that is no pass.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from registry_tool.records.record import Performance
from registry_tool.records.spec import Target
from registry_tool.store.files import temporary_name
from registry_tool.verifier import process
from registry_tool.verifier.compile_mode import is_honoured, is_unknown
from registry_tool.verifier.hardware import OUTER_MAKE
from registry_tool.verifier.job import Job, Step
from registry_tool.verifier.locks.lock import acquire_slot
from registry_tool.verifier.logs.judge import Judgement, judge
from registry_tool.verifier.logs.request import Request
from registry_tool.verifier.process import Finished
from registry_tool.verifier.speed import judge_timing, speed_of
from registry_tool.verifier.streams import Stream, read_stream
from registry_tool.verifier.workspace import prepared

Announce = Callable[[str], None]
Kind = Literal["compile", "gated", "timing"]


@dataclass(frozen=True)
class Run:
    """One start of the harness, with what it printed and how it was judged by itself."""

    finished: Finished
    wait_s: float
    out: Stream
    err: Stream
    judgement: Judgement
    recorded: tuple[str, ...]
    kind: Kind = "gated"

    @property
    def is_bad(self) -> bool:
        """Whether it speaks against the row."""
        return self.judgement.status != "pass" and not self.is_untimed

    @property
    def is_untimed(self) -> bool:
        """Whether it is a timing run that ended before it ran anything: it says nothing.

        A timing path may need more than the gated one: a C++ compiler, XRT's headers.
        """
        facts = self.out.facts
        began = facts.devices or facts.outputs or facts.timings or facts.has("dispatch_state")
        return self.kind == "timing" and self.judgement.status == "error" and not began


@dataclass(frozen=True)
class Attempt:
    """The runs of one attempt, in order; it ends with the first that speaks against the row.

    ``lacks_compile_mode``: its harness ran on the device, or refused, when asked to compile only.
    """

    runs: tuple[Run, ...]
    lacks_compile_mode: bool = False

    @property
    def deciding(self) -> Run:
        """The run that the attempt is judged by: the first that is no pass, else the gated one."""
        bad = [run for run in self.runs if run.is_bad]
        return bad[0] if bad else next(run for run in self.runs if run.kind == "gated")

    @property
    def passed(self) -> bool:
        """Whether no run of it speaks against the row."""
        return not any(run.is_bad for run in self.runs)

    @property
    def compiled(self) -> Run | None:
        """The compile-only run."""
        return next((run for run in self.runs if run.kind == "compile"), None)

    @property
    def timings(self) -> tuple[Run, ...]:
        """The timing runs."""
        return tuple(run for run in self.runs if run.kind == "timing")

    @property
    def performance(self) -> Performance | None:
        """The measured speed of a pass; None if nothing was timed."""
        if not self.passed or any(run.is_untimed for run in self.runs):
            return None
        return speed_of([run.judgement for run in self.timings or (self.deciding,)])

    @property
    def hung(self) -> bool:
        """Whether the device may hang: a time-out of a run that used it."""
        return self.deciding.judgement.status == "timeout" and self.deciding.kind != "compile"


def attempt(
    job: Job, folder: Path, announce: Announce, stop: threading.Event | None = None
) -> Attempt:
    """Carry ``job`` out once; its streams are captured in temporary files in ``folder``.

    Raises LockBusyError if a lock stays busy, ToolError if the harness cannot be started, and
    Stopped when ``stop`` is set.
    """
    runs: list[Run] = []
    lacks = False
    limit_s = job.target.lock.limit_s
    with prepared(job.commands.build, limit_s, announce, stop):
        for kind, step in _plan(job):
            run = _run(job, kind, step, folder, announce, stop)
            if kind == "compile":
                lacks = is_unknown(run.out, run.err, run.finished.exit_status)
                if lacks:
                    announce(f"{job.row}: this harness has no compile-only mode; it is run at once")
                    continue
            runs.append(run)
            if run.judgement.status != "pass":
                break
    return Attempt(tuple(runs), lacks)


def _plan(job: Job) -> Iterator[tuple[Kind, Step]]:
    commands = job.commands
    if commands.compile is not None and is_honoured(commands):
        yield "compile", commands.compile
    yield "gated", commands.correctness
    if commands.timing is not None:
        for _ in range(job.target.timing_runs):
            yield "timing", commands.timing


def _run(
    job: Job,
    kind: Kind,
    step: Step,
    folder: Path,
    announce: Announce,
    stop: threading.Event | None,
) -> Run:
    def judging(finished: Finished, out: Stream, err: Stream) -> Judgement:
        return _judge(job, kind, finished, out, err)

    return start(job.target, kind, step, folder, judging, announce, stop)


def start(
    target: Target,
    kind: Kind,
    step: Step,
    folder: Path,
    judging: Callable[[Finished, Stream, Stream], Judgement],
    announce: Announce,
    stop: threading.Event | None = None,
    more: Callable[[Finished, Path], None] | None = None,
) -> Run:
    """Start ``step`` once and judge it; all but a compile-only one hold the lock of ``target``.

    ``more`` may add to the captured output what the harness wrote elsewhere. Raises as `attempt`.
    """
    limit_s = target.compile_limit_s if kind == "compile" else target.run_limit_s
    # What a harness said before it hung must not be lost in its buffer.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    environment = {k: v for k, v in environment.items() if k not in OUTER_MAKE}
    with captured(folder) as (out_path, err_path), contextlib.ExitStack() as held:
        wait_s = 0.0
        if kind != "compile":
            path, longest_s = Path(target.lock.path), target.lock.limit_s
            slot = acquire_slot(path, target.jobs, longest_s, announce, stop)
            wait_s = held.enter_context(slot).wait_s
        finished = process.run(
            step.command, step.cwd, out_path, err_path, limit_s, env=environment, stop=stop
        )
        held.close()
        if more is not None:
            more(finished, out_path)
        out, err = read_stream(out_path), read_stream(err_path)
    return Run(finished, wait_s, out, err, judging(finished, out, err), step.recorded, kind)


@contextlib.contextmanager
def captured(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Two temporary files for the streams of a run; gone afterwards, whatever happens."""
    paths = temporary_name(folder / "run.log"), temporary_name(folder / "run.err")
    try:
        yield paths
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def _judge(job: Job, kind: Kind, finished: Finished, out: Stream, err: Stream) -> Judgement:
    status, timed_out = finished.exit_status, finished.timed_out
    if kind == "compile":
        return judge_compile(out, err, finished)
    if kind == "timing":
        return judge_timing(
            out.facts, err.facts, status, timed_out, job.request, job.commands.stateful
        )
    return judge(out.facts, status, timed_out, job.request, err.facts)


def judge_compile(out: Stream, err: Stream, finished: Finished) -> Judgement:
    """Whether a compile-only run built the kernel: `pass`, or how it failed."""
    found = judge(out.facts, finished.exit_status, finished.timed_out, Request(), err.facts)
    if finished.timed_out:
        why = f"compiling was ended at its time limit ({finished.seconds:.0f} s), before any run"
        return Judgement("timeout", why, (), None, None, None)
    if finished.exit_status == 0 and found.status not in ("error", "timeout", "fail"):
        return Judgement("pass", None, (), None, None, None)
    status = found.status if found.status in ("error", "timeout") else "error"
    return Judgement(status, f"while compiling: {found.reason}", (), None, None, None)
