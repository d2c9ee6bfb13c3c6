"""Which needs are met by a row, and what would be run, in which order, for the others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from registry_tool.planning.search import blocking_constraints
from registry_tool.planning.tiling import Candidate, choose
from registry_tool.records import kernel
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.model import Model
from registry_tool.records.record import Record, Use
from registry_tool.records.spec import KernelSpec
from registry_tool.store.registry import Registry

State = Literal["verified", "stale", "missing", "impossible"]


@dataclass(frozen=True)
class Wanted:
    """A kernel x shape that somebody needs; ``variants`` is the order to try, or the forced one."""

    spec: KernelSpec
    shape: dict[str, int]
    variants: tuple[str | None, ...]
    uses: tuple[Use, ...] = ()

    @property
    def identity(self) -> tuple[str, tuple[int, ...], tuple[str | None, ...]]:
        """What makes two wants the same one."""
        return self.spec.kernel, tuple(self.shape.values()), self.variants


@dataclass(frozen=True)
class Task:
    """One want with its state on a target: the row that meets it, or what would be run for it."""

    wanted: Wanted
    state: State
    row: RowId | None
    candidates: tuple[Candidate, ...]
    obstacles: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Kernel and shape as people write them."""
        return f"{self.wanted.spec.kernel} {kernel.shape_text(self.wanted.spec, self.wanted.shape)}"


def of_models(
    registry: Registry, models: Iterable[Model], kernels: Sequence[str] = ()
) -> list[Wanted]:
    """The wants of ``models``, one per kernel x shape, with every site that has it."""
    merged: dict[tuple[object, ...], Wanted] = {}
    for model in models:
        for need in model.needs:
            if kernels and need.kernel not in kernels:
                continue
            spec = registry.spec(need.kernel)
            order = tuple(kernel.variant_order(spec, need.shape))
            use = Use(model=model.model, site=f"{need.phase} {need.site}")
            wanted = Wanted(spec, need.shape, order, (use,))
            before = merged.get(wanted.identity)
            if before is not None:
                wanted = replace(before, uses=(*before.uses, use))
            merged[wanted.identity] = wanted
    return list(merged.values())


def make(
    registry: Registry,
    target: str,
    wants: Iterable[Wanted],
    forced: Mapping[str, object] | None = None,
) -> list[Task]:
    """The state of every want on ``target``.

    ``forced`` may hold a ``tile`` and a ``herd`` that every candidate takes.
    """
    backed = backed_rows(registry, target)
    return [_task(registry, target, wanted, backed, forced or {}) for wanted in wants]


def _task(
    registry: Registry,
    target: str,
    wanted: Wanted,
    backed: Mapping[RowId, Record],
    forced: Mapping[str, object],
) -> Task:
    spec, shape = wanted.spec, wanted.shape
    candidates = []
    stale: RowId | None = None
    for variant in wanted.variants:
        row = row_id(target, spec.kernel, spec.dims, shape, variant)
        if row in registry.record_paths:
            if row in backed:
                return Task(wanted, "verified", row, (_again(backed[row], forced),))
            stale = stale or row
    for variant in wanted.variants:
        candidate = choose(spec, shape, variant, backed.values())
        if forced:
            candidate = _forced(candidate, variant, forced)
        if candidate is not None:
            candidates.append(candidate)
    if candidates:
        state: State = "stale" if stale else "missing"
        return Task(wanted, state, stale, tuple(candidates))
    obstacles = [
        f"{variant + ': ' if variant else ''}{text}"
        for variant in wanted.variants
        for text in blocking_constraints(spec, shape, variant)
    ]
    return Task(wanted, "impossible", None, (), tuple(dict.fromkeys(obstacles)))


def _again(record: Record, forced: Mapping[str, object]) -> Candidate:
    """How a verified row is run once more: as it stands, unless told otherwise."""
    own = Candidate(record.variant, record.tile, record.herd, "its own row")
    return _forced(own, record.variant, forced) or own


def _forced(
    candidate: Candidate | None, variant: str | None, forced: Mapping[str, object]
) -> Candidate | None:
    tile = forced.get("tile") or (candidate.tile if candidate else None)
    herd = forced.get("herd") or (candidate.herd if candidate else None)
    if not isinstance(tile, dict) or not isinstance(herd, list):
        return candidate
    return Candidate(variant, tile, herd, "as asked")


def backed_rows(registry: Registry, target: str) -> dict[RowId, Record]:
    """The rows of ``target`` whose passing verdict is there, byte for byte."""
    rows = {
        row: record
        for row, record in registry.records.items()
        if row.target == target
        and record.verdict.status == "pass"
        and record.verdict.artifact in registry.snapshot.oids
    }
    contents = registry.snapshot.read_many(record.verdict.artifact for record in rows.values())
    return {
        row: record
        for row, record in rows.items()
        if hashlib.sha256(contents[record.verdict.artifact]).hexdigest() == record.verdict.sha256
    }
