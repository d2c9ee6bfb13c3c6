"""What a change does to the measure: kernel pages, policy and the models' needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import msgspec

from registry_tool.history.diff import difference
from registry_tool.records.model import Model
from registry_tool.review.model import Difference, MeasureChange, ModelChange
from registry_tool.review.sides import Side
from registry_tool.rules.layout import kind_of
from registry_tool.rules.loosening import harness_changes, loosenings
from registry_tool.rules.severity import entries
from registry_tool.signing import trust_of
from registry_tool.signing.loosening import loosenings as trust_loosenings
from registry_tool.store.git import Change

# From the loosest to the strictest.
_LEVELS: Mapping[str, Sequence[str | None]] = {
    "lookup": (None, "any", "sound", "verified"),
}
_MEASURES = ("policy", "spec", "signers")


def measures(before: Side, after: Side, changes: Sequence[Change]) -> tuple[MeasureChange, ...]:
    """Pages, policy and signers that changed, and what they allow more than before."""
    found = [
        MeasureChange(
            change.path,
            _kind(change),
            tuple(loosened(before, after, change.path)),
            tuple(_fields(before, after, change.path)),
        )
        for change in changes
        if kind_of(change.path) in _MEASURES
    ]
    # What signers may do is said by several files together, and told once.
    about = [one.path for one in found if kind_of(one.path) in ("policy", "signers")]
    if not about:
        return tuple(found)
    trusted = tuple(_trusted(before, after))
    first = max(about, key=lambda path: kind_of(path) == "signers")
    return tuple(
        replace(one, loosened=one.loosened + trusted) if one.path == first else one for one in found
    )


def _trusted(before: Side, after: Side) -> Iterator[str]:
    """Signatures, or the lack of them, that are accepted now and were not before."""
    contexts = [side.context for side in (before, after)]
    if any(context and context.policy.looks_at_signatures for context in contexts) and all(
        contexts
    ):
        yield from trust_loosenings(trust_of(before.snapshot), trust_of(after.snapshot))


def _kind(change: Change) -> Literal["added", "removed", "changed"]:
    if not change.was_there:
        return "added"
    return "changed" if change.is_there else "removed"


def loosened(before: Side, after: Side, path: str) -> Iterator[str]:
    """What ``after`` allows that ``before`` does not, in words."""
    if before.context is None or after.context is None:
        return
    if kind_of(path) == "policy":
        yield from _policy(before, after)
        return
    if kind_of(path) != "spec":
        return
    name = path.removeprefix("kernels/").removesuffix(".yaml")
    ours, theirs = before.specs.get(name), after.specs.get(name)
    if ours is not None and theirs is not None:
        yield from loosenings(ours, theirs)
        yield from harness_changes(ours, theirs)


def _policy(before: Side, after: Side) -> Iterator[str]:
    assert before.context is not None
    assert after.context is not None
    ours, theirs = before.context.policy, after.context.policy
    for name, target in ours.targets.items():
        now = theirs.targets.get(name)
        if now is None:
            yield f"the target {name} is gone"
        elif now.kind != target.kind:
            yield f"the target {name} was {target.kind} and is {now.kind}"
    was_levels, now_levels = _rules(before), _rules(after)
    for key in dict.fromkeys((*was_levels, *now_levels)):
        old, new = was_levels.get(key), now_levels.get(key)
        # Nobody can say here whether what the rule says itself is more than a warning.
        if old != new and (new in ("warning", "off") if new else old == "error"):
            on, rule = key
            where = f" on {on}" if on else ""
            own = "as the rule says"
            yield f"{rule}{where} was {old or own} and is {new or own}"
    for name, levels in _LEVELS.items():
        was, now_ = getattr(ours, name, None), getattr(theirs, name, None)
        if was in levels and now_ in levels and levels.index(now_) < levels.index(was):
            yield f"{name} was {was} and is {now_ or 'not set'}"


def _rules(side: Side) -> dict[tuple[str, str], str]:
    """The levels that registry.yaml gives to rules, for all targets ("") or one."""
    assert side.context is not None
    return {(target, rule): level for target, rule, level in entries(side.context.policy)}


def _fields(before: Side, after: Side, path: str) -> Iterator[Difference]:
    if kind_of(path) == "signers":
        return
    ours, theirs = _document(before, path), _document(after, path)
    for found in difference(ours, theirs):
        yield Difference(found.field, found.before, found.after)


def _document(side: Side, path: str) -> dict[str, Any]:
    if side.context is None:
        return {}
    if kind_of(path) == "policy":
        found: dict[str, Any] = msgspec.to_builtins(side.context.policy)
        return found
    spec = side.specs.get(path.removeprefix("kernels/").removesuffix(".yaml"))
    return msgspec.to_builtins(spec) if spec is not None else {}


def models(before: Side, after: Side, changes: Sequence[Change]) -> tuple[ModelChange, ...]:
    """Models whose file changed, with the needs that they gain and lose."""
    found = []
    for change in changes:
        if kind_of(change.path) != "model":
            continue
        name = change.path.removeprefix("models/").removesuffix(".json")
        ours, theirs = _needs(before.models.get(name)), _needs(after.models.get(name))
        found.append(
            ModelChange(
                name,
                "unreadable" if name in after.unread else _kind(change),
                tuple(need for need in theirs if need not in ours),
                tuple(need for need in ours if need not in theirs),
            )
        )
    return tuple(found)


def _needs(model: Model | None) -> dict[str, None]:
    needs = model.needs if model is not None else []
    return dict.fromkeys(
        f"{need.phase} {need.site}: {need.kernel} {'×'.join(map(str, need.shape.values()))}"
        + (f" ({need.precision})" if need.precision else "")
        for need in needs
    )
