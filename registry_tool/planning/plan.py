"""Which needs are met by a row, and what would be run, in which order, for the others."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from registry_tool.planning.covers import NeedKey, covering
from registry_tool.planning.placement import Refusal, Verdicts
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
    """One want with its state on a target: the row that meets it, or what would be run for it.

    ``refusals`` are configurations of it that were tried and do not place.
    """

    wanted: Wanted
    state: State
    row: RowId | None
    candidates: tuple[Candidate, ...]
    obstacles: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()

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
    blocks = covering(registry.specs, backed)
    known = Verdicts(registry)
    return [
        _task(target, wanted, backed, blocks, known, registry.record_paths, forced or {})
        for wanted in wants
    ]


def _task(
    target: str,
    wanted: Wanted,
    backed: Mapping[RowId, Record],
    blocks: Mapping[NeedKey, RowId],
    known: Verdicts,
    rows: Container[RowId],
    forced: Mapping[str, object],
) -> Task:
    spec, shape = wanted.spec, wanted.shape
    candidates = []
    stale: RowId | None = None
    for variant in wanted.variants:
        row = row_id(target, spec.kernel, spec.dims, shape, variant)
        if row in rows:
            if row in backed:
                return Task(wanted, "verified", row, (_again(backed[row], forced),))
            stale = stale or row
    refusals: list[Refusal] = []
    obstacles: list[str] = []
    for variant in wanted.variants:
        refused = known.refusals(row_id(target, spec.kernel, spec.dims, shape, variant))
        refusals += refused.values()
        candidate = choose(spec, shape, variant, backed.values(), refused)
        if forced:
            candidate = _forced(candidate, variant, forced)
        if candidate is None:
            continue
        broken = _broken(spec, shape, candidate) if forced else []
        if broken:
            obstacles += broken
        else:
            candidates.append(candidate)
    block = blocks.get((spec.kernel, tuple(shape.values()))) if wanted.uses else None
    if block is not None:
        return Task(wanted, "verified", block, tuple(candidates))
    if candidates:
        state: State = "stale" if stale else "missing"
        return Task(wanted, state, stale, tuple(candidates), refusals=tuple(refusals))
    obstacles += [
        f"{variant + ': ' if variant else ''}{text}"
        for variant in wanted.variants
        for text in blocking_constraints(spec, shape, variant)
    ]
    if refusals and not obstacles:
        obstacles = [f"{len(refusals)} legal ones do not place, e.g. {refusals[-1].message}"]
    return Task(wanted, "impossible", None, (), tuple(dict.fromkeys(obstacles)), tuple(refusals))


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


def _broken(spec: KernelSpec, shape: Mapping[str, int], candidate: Candidate) -> list[str]:
    """The hard constraints that a tile and herd which somebody asked for do not keep."""
    found = kernel.violations(spec, shape, candidate.variant, candidate.tile, candidate.herd)
    lead = f"{candidate.variant}: " if candidate.variant else ""
    return [f"{lead}{one.id}: {one.message}" for one in found if one.hard]


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
