"""Rows, models and baselines of three versions made one; typed values in, typed values out.

What people own (users, notes, waivers) is joined as sets: what either side added is kept, what
either side removed stays removed. What was measured comes whole from one side, never mixed: a row
with one run's accuracy and another's speed was never measured.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from registry_tool.records.baseline import Baseline, Entry
from registry_tool.records.model import Model
from registry_tool.records.record import Record
from registry_tool.records.remarks import OF_THE_TOOL

T = TypeVar("T")

IDENTITY = ("kernel", "target", "shape", "variant")
MEASURED = (
    "precision", "tile", "herd", "tiles_in_flight", "mean_rel_L1", "max_abs", "max_rel",
    "performance", "verdict", "provenance",
)  # fmt: skip
_DERIVED = (
    "config_sha256", "seq", "seqs", "batch", "options", "needs", "uncovered", "layers",
)  # fmt: skip


class ConflictError(Exception):
    """The two sides cannot both be had; a person has to choose."""


def record(base: Record | None, ours: Record, theirs: Record) -> Record:
    """One row of two; raises ConflictError if they are not the same row.

    Where only one side measured, its figures are taken; where both did, those of the better
    verdict: passing before not, run here before imported, then the later run.
    """
    if _fields(ours, IDENTITY) != _fields(theirs, IDENTITY):
        raise ConflictError("the two sides say different rows in one file")
    side = _measured(base, ours, theirs)
    return replace(
        side,
        used_by=joined(base.used_by if base else (), ours.used_by, theirs.used_by),
        notes=_notes(base, ours, theirs, side),
        waivers=joined(base.waivers if base else (), ours.waivers, theirs.waivers),
    )


def model(base: Model | None, ours: Model, theirs: Model) -> Model:
    """One model of two; raises ConflictError if both derived its needs anew and differently."""
    if ours.model != theirs.model:
        raise ConflictError("the two sides say different models in one file")
    side = _changed(base, ours, theirs, _DERIVED)
    if side is None:
        raise ConflictError(
            f"both sides derived the needs of {ours.model} anew, from other configurations"
        )
    return replace(side, notes=joined(base.notes if base else (), ours.notes, theirs.notes))


def baseline(base: Baseline | None, ours: Baseline, theirs: Baseline) -> Baseline:
    """The debt that is left when both sides worked some off: what one settled is settled."""
    before = {entry.row: entry for entry in base.rows} if base else {}
    mine = {entry.row: entry for entry in ours.rows}
    other = {entry.row: entry for entry in theirs.rows}
    kept: list[Entry] = []
    for row in sorted({*mine, *other}):
        was, one, two = before.get(row), mine.get(row), other.get(row)
        if one == two or two == was:
            chosen = one
        elif one == was:
            chosen = two
        else:
            chosen = None  # both say otherwise what was imported: it is no debt that can be told
        if chosen is not None:
            kept.append(chosen)
    return replace(ours, rows=kept)


def joined(base: Iterable[T], ours: Sequence[T], theirs: Sequence[T]) -> list[T]:
    """The three-way union of two lists without doubles, in the order of ``ours``."""
    before = {_key(item) for item in base}
    mine, other = {_key(item) for item in ours}, {_key(item) for item in theirs}
    kept = [item for item in ours if _key(item) not in before or _key(item) in other]
    added = [item for item in theirs if _key(item) not in mine and _key(item) not in before]
    return list({_key(item): item for item in [*kept, *added]}.values())


def _key(item: Any) -> Hashable:
    return item if isinstance(item, str) else msgspec.json.encode(item)


def _notes(base: Record | None, ours: Record, theirs: Record, side: Record) -> list[str]:
    """Remarks of people joined; what the tool computed belongs to the run that was taken."""

    def people(row: Record | None) -> list[str]:
        return [note for note in row.notes if not note.startswith(OF_THE_TOOL)] if row else []

    written = joined(people(base), people(ours), people(theirs))
    computed = [note for note in side.notes if note.startswith(OF_THE_TOOL)]
    ours_too = [note for note in ours.notes if note in written or note in computed]
    rest = [note for note in [*computed, *written] if note not in ours_too]
    return list(dict.fromkeys([*ours_too, *rest]))


def _measured(base: Record | None, ours: Record, theirs: Record) -> Record:
    side = _changed(base, ours, theirs, MEASURED)
    if side is not None:
        return side
    return theirs if _rank(theirs) > _rank(ours) else ours


def _rank(row: Record) -> tuple[bool, bool, str]:
    run = row.verdict.artifact.rpartition("/")[2]
    return row.verdict.status == "pass", row.verdict.kind != "imported", run


_Part = TypeVar("_Part", Record, Model)


def _changed(base: _Part | None, ours: _Part, theirs: _Part, names: Sequence[str]) -> _Part | None:
    """The side that changed ``names``; ``ours`` if neither did, None if both did."""
    mine, other = _fields(ours, names), _fields(theirs, names)
    before = _fields(base, names) if base is not None else None
    if mine == other or other == before:
        return ours
    return theirs if mine == before else None


def _fields(value: Any, names: Sequence[str]) -> list[Any]:
    return [getattr(value, name) for name in names]


MERGERS: dict[type, Callable[..., Any]] = {Record: record, Model: model, Baseline: baseline}
