"""The working list of a plan: each need with what would be run for it and what to expect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from registry_tool.planning.duration import Estimate, Recorded, estimate, recorded
from registry_tool.planning.evidence import cited
from registry_tool.planning.outlook import Outlook, outlook
from registry_tool.planning.plan import Task
from registry_tool.planning.ranking import by_blocking, models_of
from registry_tool.planning.tiling import Candidate
from registry_tool.records.model import Model, Uncovered
from registry_tool.store.registry import Registry


@dataclass(frozen=True)
class Proposal:
    """A configuration that would be run, with what to expect of it."""

    candidate: Candidate
    outlook: Outlook


@dataclass(frozen=True)
class Line:
    """One need: the models that wait for it, what would be run in which order, and how long.

    A met need has no proposals. ``estimate`` is None where no run of the kernel is recorded.
    """

    task: Task
    models: tuple[str, ...]
    proposals: tuple[Proposal, ...]
    estimate: Estimate | None

    @property
    def is_to_run(self) -> bool:
        """Whether a run would help."""
        return bool(self.proposals)


@dataclass(frozen=True)
class Unpaged:
    """What models compute that no kernel page covers, once for all that have it."""

    part: Uncovered
    models: tuple[str, ...]


@dataclass(frozen=True)
class WorkingList:
    """Every need, what blocks most first, and what no page covers.

    ``seconds`` is the expected time of all runs that can be estimated, ``unestimated`` the number
    of those that cannot.
    """

    target: str
    lines: tuple[Line, ...]
    unpaged: tuple[Unpaged, ...]

    @property
    def met(self) -> int:
        """Needs that a passing row meets."""
        return sum(line.task.is_met for line in self.lines)

    @property
    def seconds(self) -> float:
        """Expected time of the runs that can be estimated."""
        return sum(line.estimate.seconds for line in self.lines if line.estimate)

    @property
    def unestimated(self) -> int:
        """Runs of kernels that were never run here."""
        return sum(line.is_to_run and line.estimate is None for line in self.lines)


def working_list(
    registry: Registry, target: str, tasks: Iterable[Task], models: Sequence[Model]
) -> WorkingList:
    """The list of ``tasks``, which ``models`` have, on ``target``."""
    runs: dict[str, list[Recorded]] = {}
    for row, verdict in cited(registry, target).items():
        runs.setdefault(row.kernel, []).append(recorded(verdict))
    lines = tuple(_line(task, runs) for task in by_blocking(tasks))
    return WorkingList(target, lines, _unpaged(models))


def _unpaged(models: Iterable[Model]) -> tuple[Unpaged, ...]:
    """Parts without a page, those of most models first."""
    found: dict[tuple[str, str, str], tuple[Uncovered, list[str]]] = {}
    for model in models:
        for part in model.uncovered:
            key = (part.phase, part.site, part.reason)
            found.setdefault(key, (part, []))[1].append(model.model)
    merged = [Unpaged(part, tuple(dict.fromkeys(names))) for part, names in found.values()]
    return tuple(sorted(merged, key=lambda one: -len(one.models)))


def _line(task: Task, runs: dict[str, list[Recorded]]) -> Line:
    spec, shape = task.wanted.spec, task.wanted.shape
    candidates = () if task.state == "verified" else task.candidates
    proposals = tuple(Proposal(one, outlook(spec, shape, one)) for one in candidates)
    expected = estimate(spec, shape, runs.get(spec.kernel, ())) if proposals else None
    return Line(task, tuple(models_of(task)), proposals, expected)
