"""Working a baseline off: what to run for its rows, each at the tile and herd of its record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from registry_tool.baseline import read
from registry_tool.planning.placement import key_of
from registry_tool.planning.plan import Task, Wanted
from registry_tool.planning.search import COMPUTED, legal_herds
from registry_tool.planning.tiling import Candidate, fits
from registry_tool.records.kernel import tiles_in_flight
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.record import Record
from registry_tool.store.registry import Registry


def wanted(registry: Registry, target: str) -> list[Wanted]:
    """One want for each row that the baseline names on ``target``, with its variant alone.

    Raises InputError for a broken baseline, RegistryError for a kernel without a page.
    """
    return [
        Wanted(registry.spec(record.kernel), record.shape, (record.variant,))
        for record in _records(registry)
        if record.target == target
    ]


def elsewhere(registry: Registry, target: str) -> list[str]:
    """The other targets whose rows the baseline names."""
    return sorted({record.target for record in _records(registry)} - {target})


def unexplained(registry: Registry, target: str, tasks: Iterable[Task]) -> Iterator[str]:
    """What to say of each of ``tasks`` whose row the gate will ask for a reason once it passed.

    It has fewer tiles in flight than its kernel's target, another herd may have more, and nobody
    wrote why; as long as the row is imported, it owes that too.
    """
    for task in tasks:
        record, spec = _record(registry, target, task), task.wanted.spec
        said = any(not note.startswith(COMPUTED) for note in record.notes)
        few = record.tiles_in_flight < spec.tiles_target
        if not few or said or not _can_run(task, record):
            continue
        herds = legal_herds(spec, record.shape, record.variant)
        if any(tiles_in_flight(herd) > record.tiles_in_flight for herd in herds):
            yield (
                f"{task.text}: {record.tiles_in_flight} of {spec.tiles_target} tiles in flight, "
                f'and no note says why: registry-tool note {_row(target, task)} "why"'
            )


def unfit(registry: Registry, target: str, tasks: Iterable[Task]) -> Iterator[str]:
    """What to say of each of ``tasks`` that cannot be run as its row says."""
    for task in tasks:
        record = _record(registry, target, task)
        if not _can_run(task, record):
            tile = ",".join(f"{knob}={size}" for knob, size in record.tile.items())
            recorded = " ".join(filter(None, [tile, f"herd {'x'.join(map(str, record.herd))}"]))
            yield f"{task.text}: as recorded ({recorded}) it is not legal or does not place"


def as_recorded(registry: Registry, target: str, tasks: Iterable[Task]) -> list[Task]:
    """``tasks`` of `wanted`, each to be run as its row says, where that is legal and places.

    Any other keeps what the plan chose for it.
    """
    return [_as_recorded(registry, target, task) for task in tasks]


def _as_recorded(registry: Registry, target: str, task: Task) -> Task:
    record = _record(registry, target, task)
    if not _can_run(task, record):
        return task
    candidate = Candidate(record.variant, record.tile, record.herd, "as recorded")
    return replace(task, state="imported", candidates=(candidate,), obstacles=())


def _can_run(task: Task, record: Record) -> bool:
    wanted = task.wanted
    refused = {key_of(one.tile, one.herd) for one in task.refusals}
    return key_of(record.tile, record.herd) not in refused and fits(
        wanted.spec, wanted.shape, record.variant, record
    )


def _record(registry: Registry, target: str, task: Task) -> Record:
    return registry.records[_row(target, task)]


def _row(target: str, task: Task) -> RowId:
    spec, shape, (variant,) = task.wanted.spec, task.wanted.shape, task.wanted.variants
    return row_id(target, spec.kernel, spec.dims, shape, variant)


def _records(registry: Registry) -> Iterator[Record]:
    baseline = read.on_disk(registry.root)
    if baseline is not None:
        for _, record in read.records(registry, baseline).values():
            yield record
