"""Sweeping a shape: run its legal configurations, keep every verdict, make the fastest the row."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET

from registry_tool.errors import HarnessError, LockBusyError
from registry_tool.planning.placement import ConfigurationKey, Refusal, Verdicts, key_of
from registry_tool.planning.plan import Task, backed_rows
from registry_tool.planning.sweep import configurations
from registry_tool.planning.tiling import Candidate
from registry_tool.records import canonical, kernel
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.record import Record
from registry_tool.records.verdict import Verdict
from registry_tool.store.files import write_atomic
from registry_tool.store.registry import Registry
from registry_tool.verifier import earned
from registry_tool.verifier.bench import SUSPECT, Bench, Listener, Settings
from registry_tool.verifier.campaign import Result
from registry_tool.verifier.machine import environment
from registry_tool.verifier.runner import Outcome

# A wrong result comes again from the same sources; a hang or a crash may not.
_SETTLED = ("pass", "fail")


@dataclass(frozen=True)
class Limits:
    """How far a sweep goes: runs of each shape, and seconds after which none is started."""

    runs: int
    seconds: float = math.inf


@dataclass
class _Found:
    """What is known of one variant of a shape: passes, and how many did not, or do not place."""

    passed: list[tuple[Candidate, Outcome]] = field(default_factory=list)
    failed: int = 0
    refused: dict[ConfigurationKey, Refusal] = field(default_factory=dict)
    runs: int = 0
    ended: str | None = None
    is_late: bool = False


def sweep(
    registry: Registry,
    target: str,
    tasks: Sequence[Task],
    settings: Settings,
    limits: Limits,
    listener: Listener,
) -> Result:
    """Sweep the shapes of ``tasks`` within ``limits``; `Result` says which have no passing row.

    What earlier sweeps found with the same sources counts, and is not run again; nor is what does
    not place, with ``settings.force`` both are. A suspect device or a busy lock ends it.
    """
    result, bench = Result(), Bench(registry, target, settings, listener)
    deadline = time.monotonic() + limits.seconds
    rows = backed_rows(registry, target)
    for at, task in enumerate(tasks):
        found = _Found()
        try:
            for variant in task.wanted.variants:
                found = _Found()
                work = _Sweep(registry, target, bench, task, variant, settings.force, rows)
                work.run(found, limits.runs, deadline, listener, result)
                if found.passed or found.ended:
                    break
        except LockBusyError as error:
            result.busy, found.ended = error, "the device lock stayed busy"
        _settle(registry, target, task, found, settings, listener, result)
        if found.ended:
            rest = [f"{task.text}: not swept: {found.ended}" for task in tasks[at + 1 :]]
            result.unmet += rest
            break
    result.written += bench.written
    return result


class _Sweep:
    """The sweep of one variant of one shape."""

    def __init__(
        self,
        registry: Registry,
        target: str,
        bench: Bench,
        task: Task,
        variant: str | None,
        force: bool,
        rows: Mapping[RowId, Record],
    ) -> None:
        self._bench = bench
        self._task = task
        spec, shape = task.wanted.spec, task.wanted.shape
        self._candidates = configurations(spec, shape, variant, rows.values())
        self._row = row_id(target, spec.kernel, spec.dims, shape, variant)
        known = Verdicts(registry)
        self._refused = {} if force else known.refusals(self._row)
        sources = environment.sources(spec, registry.target(target), registry.root, target)
        self._settled: dict[ConfigurationKey, Verdict] = {}
        for verdict in [] if force else known.of(self._row):
            is_timed = verdict.canary is UNSET
            if verdict.status in _SETTLED and verdict.sources == sources and is_timed:
                self._settled[key_of(verdict.subject.tile, verdict.subject.herd)] = verdict

    def run(
        self, found: _Found, most: int, deadline: float, listener: Listener, result: Result
    ) -> None:
        """Fill ``found``; raises LockBusyError."""
        found.refused |= self._refused
        for verdict in self._settled.values():
            self._count(found, _candidate(verdict), self._earlier(verdict))
        for candidate in self._candidates:
            key = key_of(candidate.tile, candidate.herd)
            if key in found.refused or key in self._settled:
                continue
            found.is_late = time.monotonic() >= deadline
            if found.runs >= most or found.is_late:
                return
            text = _text(candidate)
            listener.running(f"{self._task.text} {text}")
            try:
                _, outcome, _ = self._bench.outcome(self._task, candidate)
            except HarnessError as error:
                found.ended = error.message
                return
            found.runs += 1
            result.written += outcome.written
            self._count(found, candidate, outcome)
            listener.line(f"{self._task.text} {text}: {_said(outcome)}")
            if outcome.is_suspect:
                found.ended = SUSPECT
                return

    def _count(self, found: _Found, candidate: Candidate, outcome: Outcome) -> None:
        verdict = outcome.verdict
        if outcome.passed:
            found.passed.append((candidate, outcome))
        elif verdict.places is False:
            key, herd = key_of(candidate.tile, candidate.herd), tuple(candidate.herd)
            found.refused[key] = Refusal(candidate.tile, herd, verdict.reason or verdict.status)
        else:
            found.failed += 1

    def _earlier(self, verdict: Verdict) -> Outcome:
        sha256 = hashlib.sha256(canonical.encode(verdict)).hexdigest()
        path = f"{self._row.verdict_folder}/{verdict.run_id}.json"
        return Outcome(verdict, path, sha256, (), (), ())


def _candidate(verdict: Verdict) -> Candidate:
    subject = verdict.subject
    return Candidate(subject.variant, subject.tile, subject.herd, "an earlier run")


def _settle(
    registry: Registry,
    target: str,
    task: Task,
    found: _Found,
    settings: Settings,
    listener: Listener,
    result: Result,
) -> None:
    counts = (
        f"{len(found.passed)} passed, {found.failed} did not, {len(found.refused)} do not place, "
        f"{found.runs} run now{', until the time budget was over' if found.is_late else ''}"
    )
    if not found.passed:
        why = f"; {found.ended}" if found.ended else ""
        result.unmet.append(f"{task.text}: no configuration passed ({counts}){why}")
        listener.finished(f"{task.text}: not verified ({counts})")
        return
    best = min(found.passed, key=lambda one: _rank(*one))
    candidate, outcome = best
    spec, shape = task.wanted.spec, task.wanted.shape
    row = row_id(target, spec.kernel, spec.dims, shape, candidate.variant)
    note = settings.note or _reason(task, best, found)
    made = earned.record(task, [best], registry.records.get(row), note)
    write_atomic(registry.root / row.record_path, canonical.encode(made))
    result.written.append(row.record_path)
    listener.finished(f"{task.text}: {_text(candidate)} is the row, {_said(outcome)} ({counts})")


def _rank(candidate: Candidate, outcome: Outcome) -> tuple[bool, float, int]:
    """A pass at once before a flaky one, then the fastest; where nothing is timed, most tiles."""
    verdict = outcome.verdict
    latency_us = verdict.performance.latency_us if verdict.performance else math.inf
    return verdict.is_flaky, latency_us, -kernel.tiles_in_flight(candidate.herd)


def _reason(task: Task, best: tuple[Candidate, Outcome], found: _Found) -> str | None:
    """Why a row has fewer tiles in flight than its kernel's target, as far as the sweep knows."""
    tiles = kernel.tiles_in_flight(best[0].herd)
    if tiles >= task.wanted.spec.tiles_target:
        return None
    more = [
        f"{_text(candidate)}: {_said(outcome)}"
        for candidate, outcome in found.passed
        if kernel.tiles_in_flight(candidate.herd) > tiles
    ]
    more += [
        f"{'x'.join(map(str, refusal.herd))} does not place ({refusal.message})"
        for refusal in found.refused.values()
        if refusal.tiles_in_flight > tiles
    ]
    if not more:
        return None
    return f"{earned.SWEPT}{_said(best[1])} at {tiles} tiles; with more: {'; '.join(more)}"[:1000]


def _text(candidate: Candidate) -> str:
    tile = ",".join(f"{knob}={size}" for knob, size in candidate.tile.items())
    herd = "x".join(map(str, candidate.herd))
    return " ".join(filter(None, [candidate.variant, tile, f"herd {herd}"]))


def _said(outcome: Outcome) -> str:
    verdict = outcome.verdict
    if verdict.performance is not None:
        return f"{verdict.status}, {verdict.performance.latency_us:g} us"
    return verdict.status if outcome.passed else f"{verdict.status}: {verdict.reason}"


def untimed(registry: Registry, target: str) -> Iterator[str]:
    """What to say before a sweep of a target that measures nothing."""
    if registry.target(target).kind != "hardware":
        yield (
            f"{target} is emulated: nothing is timed, and a passing configuration with most tiles "
            "in flight becomes the row"
        )
