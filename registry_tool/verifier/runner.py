"""Running one row: its attempts, the verdict on them, and the files that tell of it; no printing.

Streams are captured in temporary files beside their place. Logs are put there first and the
verdict last, each at once and whole: a verdict never stands without its logs, and nothing is ever
half written.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import UNSET

from registry_tool import __version__
from registry_tool.errors import InputError, LockBusyError
from registry_tool.records import canonical
from registry_tool.records.record import Record, Use, VerdictLink, Waiver
from registry_tool.records.verdict import Output, Verdict
from registry_tool.store.files import write_atomic
from registry_tool.verifier import artifact
from registry_tool.verifier.attempt import Announce, Attempt, Run, attempt
from registry_tool.verifier.causes.setup import Setup
from registry_tool.verifier.diagnose import Cause, causes
from registry_tool.verifier.job import Job
from registry_tool.verifier.machine import environment
from registry_tool.verifier.machine.environment import Surroundings
from registry_tool.verifier.retry import earlier_failures, worth_another
from registry_tool.verifier.stop import Stopped

__all__ = ["Job", "Outcome", "record_from", "run_row"]


@dataclass(frozen=True)
class Outcome:
    """What a run of a row left: its verdict, where that stands, and why it may have failed.

    ``written`` are the paths of the new files, relative to the registry's root; ``is_suspect``
    says that the device did not answer the canary after it.
    """

    verdict: Verdict
    path: str
    sha256: str
    written: tuple[str, ...]
    causes: tuple[Cause, ...]
    survivors: tuple[str, ...]
    is_suspect: bool = False
    lacks_compile_mode: bool = False

    @property
    def passed(self) -> bool:
        """Whether the row is verified."""
        return self.verdict.status == "pass"


def run_row(
    job: Job,
    registry_root: Path,
    announce: Announce,
    stop: threading.Event | None = None,
    is_sound: Callable[[], bool] | None = None,
    surroundings: Surroundings | None = None,
) -> Outcome:
    """Run ``job`` under its target's lock, once more if that may help, and write what it proved.

    ``is_sound`` asks the device after a time-out; if it says no, that was the last run. Raises
    LockBusyError if a lock stays busy, ToolError if the harness cannot be started, and Stopped
    when ``stop`` is set: attempts that were finished by then leave their verdict.
    """
    folder = registry_root / job.row.verdict_folder
    folder.mkdir(parents=True, exist_ok=True)
    attempts: list[Attempt] = []
    is_suspect = False
    while True:
        try:
            attempts.append(attempt(job, folder, announce, stop))
            is_suspect = attempts[-1].hung and is_sound is not None and not is_sound()
        except (LockBusyError, Stopped, KeyboardInterrupt):
            # What went wrong already must not be lost: a later pass is flaky for it.
            if attempts:
                conclude(job, attempts, registry_root, surroundings)
            raise
        if is_suspect:
            break
        if not worth_another(job, attempts):
            break
        if attempts[-1].lacks_compile_mode:
            job = job.without_compile()
        announce(f"{job.row}: {attempts[-1].deciding.judgement.status}; trying once more")
    outcome = conclude(job, attempts, registry_root, surroundings, is_suspect)
    lacks = any(one.lacks_compile_mode for one in attempts)
    return replace(outcome, lacks_compile_mode=lacks)


def conclude(
    job: Job,
    attempts: Sequence[Attempt],
    registry_root: Path,
    surroundings: Surroundings | None = None,
    is_suspect: bool = False,
    is_canary: bool = False,
) -> Outcome:
    """Write the verdict on ``attempts``, with all their logs."""
    deciding = attempts[-1].deciding
    sources = environment.sources(job.spec, job.target, registry_root, job.row.target)
    folder = registry_root / job.row.verdict_folder
    verdict = artifact.make(
        job,
        attempts,
        environment.gather(job.target, deciding.out.facts, surroundings),
        sources,
        __version__,
        earlier_failures(job, folder, sources),
        is_canary,
    )
    runs = [one.deciding for one in attempts]
    if verdict.profile is not None:
        runs += attempts[-1].timings
    if verdict.compile is not UNSET and attempts[-1].compiled is not None:
        runs.append(attempts[-1].compiled)
    step = "run" if deciding.kind == "gated" else deciding.kind
    setup = Setup(job.spec, job.shape, job.variant, job.tile, job.herd, step)
    return write_outcome(
        verdict,
        runs,
        registry_root,
        job.row.verdict_folder,
        causes(deciding.out.facts, deciding.judgement, deciding.err.facts, setup),
        is_suspect,
    )


def write_outcome(
    verdict: Verdict,
    runs: Sequence[Run],
    registry_root: Path,
    folder: str,
    why: tuple[Cause, ...],
    is_suspect: bool = False,
) -> Outcome:
    """Put logs and verdict in ``folder``; ``runs`` hold the streams that ``verdict`` names."""
    compiled = [] if verdict.compile is UNSET else [verdict.compile]
    named = [*verdict.attempts, *(verdict.profile or ()), *compiled]
    content: dict[str, bytes] = {}
    for start, run in zip(named, runs, strict=True):
        content |= {start.log.name: run.out.stored, start.err.name: run.err.stored}
    data = canonical.encode(verdict)
    content[f"{verdict.run_id}.json"] = data  # the last one to be written
    for name, stored in content.items():
        write_atomic(registry_root / folder / name, stored)
    return Outcome(
        verdict=verdict,
        path=f"{folder}/{verdict.run_id}.json",
        sha256=hashlib.sha256(data).hexdigest(),
        written=tuple(f"{folder}/{name}" for name in content),
        causes=why,
        survivors=runs[len(verdict.attempts) - 1].finished.survivors,
        is_suspect=is_suspect,
    )


def record_from(
    verdict: Verdict,
    path: str,
    sha256: str,
    used_by: Sequence[Use] = (),
    notes: Sequence[str] = (),
    waivers: Sequence[Waiver] = (),
    provenance: Mapping[str, str] | None = None,
) -> Record:
    """The row that a passing verdict (the file at ``path``, relative to the root) earns.

    Raises InputError for a verdict that did not pass: no option makes a row of it.
    """
    if verdict.status != "pass":
        raise InputError(
            f"a verdict of status {verdict.status} makes no row: {verdict.reason}", path=path
        )
    subject = verdict.subject
    worst = _worst(verdict.outputs)
    tiles = 1
    for extent in subject.herd:
        tiles *= extent
    return Record(
        kernel=subject.kernel,
        target=subject.target,
        shape=subject.shape,
        variant=subject.variant,
        precision=subject.precision,
        tile=subject.tile,
        herd=subject.herd,
        tiles_in_flight=tiles,
        mean_rel_L1=None if worst is None else worst.mean_rel_L1,
        max_abs=None if worst is None else worst.max_abs,
        max_rel=None if worst is None else worst.max_rel,
        performance=verdict.performance,
        verdict=VerdictLink(
            status=verdict.status,
            kind=verdict.kind,
            artifact=path,
            sha256=sha256,
            flaky=True if verdict.is_flaky else UNSET,
        ),
        used_by=list(used_by),
        notes=list(notes),
        waivers=list(waivers),
        provenance=dict(provenance or {}),
    )


def _worst(outputs: Sequence[Output]) -> Output | None:
    return max(outputs, key=lambda o: (o.mean_rel_L1 or 0.0, o.max_abs or 0.0), default=None)
