"""Models against rows: how many needs are met per kernel, and whether the credits agree.

A credit (`used_by`) names a model and a call site. Names are compared without their case; an
imported row's site is free text, so that a credit counts as explained if the model needs the
row's kernel and shape at any site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from registry_tool.planning.plan import Task
from registry_tool.records.keys import RowId
from registry_tool.records.model import Model
from registry_tool.records.record import Record


@dataclass(frozen=True)
class Cell:
    """The needs of one model of one kernel, each kernel x shape counted once."""

    verified: int
    stale: int
    imported: int
    needed: int


@dataclass(frozen=True)
class Credit:
    """A row, a call site of a model, and what is wrong between them.

    ``is_missing`` says that the row should name the site, else that it should not.
    """

    row: RowId
    model: str
    site: str
    problem: str
    is_missing: bool


@dataclass(frozen=True)
class Coverage:
    """Cells by model and kernel, and the credits that do not fit the needs."""

    cells: Mapping[str, Mapping[str, Cell]]
    credits: tuple[Credit, ...]


def coverage(
    tasks: Mapping[str, Sequence[Task]],
    models: Sequence[Model],
    records: Mapping[RowId, Record],
) -> Coverage:
    """How the rows of one target serve ``models``; ``tasks`` are the needs of each, by its name."""
    cells = {
        model.model: {**_cells(tasks[model.model]), **_pageless(model, tasks[model.model])}
        for model in models
    }
    uncredited = [
        credit for model in models for credit in _uncredited(model, tasks[model.model], records)
    ]
    return Coverage(cells, (*uncredited, *_unexplained(models, records)))


def _cells(tasks: Iterable[Task]) -> dict[str, Cell]:
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(task.wanted.spec.kernel, []).append(task)
    return {
        kernel: Cell(
            verified=sum(task.state == "verified" for task in some),
            stale=sum(task.state == "stale" for task in some),
            imported=sum(task.state == "imported" for task in some),
            needed=len(some),
        )
        for kernel, some in found.items()
    }


def _pageless(model: Model, tasks: Iterable[Task]) -> dict[str, Cell]:
    """Needs that no task was made of: their kernel has no page here, so that nothing meets them."""
    known = {task.wanted.spec.kernel for task in tasks}
    shapes = {
        (need.kernel, tuple(need.shape.items())) for need in model.needs if need.kernel not in known
    }
    return {
        kernel: Cell(verified=0, stale=0, imported=0, needed=needed)
        for kernel, needed in Counter(kernel for kernel, _ in sorted(shapes)).items()
    }


def _uncredited(
    model: Model, tasks: Iterable[Task], records: Mapping[RowId, Record]
) -> list[Credit]:
    """Needs with a row that does not name the model."""
    found = []
    for task in tasks:
        record = records.get(task.row) if task.row else None
        if task.row is None or record is None or record.kernel != task.wanted.spec.kernel:
            continue  # a block's row is credited to the block's own site
        credited = {use.model.casefold() for use in record.used_by}
        if model.model.casefold() not in credited:
            found += [
                Credit(
                    task.row,
                    model.model,
                    use.site,
                    "needed there, and the row does not say so",
                    True,
                )
                for use in task.wanted.uses
            ]
    return found


def _unexplained(models: Sequence[Model], records: Mapping[RowId, Record]) -> list[Credit]:
    """Credits to a saved model that does not need the row's kernel and shape."""
    needed = {
        model.model.casefold(): {(need.kernel, tuple(need.shape.items())) for need in model.needs}
        for model in models
    }
    return [
        Credit(row, use.model, use.site, "credited, and the model does not need this shape", False)
        for row, record in records.items()
        for use in record.used_by
        if use.model.casefold() in needed
        and (record.kernel, tuple(record.shape.items())) not in needed[use.model.casefold()]
    ]
