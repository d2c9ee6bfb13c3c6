"""Carrying out a plan: run each unmet need until one variant passes, and write the row it earns.

The outermost part of the verifier: it knows plans and records, and nothing of printing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from msgspec.structs import replace

from registry_tool.errors import HarnessError, LockBusyError
from registry_tool.planning.plan import Task
from registry_tool.planning.tiling import Candidate
from registry_tool.records import canonical
from registry_tool.records.keys import RowId
from registry_tool.records.record import Record
from registry_tool.store.files import write_atomic
from registry_tool.store.registry import Registry
from registry_tool.verifier import earned
from registry_tool.verifier.bench import SUSPECT, Bench, Listener, Settings
from registry_tool.verifier.runner import Outcome


@dataclass
class Result:
    """What was written (paths below the registry), which needs stay unmet, and what ended it."""

    written: list[str] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)
    busy: LockBusyError | None = None


@dataclass(frozen=True)
class _Answer:
    """How one task ended: the outcomes in order, the last one passing if ``record`` is there.

    ``obstacle`` says why nothing, or nothing more, could be run.
    """

    task: Task
    tried: tuple[tuple[Candidate, Outcome], ...]
    record: Record | None = None
    row: RowId | None = None
    obstacle: str | None = None

    @property
    def is_suspect(self) -> bool:
        """Whether the device does not answer any more."""
        return any(outcome.is_suspect for _, outcome in self.tried)


def carry_out(
    registry: Registry,
    target: str,
    tasks: Sequence[Task],
    settings: Settings,
    listener: Listener,
) -> Result:
    """Run what is unmet on ``target`` and write the rows it earns; see `Result`.

    Verdicts and logs are on disk before the record that cites them. A suspect device ends it, and
    so does a lock that stays busy: what is done by then stands, the rest is unmet.
    """
    result = Result()
    todo = []
    for task in tasks:
        if task.state == "verified" and not settings.force:
            _credit(registry, task, result)
        elif task.candidates:
            todo.append(task)
        else:
            reasons = "; ".join(task.obstacles) or "no configuration"
            result.unmet.append(f"{task.text}: no legal tile and herd: {reasons}")
            listener.finished(f"{task.text}: no legal tile and herd")
    bench = Bench(registry, target, settings, listener)
    rest, ending = {id(task): task for task in todo}, ""
    try:
        for answer in _answers(registry, bench, todo, settings, listener):
            del rest[id(answer.task)]
            _settle(registry, answer, result, listener)
            if answer.is_suspect:
                listener.line(SUSPECT)
                ending = SUSPECT
                break
    except LockBusyError as error:
        result.busy, ending = error, "the device lock stayed busy"
    result.written += bench.written
    result.unmet += [f"{task.text}: not run: {ending}" for task in rest.values()]
    return result


def _answers(
    registry: Registry,
    bench: Bench,
    todo: Sequence[Task],
    settings: Settings,
    listener: Listener,
) -> Iterator[_Answer]:
    """The answer to each task, as they come."""
    if settings.jobs == 1:
        for task in todo:
            yield _run(registry, bench, task, settings, listener)
        return
    stop = threading.Event()
    pool = ThreadPoolExecutor(settings.jobs)
    pending: set[Future[_Answer]] = {
        pool.submit(_run, registry, bench, task, settings, listener, stop) for task in todo
    }
    try:
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        # Ctrl-C reaches only the main thread; the runs of the others are asked to stop.
        stop.set()
        pool.shutdown(cancel_futures=True)


def _run(
    registry: Registry,
    bench: Bench,
    task: Task,
    settings: Settings,
    listener: Listener,
    stop: threading.Event | None = None,
) -> _Answer:
    tried: list[tuple[Candidate, Outcome]] = []
    for candidate in task.candidates:
        listener.running(f"{task.text} {candidate.variant or ''}".rstrip())
        try:
            row, outcome, provenance = bench.outcome(task, candidate, stop)
        except HarnessError as error:
            return _Answer(task, tuple(tried), obstacle=" ".join(str(error).split()))
        tried.append((candidate, outcome))
        if outcome.passed:
            before = registry.records.get(row)
            made = earned.record(task, tried, before, settings.note, provenance)
            return _Answer(task, tuple(tried), made, row)
        if outcome.is_suspect:
            break
    return _Answer(task, tuple(tried))


def _settle(registry: Registry, answer: _Answer, result: Result, listener: Listener) -> None:
    for _, outcome in answer.tried:
        result.written += outcome.written
    text = answer.task.text
    if answer.record is None or answer.row is None:
        tried = [_failure(candidate, outcome) for candidate, outcome in answer.tried]
        tried += [answer.obstacle] if answer.obstacle else []
        result.unmet.append(f"{text}: {'; '.join(tried)}")
        status = answer.tried[-1][1].verdict.status if answer.tried else "not run"
        listener.finished(f"{text}: not verified ({status})")
        for cause in answer.tried[-1][1].causes if answer.tried else ():
            listener.line(f"    likely: {cause.likely}; look at {cause.look_at}")
        return
    write_atomic(registry.root / answer.row.record_path, canonical.encode(answer.record))
    result.written.append(answer.row.record_path)
    listener.finished(f"{text}{_summary(answer)}")


def _summary(answer: _Answer) -> str:
    candidate, outcome = answer.tried[-1]
    seconds = sum(attempt.seconds for _, one in answer.tried for attempt in one.verdict.attempts)
    record = answer.record
    assert record is not None
    variant = f" {candidate.variant}" if candidate.variant else ""
    how = "flaky pass" if outcome.verdict.is_flaky else "pass"
    if record.mean_rel_L1 is None:
        return f"{variant}: {how} by the diagnosis of a model, {seconds:.1f} s"
    speed = f", {record.performance.latency_us:g} us" if record.performance else ""
    if outcome.verdict.profile is not None and not speed:
        speed = ", not timed"
    return f"{variant}: {how}, mean_rel_L1 {record.mean_rel_L1:.3e}{speed}, {seconds:.1f} s"


def _failure(candidate: Candidate, outcome: Outcome) -> str:
    variant = f"{candidate.variant} " if candidate.variant else ""
    attempts = len(outcome.verdict.attempts)
    again = f" ({attempts} attempts)" if attempts > 1 else ""
    return f"{variant}{outcome.verdict.status}{again}: {outcome.verdict.reason}"


def _credit(registry: Registry, task: Task, result: Result) -> None:
    """Credit a row that is verified already to the sites that now need it too."""
    assert task.row is not None
    record = registry.records[task.row]
    changed = replace(record, used_by=earned.merged(record.used_by, task.wanted.uses))
    if changed != record:
        write_atomic(registry.root / task.row.record_path, canonical.encode(changed))
        result.written.append(task.row.record_path)
