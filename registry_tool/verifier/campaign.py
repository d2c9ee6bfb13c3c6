"""Carrying out a plan: run each unmet need until one variant passes, and write the row it earns.

The outermost part of the verifier: it knows plans and records, and nothing of printing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from registry_tool.errors import HarnessError, LockBusyError
from registry_tool.planning.plan import Task
from registry_tool.planning.tiling import Candidate
from registry_tool.records import canonical
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.record import Record
from registry_tool.store.files import write_atomic
from registry_tool.store.registry import Registry
from registry_tool.verifier import commands, earned
from registry_tool.verifier.canary import Canary
from registry_tool.verifier.diagnosis import Diagnosis
from registry_tool.verifier.environment import Surroundings
from registry_tool.verifier.hardware import Place
from registry_tool.verifier.job import Job
from registry_tool.verifier.runner import Outcome, run_row


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
    """What `verify` was asked to do beyond the plan; ``place`` is given for hardware.

    ``layers`` are those of the models, as far as they are known.
    """

    force: bool = False
    jobs: int = 1
    note: str | None = None
    inject: str | None = None
    place: Place | None = None
    layers: Mapping[str, int] = field(default_factory=dict)
    surroundings: Surroundings | None = None


@dataclass
class Result:
    """What was written (paths below the registry), which needs stay unmet, and what ended it."""

    written: list[str] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)
    busy: LockBusyError | None = None


def make_job(
    registry: Registry, target: str, task: Task, candidate: Candidate, settings: Settings
) -> Job:
    """How ``candidate`` is run for ``task``; raises ToolError if nothing on ``target`` can."""
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
        settings.place,
    )


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


SUSPECT = "the device is suspect: it timed out, and a run that is known to pass did not pass after"


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
    campaign = _Campaign(registry, target, settings, listener)
    rest, ending = {id(task): task for task in todo}, ""
    try:
        for answer in campaign.answers(todo):
            del rest[id(answer.task)]
            _settle(registry, answer, result, listener)
            if answer.is_suspect:
                ending = SUSPECT
                break
    except LockBusyError as error:
        result.busy, ending = error, "the device lock stayed busy"
    result.written += campaign.written
    result.unmet += [f"{task.text}: not run: {ending}" for task in rest.values()]
    return result


class _Campaign:
    """The runs of one `verify`: what they share is the device, and the diagnoses of models."""

    def __init__(
        self, registry: Registry, target: str, settings: Settings, listener: Listener
    ) -> None:
        self._registry = registry
        self._target = target
        self._settings = settings
        self._listener = listener
        self._canary: Canary | None = None
        self._diagnosis: Diagnosis | None = None
        if settings.place is not None:
            place, around, announce = settings.place, settings.surroundings, listener.line
            self._canary = Canary(registry, target, place, announce, around)
            self._diagnosis = Diagnosis(registry, target, settings.place, settings.layers, announce)

    @property
    def written(self) -> list[str]:
        """Files that no row of the plan is about: the canaries' verdicts."""
        return self._canary.written if self._canary is not None else []

    def answers(self, todo: Sequence[Task]) -> Iterator[_Answer]:
        """The answer to each task, as they come."""
        if self._settings.jobs == 1:
            for task in todo:
                yield self._run(task)
            return
        stop = threading.Event()
        pool = ThreadPoolExecutor(self._settings.jobs)
        pending: set[Future[_Answer]] = {pool.submit(self._run, task, stop) for task in todo}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            # Ctrl-C reaches only the main thread; the runs of the others are asked to stop.
            stop.set()
            pool.shutdown(cancel_futures=True)

    def _run(self, task: Task, stop: threading.Event | None = None) -> _Answer:
        tried: list[tuple[Candidate, Outcome]] = []
        for candidate in task.candidates:
            self._listener.running(f"{task.text} {candidate.variant or ''}".rstrip())
            try:
                row, outcome, provenance = self._outcome(task, candidate, stop)
            except HarnessError as error:
                return _Answer(task, tuple(tried), obstacle=error.message)
            tried.append((candidate, outcome))
            if outcome.passed:
                before = self._registry.records.get(row)
                made = earned.record(task, tried, before, self._settings.note, provenance)
                return _Answer(task, tuple(tried), made, row)
            if outcome.is_suspect:
                break
        return _Answer(task, tuple(tried))

    def _outcome(
        self, task: Task, candidate: Candidate, stop: threading.Event | None
    ) -> tuple[RowId, Outcome, dict[str, str] | None]:
        """Row, outcome and provenance of ``candidate``: by its harness, or by a diagnosis."""
        registry, target, settings = self._registry, self._target, self._settings
        if self._diagnosis is not None and target not in task.wanted.spec.harness:
            return self._diagnosis.outcome(task, candidate)
        job = make_job(registry, target, task, candidate, settings)
        canary = self._canary
        is_sound = None if canary is None else lambda: canary.is_sound(job)
        outcome = run_row(
            job, registry.root, self._listener.line, stop, is_sound, settings.surroundings
        )
        if outcome.passed and canary is not None:
            canary.remember(job, outcome)
        return job.row, outcome, None


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
    return f"{variant}: {how}, mean_rel_L1 {record.mean_rel_L1:.3e}, {seconds:.1f} s"


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
