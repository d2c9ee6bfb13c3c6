"""Asking a device that timed out whether it still works: a small run that is known to pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from registry_tool.errors import HarnessError
from registry_tool.planning.plan import backed_rows
from registry_tool.records import canonical
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.record import Record
from registry_tool.records.spec import Canary as Recorded
from registry_tool.records.spec import KernelSpec
from registry_tool.records.verdict import Verdict
from registry_tool.store.registry import Registry
from registry_tool.verifier import commands
from registry_tool.verifier.attempt import Announce, attempt
from registry_tool.verifier.hardware import Place
from registry_tool.verifier.job import Job
from registry_tool.verifier.machine.environment import Surroundings
from registry_tool.verifier.runner import Outcome, conclude


class Canary:
    """The known-good runs of a target: what passed in this campaign, verified rows, the pages'.

    ``written`` are the files of the canaries that ran, relative to the registry's root.
    """

    def __init__(
        self,
        registry: Registry,
        target: str,
        place: Place,
        announce: Announce,
        surroundings: Surroundings | None = None,
    ) -> None:
        self.written: list[str] = []
        self._registry = registry
        self._target = target
        self._place = place
        self._announce = announce
        self._surroundings = surroundings
        self._passed: list[tuple[float, Job]] = []

    def remember(self, job: Job, outcome: Outcome) -> None:
        """``job`` has just passed: the best proof that there is."""
        self._passed.append((outcome.verdict.attempts[-1].seconds, job))

    def is_sound(self, timed_out: RowId | None = None) -> bool:
        """Whether the device still passes a small run after ``timed_out``; says what it does.

        Raises LockBusyError if the lock stays busy.
        """
        for job in self._candidates(timed_out):
            self._announce(f"the device timed out; trying it with {job.row}")
            try:
                one = attempt(job.only_gated(), self._folder(job.row), self._announce)
            except HarnessError as error:
                self._announce(f"{job.row}: {error.message}")
                continue
            root, around = self._registry.root, self._surroundings
            outcome = conclude(job, [one], root, around, is_canary=True)
            self.written += outcome.written
            self._announce(f"{job.row}: {outcome.verdict.status}")
            return outcome.passed
        self._announce(
            "the device timed out, and no other row of this target is known to pass: "
            "it is taken for suspect"
        )
        return False

    def _folder(self, row: RowId) -> Path:
        folder = self._registry.root / row.verdict_folder
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _candidates(self, avoid: RowId | None) -> Iterator[Job]:
        """The quickest first of each kind, without the row that timed out."""
        for _, job in sorted(self._passed, key=lambda item: item[0]):
            if job.row != avoid:
                yield job
        rows = backed_rows(self._registry, self._target)
        seconds = self._seconds(rows)
        for row in sorted(rows, key=lambda row: (seconds[row], str(row))):
            spec, record = self._registry.spec(row.kernel), rows[row]
            if row != avoid and self._target in spec.harness and record.verdict.kind == "harness":
                yield self._job(spec, record)
        for spec in self._registry.specs.values():
            harness = spec.harness.get(self._target)
            if harness is not None and harness.canary is not None:
                job = self._job(spec, harness.canary)
                if job.row != avoid:
                    yield job

    def _job(self, spec: KernelSpec, like: Record | Recorded) -> Job:
        return commands.make_job(
            self._registry.root,
            row_id(self._target, spec.kernel, spec.dims, like.shape, like.variant),
            spec,
            self._registry.target(self._target),
            like.shape,
            like.variant,
            like.tile,
            like.herd,
            place=self._place,
        )

    def _seconds(self, rows: Mapping[RowId, Record]) -> dict[RowId, float]:
        """How long the gated run of each row took, s."""
        paths = {row: record.verdict.artifact for row, record in rows.items()}
        contents = self._registry.snapshot.read_many(paths.values())
        return {row: _took(contents[path]) for row, path in paths.items()}


def _took(data: bytes) -> float:
    try:
        verdict = canonical.decode_lenient(data, Verdict)
    except ValueError:
        return math.inf
    return verdict.attempts[-1].seconds if verdict.attempts else math.inf
