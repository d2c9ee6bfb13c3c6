"""The stale rows of a registry, with the reasons."""

from __future__ import annotations

import os
from collections.abc import Mapping

from registry_tool.planning.evidence import cited
from registry_tool.records.keys import RowId
from registry_tool.records.verdict import Verdict
from registry_tool.stale.current import Known, on_target
from registry_tool.stale.moved import moved
from registry_tool.store.registry import Registry

Reasons = Mapping[RowId, list[str]]
"""Why each stale row is; rows that are not, or of which nobody can tell, are not in it."""


def of(registry: Registry, target: str) -> Reasons:
    """The rows of ``target`` whose passing run had other sources or another toolchain.

    Imported rows are left out: nothing ran. Raises InputError for a record that is not canonical.
    """
    known = on_target(target, registry.target(target), registry.root, os.environ)
    return judged(registry, target, known)


def judged(registry: Registry, target: str, known: Known) -> Reasons:
    """The same with another way to learn what is current."""
    kernels: dict[str, dict[RowId, Verdict]] = {}
    for row, verdict in cited(registry, target).items():
        kernels.setdefault(row.kernel, {})[row] = verdict
    found = {}
    for kernel, verdicts in kernels.items():
        current = known(registry.spec(kernel), verdicts.values())
        for row, verdict in verdicts.items():
            reasons = moved(verdict, current)
            if reasons:
                found[row] = reasons
    return found
