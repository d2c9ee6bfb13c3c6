"""Which row meets each need of the models before and after, where a change may have moved it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from registry_tool.errors import ToolError
from registry_tool.planning.covers import NeedKey, covering
from registry_tool.records import kernel
from registry_tool.records.expressions import ExpressionError
from registry_tool.records.keys import RowId, parse_record_path, row_id
from registry_tool.records.record import Record
from registry_tool.review.model import NeedMove
from registry_tool.review.rows import Pair
from registry_tool.review.sides import Side, is_emulated


class _Met(NamedTuple):
    """The row that meets a need, with its variant and tier."""

    row: str
    variant: str | None
    tier: str | None


class Needs(NamedTuple):
    """Needs that moved, and what each row meets (`model: phase site`), after and before."""

    moves: tuple[NeedMove, ...]
    serves: Mapping[str, Sequence[str]]
    served: Mapping[str, Sequence[str]]


def compare(before: Side, after: Side, changed: Sequence[Pair]) -> Needs:
    """What the rows that ``changed``, and kernel pages that did, mean for the models' needs."""
    sites = _sites(before, after)
    moves: list[NeedMove] = []
    serves: dict[str, list[str]] = {}
    served: dict[str, list[str]] = {}
    for target in _targets(before, after, changed):
        wanted = {key for key in _touched(before, after, changed, target) if key in sites}
        ours, theirs = _met(before, target, wanted), _met(after, target, wanted)
        for key in sorted(wanted):
            was, now = ours.get(key), theirs.get(key)
            for model, site in sites[key]:
                if now:
                    serves.setdefault(now.row, []).append(f"{model}: {site}")
                if was:
                    served.setdefault(was.row, []).append(f"{model}: {site}")
                move = _move(was, now)
                if move is not None:
                    moves.append(_moved(model, site, key, target, move, was, now, before, after))
    return Needs(tuple(moves), serves, served)


def _sites(before: Side, after: Side) -> dict[NeedKey, list[tuple[str, str]]]:
    found: dict[NeedKey, dict[tuple[str, str], None]] = {}
    for side in (after, before):
        for name, model in side.models.items():
            for need in model.needs:
                key = need.kernel, tuple(need.shape.values())
                found.setdefault(key, {})[name, f"{need.phase} {need.site}"] = None
    return {key: list(places) for key, places in found.items()}


def _targets(before: Side, after: Side, changed: Sequence[Pair]) -> list[str]:
    found = {row.split("/")[0] for pair in changed for row in (pair.row, pair.was) if row}
    if before.context and after.context and before.specs != after.specs:
        found |= set(after.context.policy.targets)
    return sorted(found)


def _touched(before: Side, after: Side, changed: Sequence[Pair], target: str) -> Iterable[NeedKey]:
    """Needs whose row may be another one now."""
    for side in (before, after):
        for pair in changed:
            for one in pair.records:
                if one.target == target:
                    yield one.kernel, tuple(one.shape.values())
                    yield from _covered(side, {_id(one, side): one})
    for name in dict.fromkeys((*before.specs, *after.specs)):
        if before.specs.get(name) != after.specs.get(name):
            for side in (before, after):
                for model in side.models.values():
                    yield from (
                        (need.kernel, tuple(need.shape.values()))
                        for need in model.needs
                        if need.kernel == name
                    )


def _id(one: Record, side: Side) -> RowId:
    return row_id(one.target, one.kernel, list(one.shape), one.shape, one.variant)


def _covered(side: Side, backed: Mapping[RowId, Record]) -> Mapping[NeedKey, RowId]:
    try:
        return covering(side.specs, backed)
    except (ToolError, ExpressionError, KeyError):
        return {}  # a broken page is a finding of the gate


def _met(side: Side, target: str, wanted: Iterable[NeedKey]) -> dict[NeedKey, _Met]:
    """The row of ``side`` that meets each need, where one does."""
    candidates: dict[NeedKey, list[str]] = {}
    for key in wanted:
        spec = side.specs.get(key[0])
        if spec is None or len(spec.dims) != len(key[1]):
            continue
        shape = dict(zip(spec.dims, key[1], strict=True))
        try:
            order = kernel.variant_order(spec, shape)
        except ExpressionError:
            continue
        candidates[key] = [
            row_id(target, spec.kernel, spec.dims, shape, name).record_path for name in order
        ]
    rows = side.records(path for paths in candidates.values() for path in paths)
    found: dict[NeedKey, _Met] = {}
    for key, paths in candidates.items():
        for path in paths:
            one = rows.get(path)
            if one is not None and one.verdict.status == "pass":
                found[key] = _Met(path[8:-5], one.variant, one.precision)
                break
    left = [key for key in candidates if key not in found]
    for key, row in (_blocks(side, target) if left else {}).items():
        if key in left:
            found[key] = _Met(str(row), None, None)
    return found


def _blocks(side: Side, target: str) -> Mapping[NeedKey, RowId]:
    folders = [f"records/{target}/{name}" for name, spec in side.specs.items() if spec.covers]
    backed = {}
    for path, one in side.records(folders).items():
        row = parse_record_path(path)
        if row is not None and one.verdict.status == "pass":
            backed[row] = one
    return _covered(side, backed)


def _move(was: _Met | None, now: _Met | None) -> str | None:
    if was is None or now is None:
        return None if was is now else "met" if was is None else "unmet"
    if (was.tier, now.tier) == ("high", "low"):
        return "tier down"
    if (was.tier, now.tier) == ("low", "high"):
        return "tier up"
    return "variant" if (was.variant, was.row) != (now.variant, now.row) else None


def _moved(
    model: str,
    site: str,
    key: NeedKey,
    target: str,
    move: str,
    was: _Met | None,
    now: _Met | None,
    before: Side,
    after: Side,
) -> NeedMove:
    name, sizes = key
    spec = after.specs.get(name) or before.specs[name]
    return NeedMove(
        model=model,
        site=site,
        kernel=name,
        shape=kernel.shape_text(spec, dict(zip(spec.dims, sizes, strict=False))),
        target=target,
        emulated=is_emulated(target, after, before),
        move=move,  # type: ignore[arg-type]
        before=was.row if was else None,
        after=now.row if now else None,
        was_tier=was.tier if was else None,
        tier=now.tier if now else None,
    )
