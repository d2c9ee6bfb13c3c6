"""Which needs are met by a row, and what would be run, in which order, for the others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from registry_tool.planning.covers import NeedKey, covering
from registry_tool.planning.padding import suggested
from registry_tool.planning.placement import Refusal, Verdicts
from registry_tool.planning.search import blocking_constraints
from registry_tool.planning.tiling import Candidate, choose
from registry_tool.records import kernel
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.model import Model
from registry_tool.records.record import Record, Use
from registry_tool.records.spec import KernelSpec
from registry_tool.store.registry import Registry

State = Literal["verified", "stale", "imported", "missing", "impossible"]
"""How a need stands: a passing row; one whose evidence has moved; a row that an import left and no
run backs; no such row, or one whose verdict is not there; or nothing legal to run."""


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

    ``refusals`` are configurations of it that were tried and do not place; ``reasons`` say why a
    stale one is.
    """

    wanted: Wanted
    state: State
    row: RowId | None
    candidates: tuple[Candidate, ...]
    obstacles: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        """Whether a passing row is there, were its evidence stale."""
        return self.state in ("verified", "stale")

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
    moved: Mapping[RowId, Sequence[str]] | None = None,
) -> list[Task]:
    """The state of every want on ``target``.

    ``forced`` may hold a ``tile`` and a ``herd`` that every candidate takes; ``moved`` are the
    stale rows with the reasons.
    """
    backed = backed_rows(registry, target)
    blocks = covering(registry.specs, backed)
    known = Verdicts(registry)
    imported = imported_rows(registry, target)
    wants = list(wants)
    known.read_ahead(
        row for wanted in wants for row in _rows_of(target, wanted) if row not in backed
    )
    return [
        _task(target, wanted, backed, imported, blocks, known, registry, forced or {}, moved or {})
        for wanted in wants
    ]


def _task(
    target: str,
    wanted: Wanted,
    backed: Mapping[RowId, Record],
    imported: Mapping[RowId, Record],
    blocks: Mapping[NeedKey, RowId],
    known: Verdicts,
    registry: Registry,
    forced: Mapping[str, object],
    moved: Mapping[RowId, Sequence[str]],
) -> Task:
    spec, shape = wanted.spec, wanted.shape
    candidates = []
    rows = _rows_of(target, wanted)
    for row in sorted((row for row in rows if row in backed), key=moved.__contains__):
        again = (_again(backed[row], forced),)
        if row in moved:
            return Task(wanted, "stale", row, again, reasons=tuple(moved[row]))
        return Task(wanted, "verified", row, again)
    unbacked = next((row for row in rows if row in registry.record_paths), None)
    refusals: list[Refusal] = []
    obstacles: list[str] = []
    for variant in wanted.variants:
        refused = known.refusals(row_id(target, spec.kernel, spec.dims, shape, variant))
        refusals += refused.values()
        candidate = choose(spec, shape, variant, backed.values(), refused, imported.values())
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
        state: State = "imported" if _is_imported(registry, unbacked) else "missing"
        return Task(wanted, state, unbacked, tuple(candidates), refusals=tuple(refusals))
    obstacles += [
        f"{variant + ': ' if variant else ''}{text}"
        for variant in wanted.variants
        for text in blocking_constraints(spec, shape, variant)
    ]
    padding = suggested(spec, shape, wanted.variants) if wanted.uses and not forced else None
    if padding is not None:
        obstacles.append(f"none as it stands; one fits with {padding}")
    if refusals and not obstacles:
        obstacles = [f"{len(refusals)} legal ones do not place, e.g. {refusals[-1].message}"]
    return Task(wanted, "impossible", None, (), tuple(dict.fromkeys(obstacles)), tuple(refusals))


def _rows_of(target: str, wanted: Wanted) -> list[RowId]:
    """The rows that may meet ``wanted``, one for each variant in its order."""
    spec = wanted.spec
    return [
        row_id(target, spec.kernel, spec.dims, wanted.shape, variant) for variant in wanted.variants
    ]


def _is_imported(registry: Registry, row: RowId | None) -> bool:
    return row is not None and registry.records[row].verdict.kind == "imported"


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


def imported_rows(registry: Registry, target: str) -> dict[RowId, Record]:
    """The imported rows of ``target`` that nothing is held against: worth a try before a search."""
    return {
        row: record
        for row, record in registry.records.items()
        if row.target == target
        and record.verdict.kind == "imported"
        and "caveats" not in record.provenance
    }


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
