"""Carrying out a plan: run each unmet need until one variant passes, and write the row it earns.

The outermost part of the verifier: it knows plans and records, and nothing of printing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from registry_tool.planning.plan import Task
from registry_tool.planning.search import COMPUTED, under_target_note
from registry_tool.planning.tiling import Candidate
from registry_tool.records import canonical, kernel
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.record import Record, Use
from registry_tool.records.verdict import Verdict
from registry_tool.store.files import write_atomic
from registry_tool.store.registry import Registry
from registry_tool.verifier import commands
from registry_tool.verifier.job import Job
from registry_tool.verifier.runner import Outcome, record_from, run_row


class Listener(Protocol):
    """Who is told how it goes."""

    def running(self, text: str) -> None:
        """``text`` has started."""

    def line(self, text: str) -> None:
        """Something worth a line."""

    def finished(self, text: str) -> None:
        """One need is answered."""


@dataclass(frozen=True)
class Settings:
    """What `verify` was asked to do beyond the plan."""

    force: bool = False
    jobs: int = 1
    note: str | None = None
    inject: str | None = None


@dataclass
class Result:
    """What was written (paths below the registry), and which needs stay unmet."""

    written: list[str] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)


def jobs(registry: Registry, target: str, task: Task, settings: Settings) -> Iterator[Job]:
    """What would be run for ``task``, first choice first."""
    for candidate in task.candidates:
        yield _job(registry, target, task, candidate, settings)


def _job(
    registry: Registry, target: str, task: Task, candidate: Candidate, settings: Settings
) -> Job:
    spec, shape = task.wanted.spec, task.wanted.shape
    return commands.make_job(
        registry.root,
        row_id(target, spec.kernel, spec.dims, shape, candidate.variant),
        spec,
        # As many lock slots as runs were asked for: one run takes the plain lock, as on hardware.
        replace(registry.target(target), jobs=settings.jobs),
        shape,
        candidate.variant,
        candidate.tile,
        candidate.herd,
        settings.inject,
    )


@dataclass(frozen=True)
class _Answer:
    """How one task ended: the outcomes in order, the last one passing if ``record`` is there."""

    task: Task
    outcomes: tuple[tuple[Candidate, Outcome], ...]
    record: Record | None
    row: RowId | None


def carry_out(
    registry: Registry,
    target: str,
    tasks: Sequence[Task],
    settings: Settings,
    listener: Listener,
) -> Result:
    """Run what is unmet on ``target`` and write the rows it earns; see `Result`.

    Verdicts and logs are on disk before the record that cites them. Raises LockBusyError.
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
    for answer in _answers(registry, target, todo, settings, listener):
        _settle(registry, answer, result, listener)
    return result


def _answers(
    registry: Registry,
    target: str,
    todo: Sequence[Task],
    settings: Settings,
    listener: Listener,
) -> Iterator[_Answer]:
    if settings.jobs == 1:
        for task in todo:
            yield _run(registry, target, task, settings, listener)
        return
    stop = threading.Event()
    pool = ThreadPoolExecutor(settings.jobs)
    pending: set[Future[_Answer]] = {
        pool.submit(_run, registry, target, task, settings, listener, stop) for task in todo
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
    target: str,
    task: Task,
    settings: Settings,
    listener: Listener,
    stop: threading.Event | None = None,
) -> _Answer:
    outcomes: list[tuple[Candidate, Outcome]] = []
    for candidate in task.candidates:
        job = _job(registry, target, task, candidate, settings)
        listener.running(f"{task.text} {candidate.variant or ''}".rstrip())
        outcome = run_row(job, registry.root, listener.line, stop)
        outcomes.append((candidate, outcome))
        if outcome.passed:
            record = _record(registry, task, job.row, outcomes, settings)
            return _Answer(task, tuple(outcomes), record, job.row)
    return _Answer(task, tuple(outcomes), None, None)


def _settle(registry: Registry, answer: _Answer, result: Result, listener: Listener) -> None:
    for _, outcome in answer.outcomes:
        result.written += outcome.written
    text = answer.task.text
    candidate, last = answer.outcomes[-1]
    if answer.record is None or answer.row is None:
        tried = "; ".join(_failure(candidate, outcome) for candidate, outcome in answer.outcomes)
        result.unmet.append(f"{text}: {tried}")
        listener.finished(f"{text}: not verified ({last.verdict.status})")
        for cause in last.causes:
            listener.line(f"    likely: {cause.likely}; look at {cause.look_at}")
        return
    write_atomic(registry.root / answer.row.record_path, canonical.encode(answer.record))
    result.written.append(answer.row.record_path)
    seconds = sum(
        attempt.seconds for _, outcome in answer.outcomes for attempt in outcome.verdict.attempts
    )
    variant = f" {candidate.variant}" if candidate.variant else ""
    listener.finished(
        f"{text}{variant}: pass, mean_rel_L1 {answer.record.mean_rel_L1:.3e}, {seconds:.1f} s"
    )


def _failure(candidate: Candidate, outcome: Outcome) -> str:
    variant = f"{candidate.variant} " if candidate.variant else ""
    return f"{variant}{outcome.verdict.status}: {outcome.verdict.reason}"


def _record(
    registry: Registry,
    task: Task,
    row: RowId,
    outcomes: Sequence[tuple[Candidate, Outcome]],
    settings: Settings,
) -> Record:
    """The row that the last outcome earns; what people wrote in an earlier one is kept."""
    before = registry.records.get(row)
    candidate, passed = outcomes[-1]
    notes = [note for note in (before.notes if before else []) if not note.startswith(COMPUTED)]
    if settings.note and settings.note not in notes:
        notes.append(settings.note)
    notes += _computed_notes(task, candidate, passed.verdict, outcomes[:-1])
    return record_from(
        passed.verdict,
        passed.path,
        passed.sha256,
        used_by=_merged(before.used_by if before else [], task.wanted.uses),
        notes=notes,
        waivers=before.waivers if before else [],
    )


def _computed_notes(
    task: Task,
    candidate: Candidate,
    verdict: Verdict,
    failed: Sequence[tuple[Candidate, Outcome]],
) -> Iterator[str]:
    spec, shape = task.wanted.spec, task.wanted.shape
    if failed:
        first = kernel.precision_of(spec, failed[0][0].variant)
        tier = verdict.subject.precision
        lead = f"tier-down from {first} to {tier}: " if tier != first else ""
        tried = "; ".join(
            f"{one.variant} did not pass ({_why(outcome)})" for one, outcome in failed
        )
        yield f"{COMPUTED}{lead}{tried}"[:1000]
    if kernel.tiles_in_flight(candidate.herd) < spec.tiles_target:
        reason = under_target_note(spec, shape, candidate.variant)
        if reason is not None:
            yield reason


def _why(outcome: Outcome) -> str:
    # The judge lists every signal, the weightiest first; a note needs no more than that one.
    first = (outcome.verdict.reason or "").partition(";")[0]
    return f"{outcome.verdict.status}: {first}"


def _merged(known: Sequence[Use], more: Sequence[Use]) -> list[Use]:
    return list(dict.fromkeys([*known, *more]))


def _credit(registry: Registry, task: Task, result: Result) -> None:
    """Credit a row that is verified already to the sites that now need it too."""
    assert task.row is not None
    record = registry.records[task.row]
    changed = replace(record, used_by=_merged(record.used_by, task.wanted.uses))
    if changed != record:
        write_atomic(registry.root / task.row.record_path, canonical.encode(changed))
        result.written.append(task.row.record_path)
