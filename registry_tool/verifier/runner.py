"""Running one row: lock, harness, log, judgement, and the files that tell of it; no printing.

The streams are captured in temporary files beside their place. Log and standard error are put
there first and the verdict last, each at once and whole: a verdict never stands without its logs,
and nothing is ever half written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from registry_tool import __version__
from registry_tool.errors import InputError
from registry_tool.records import canonical
from registry_tool.records.record import Record, Use, VerdictLink, Waiver
from registry_tool.records.verdict import Output, Verdict
from registry_tool.store.files import temporary_name, write_atomic
from registry_tool.verifier import artifact, environment, process
from registry_tool.verifier.artifact import Run, read_stream
from registry_tool.verifier.diagnose import Cause, causes
from registry_tool.verifier.job import Job
from registry_tool.verifier.judge import judge
from registry_tool.verifier.lock import acquire_slot

__all__ = ["Job", "Outcome", "record_from", "run_row"]

Announce = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What a run of a row left: its verdict, where that stands, and why it may have failed.

    ``written`` are the paths of the new files, relative to the registry's root.
    """

    verdict: Verdict
    path: str
    sha256: str
    written: tuple[str, ...]
    causes: tuple[Cause, ...]
    survivors: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the row is verified."""
        return self.verdict.status == "pass"


def run_row(
    job: Job, registry_root: Path, announce: Announce, stop: threading.Event | None = None
) -> Outcome:
    """Run ``job`` under its target's lock, and write what it proved.

    Raises LockBusyError if the lock stays busy, ToolError if the harness cannot be started, and
    Stopped when ``stop`` is set: then nothing is written.
    """
    folder = registry_root / job.row.verdict_folder
    folder.mkdir(parents=True, exist_ok=True)
    with _captured(folder) as (out_path, err_path):
        with acquire_slot(
            Path(job.target.lock.path), job.target.jobs, job.target.lock.limit_s, announce, stop
        ) as slot:
            finished = process.run(
                job.command,
                job.cwd or registry_root,
                out_path,
                err_path,
                job.run_limit_s,
                # What a harness said before it hung must not be lost in its buffer.
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stop=stop,
            )
        out, err = read_stream(out_path), read_stream(err_path)
    judgement = judge(out.facts, finished.exit_status, finished.timed_out, job.request, err.facts)
    run = Run(finished, slot.wait_s, out, err, judgement)
    verdict = artifact.make(
        job,
        [run],
        environment.gather(job.target, out.facts),
        environment.sources(job.spec, job.target, registry_root),
        __version__,
    )
    written = _write(verdict, [run], folder)
    return Outcome(
        verdict=verdict,
        path=f"{job.row.verdict_folder}/{written[-1].name}",
        sha256=hashlib.sha256(written[-1].read_bytes()).hexdigest(),
        written=tuple(f"{job.row.verdict_folder}/{path.name}" for path in written),
        causes=causes(out.facts, judgement, err.facts),
        survivors=finished.survivors,
    )


@contextlib.contextmanager
def _captured(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Two temporary files for the streams of a run; gone afterwards, whatever happens."""
    paths = temporary_name(folder / "run.log"), temporary_name(folder / "run.err")
    try:
        yield paths
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def _write(verdict: Verdict, runs: Sequence[Run], folder: Path) -> list[Path]:
    """Put logs and verdict in place; the verdict is the last of the paths."""
    content = {f"{verdict.run_id}.json": canonical.encode(verdict)}
    for attempt, run in zip(verdict.attempts, runs, strict=True):
        content = {attempt.log.name: run.out.stored, attempt.err.name: run.err.stored, **content}
    for name, data in content.items():
        write_atomic(folder / name, data)
    return [folder / name for name in content]


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
        verdict=VerdictLink(status=verdict.status, kind=verdict.kind, artifact=path, sha256=sha256),
        used_by=list(used_by),
        notes=list(notes),
        waivers=list(waivers),
        provenance=dict(provenance or {}),
    )


def _worst(outputs: Sequence[Output]) -> Output | None:
    return max(outputs, key=lambda o: (o.mean_rel_L1 or 0.0, o.max_abs or 0.0), default=None)
