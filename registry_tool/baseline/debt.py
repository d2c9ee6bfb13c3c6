"""Counting the debt of a registry, by kernel and by the models that rely on it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from registry_tool.baseline import read
from registry_tool.store.registry import Registry


@dataclass(frozen=True)
class Debt:
    """The imported rows of one target that the baseline holds, and what is amiss with it.

    ``kernels`` counts rows by kernel; ``models`` by model that uses them (a row counts once for
    each), ``unused`` those that none does. ``waived`` carry a waiver. ``changed`` are named but
    not what they were, ``stale`` are gone or verified; ``elsewhere`` counts other targets' rows.
    """

    rows: int
    kernels: dict[str, int]
    models: dict[str, int]
    unused: int
    waived: int
    changed: list[str]
    stale: list[str]
    elsewhere: dict[str, int]


def of(registry: Registry, target: str) -> Debt | None:
    """The debt on ``target``; None without a baseline. Raises InputError for a broken file."""
    baseline = read.on_disk(registry.root)
    if baseline is None:
        return None
    kernels: Counter[str] = Counter()
    models: Counter[str] = Counter()
    elsewhere: Counter[str] = Counter()
    unused = waived = 0
    changed = []
    for name, (entry, record) in read.records(registry, baseline).items():
        if record.target != target:
            elsewhere[record.target] += 1
            continue
        if not read.is_held(entry, record):
            changed.append(name)
            continue
        kernels[record.kernel] += 1
        users = {use.model for use in record.used_by}
        models.update(users)
        unused += not users
        waived += bool(record.waivers)
    return Debt(
        rows=kernels.total(),
        kernels={kernel: kernels[kernel] for kernel in registry.specs if kernels[kernel]},
        models=dict(sorted(models.items(), key=lambda item: (-item[1], item[0]))),
        unused=unused,
        waived=waived,
        changed=changed,
        stale=read.stale(registry, baseline),
        elsewhere=dict(elsewhere),
    )
