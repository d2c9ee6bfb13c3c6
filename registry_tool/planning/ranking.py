"""Which needs block the most: the order of a working list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from registry_tool.planning.plan import State, Task
from registry_tool.records.kernel import output_elements

_GRAVITY: Mapping[State, int] = {
    "impossible": 0,
    "missing": 1,
    "imported": 2,
    "stale": 3,
    "verified": 4,
}


def by_blocking(tasks: Iterable[Task]) -> list[Task]:
    """What blocks most first.

    A need that nothing can meet, then one that needs a run, one that only an import shows, a stale
    and a verified one; within these by the models that wait for it, by their call sites, and by the
    size of its output.
    """
    return sorted(tasks, key=_weight)


def models_of(task: Task) -> list[str]:
    """The models that need it, each once, in order."""
    return list(dict.fromkeys(use.model for use in task.wanted.uses))


def _weight(task: Task) -> tuple[int, int, int, int, str]:
    size = sum(output_elements(task.wanted.spec, task.wanted.shape))
    return (
        _GRAVITY[task.state],
        -len(models_of(task)),
        -len(task.wanted.uses),
        -size,
        task.text,
    )
