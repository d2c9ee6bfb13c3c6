"""What the runs of one `verify` share: the device with its canary, and the models' diagnoses."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from registry_tool.planning.plan import Task
from registry_tool.planning.tiling import Candidate
from registry_tool.records.keys import RowId, row_id
from registry_tool.store.registry import Registry
from registry_tool.verifier import commands
from registry_tool.verifier.canary import Canary
from registry_tool.verifier.diagnosis import Diagnosis
from registry_tool.verifier.hardware import Place
from registry_tool.verifier.job import Job
from registry_tool.verifier.machine.environment import Surroundings
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


SUSPECT = "the device is suspect: it timed out, and a run that is known to pass did not pass after"


class Bench:
    """Where candidates are run, by their harness or by the diagnosis of a model."""

    def __init__(
        self, registry: Registry, target: str, settings: Settings, listener: Listener
    ) -> None:
        self._registry = registry
        self._target = target
        self._settings = settings
        self._listener = listener
        self._run_at_once: set[str] = set()  # kernels whose harness has no compile-only mode
        self._canary: Canary | None = None
        self._diagnosis: Diagnosis | None = None
        if settings.place is not None:
            place, around, announce = settings.place, settings.surroundings, listener.line
            self._canary = Canary(registry, target, place, announce, around)
            self._diagnosis = Diagnosis(
                registry, target, place, settings.layers, announce, self._canary.is_sound, around
            )

    @property
    def written(self) -> list[str]:
        """Files that no row of the plan is about: the canaries' verdicts."""
        return self._canary.written if self._canary is not None else []

    def outcome(
        self, task: Task, candidate: Candidate, stop: threading.Event | None = None
    ) -> tuple[RowId, Outcome, dict[str, str] | None]:
        """Row, outcome and provenance of ``candidate``.

        Raises HarnessError if nothing can run it, LockBusyError if the lock stays busy.
        """
        registry, target, settings = self._registry, self._target, self._settings
        if self._diagnosis is not None and target not in task.wanted.spec.harness:
            return self._diagnosis.outcome(task, candidate)
        job = make_job(registry, target, task, candidate, settings)
        if job.row.kernel in self._run_at_once:
            job = job.without_compile()
        canary = self._canary
        is_sound = None if canary is None else lambda: canary.is_sound(job.row)
        outcome = run_row(
            job, registry.root, self._listener.line, stop, is_sound, settings.surroundings
        )
        if outcome.lacks_compile_mode:
            self._run_at_once.add(job.row.kernel)
        if outcome.passed and canary is not None:
            canary.remember(job, outcome)
        return job.row, outcome, None
