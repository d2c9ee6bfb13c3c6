"""Every stored verdict on a need, read from its rows' folders; what it means is not judged here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec import UNSET

from registry_tool.records.keys import RowId, parse_verdict_path
from registry_tool.records.verdict import Attempt, Verdict
from registry_tool.store.registry import Registry, decode


@dataclass(frozen=True)
class Stored:
    """A verdict with its place; ``path`` is relative to the registry's root."""

    row: RowId
    path: str
    verdict: Verdict

    @property
    def log_path(self) -> str | None:
        """The log of the attempt that decided, or None if nobody ran anything."""
        attempts = self.verdict.attempts
        return f"{self.row.verdict_folder}/{attempts[-1].log.name}" if attempts else None

    @property
    def err_path(self) -> str | None:
        """Its standard error."""
        attempts = self.verdict.attempts
        return f"{self.row.verdict_folder}/{attempts[-1].err.name}" if attempts else None


def verdicts_of(registry: Registry, rows: Iterable[RowId]) -> dict[RowId, list[Stored]]:
    """The verdicts on each of ``rows``, oldest first; raises InputError for one that is broken.

    Without those of canaries, which asked the device whether it works, and not the row.
    """
    wanted = set(rows)
    paths: dict[str, RowId] = {}
    for path in registry.snapshot.oids:
        if path.startswith("verdicts/") and path.endswith(".json"):
            parts = parse_verdict_path(path)
            if parts is not None and parts.row in wanted:
                paths[path] = parts.row
    contents = registry.snapshot.read_many(paths)
    found: dict[RowId, list[Stored]] = {row: [] for row in wanted}
    for path, row in paths.items():
        verdict = decode(contents[path], Verdict, path)
        if verdict.canary is UNSET:
            found[row].append(Stored(row, path, verdict))
    for stored in found.values():
        stored.sort(key=lambda one: one.verdict.run_id)
    return found


def starts_of(verdict: Verdict) -> Iterator[Attempt]:
    """Every start of a program for ``verdict``, each once: compile, gated and timing runs."""
    compiled = () if verdict.compile is UNSET else (verdict.compile,)
    seen = set()
    for run in (*compiled, *verdict.attempts, *(verdict.profile or ())):
        # The start that decided may stand both among the attempts and in its own place.
        if run.log.name not in seen:
            seen.add(run.log.name)
            yield run


def seconds_of(verdicts: Iterable[Stored]) -> float:
    """Wall time of every start behind ``verdicts``, s; without the time waited for the lock.

    The diagnosis of a model is one run that several verdicts tell of; it counts once.
    """
    runs = {
        (run.started, run.log.sha256, run.seconds): run.seconds
        for stored in verdicts
        for run in starts_of(stored.verdict)
    }
    return sum(runs.values())


def files_of(registry: Registry, row: RowId) -> Mapping[str, bytes]:
    """A row's record and everything in its folder of verdicts, by path."""
    below = f"{row.verdict_folder}/"
    paths = [path for path in registry.snapshot.oids if path.startswith(below)]
    if row.record_path in registry.snapshot.oids:
        paths.append(row.record_path)
    return registry.snapshot.read_many(paths)
