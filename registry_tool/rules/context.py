"""Policy, kernel pages and model names of a state, read so that every broken file is reported."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from registry_tool.errors import InputError
from registry_tool.records import catalog
from registry_tool.records.fields import Part
from registry_tool.rules.layout import kind_of
from registry_tool.rules.views import Context
from registry_tool.store import git
from registry_tool.store import snapshot as snapshots
from registry_tool.store.cache import Cache
from registry_tool.store.registry import POLICY, read_policy, read_spec
from registry_tool.store.snapshot import Snapshot

if TYPE_CHECKING:
    from registry_tool.records.explain import Problem, ProblemKind


FILES = (POLICY, "kernels", "models", "signers")
"""What a context is made of."""


def read(snapshot: Snapshot) -> tuple[Context | None, dict[str, list[Problem]]]:
    """The context of a state, and what is wrong with its YAML files, by path.

    Without a readable policy there is no context; a broken page of a built-in kernel leaves the
    built-in one in force.
    """
    cache = Cache(snapshot.repository)
    problems: dict[str, list[Problem]] = {}
    base = catalog.built_in()
    specs = dict(base)
    for path in sorted(snapshot.oids):
        if kind_of(path) == "spec":
            try:
                spec = read_spec(snapshot, cache, path, base)
                problems[path] = list(_not_finite(spec))
            except InputError as error:
                problems[path] = [_problem(error)]
            if not problems[path]:
                specs[spec.kernel] = spec
    models = frozenset(
        path.removeprefix("models/").removesuffix(".json")
        for path in snapshot.oids
        if kind_of(path) == "model"
    )
    if POLICY not in snapshot.oids:
        missing = InputError(f"{POLICY} is not in this state of the registry (git add {POLICY})")
        return None, {**problems, POLICY: [_problem(missing, "unreadable")]}
    try:
        policy = read_policy(snapshot, cache, POLICY)
    except InputError as error:
        return None, {**problems, POLICY: [_problem(error)]}
    problems[POLICY] = []
    if not policy.looks_at_signatures:
        return Context(policy, specs, models), problems
    return _with_trust(Context(policy, specs, models), snapshot, problems), problems


def _with_trust(
    context: Context, snapshot: Snapshot, problems: dict[str, list[Problem]]
) -> Context:
    """``context`` with whom the registry trusts to sign; adds what is wrong with its files."""
    # Imported here: most registries sign nothing.
    from registry_tool.signing import trust as trusts
    from registry_tool.signing.times import Added
    from registry_tool.signing.verified import Verified

    def fetch(path: str) -> bytes | None:
        return snapshot.read(path) if path in snapshot.oids else None

    trust, troubles = trusts.read(context.policy, fetch)
    for trouble in troubles:
        from registry_tool.records.explain import Problem

        kind: ProblemKind = "unreadable" if trouble.is_missing else "schema"
        found = problems.setdefault(trouble.path, [])
        found.append(Problem(kind, trouble.message, trouble.line))
    known = Added(snapshot), Verified(snapshot)
    return Context(context.policy, context.specs, context.models, trust, *known)


def measure_of(root: Path, revision: str) -> Snapshot:
    """Policy and pages as they stand in ``revision``; raises GitError if there is none."""
    state = snapshots.of_revision(root, revision, revision)
    assert state.repository is not None
    assert state.anchor is not None
    return state.narrowed(git.tree(state.repository, state.anchor, FILES))


def measured(context: Context | None, by: Snapshot | None, snapshot: Snapshot) -> Context | None:
    """The ``context`` of ``snapshot`` with the targets, rules, pages and signers of ``by``."""
    if context is None or by is None:
        return context
    base, _ = read(by)
    if base is None:
        return context
    targets = {
        name: base.policy.targets.get(name, target)
        for name, target in context.policy.targets.items()
    }
    policy = replace(context.policy, targets=targets, rules=base.policy.rules)
    specs = {**context.specs, **base.specs}
    # Who may sign is part of the measure; when something was signed is a matter of the state.
    trust = context.trust if base.trust is None else base.trust
    if trust is None:
        return Context(policy, specs, context.models)
    from registry_tool.signing.times import Added
    from registry_tool.signing.verified import Verified

    return Context(policy, specs, context.models, trust, Added(snapshot), Verified(snapshot))


def _problem(error: InputError, kind: ProblemKind = "schema") -> Problem:
    # Imported here and below: nothing needs it in a registry that is in order.
    from registry_tool.records.explain import Problem

    if "duplicate key" in error.message.lower():
        kind = "duplicate"
    elif error.message.startswith("not YAML"):
        kind = "unreadable"
    pointer = getattr(error, "pointer", "")
    return Problem(kind, error.message, error.line or 1, pointer)


def _not_finite(value: Part) -> Iterator[Problem]:
    for pointer, number in _numbers(msgspec.to_builtins(value), ""):
        if not math.isfinite(number):
            from registry_tool.records.explain import Problem

            yield Problem("not-finite", f"{pointer} is {number}", 1, pointer)


def _numbers(value: Any, pointer: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield pointer, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _numbers(part, f"{pointer}/{name}")
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from _numbers(part, f"{pointer}/{at}")
