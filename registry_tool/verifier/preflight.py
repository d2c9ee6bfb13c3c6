"""What is looked at before a plan runs: whatever would end every run of it is refused here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from registry_tool.errors import UsageError
from registry_tool.store.registry import POLICY, Registry
from registry_tool.verifier.hardware import Place, find_place
from registry_tool.verifier.locks.harness_lock import clash, remedy
from registry_tool.verifier.locks.lock_file import open_lock
from registry_tool.verifier.machine.environment import Surroundings, survey


def prepare(
    registry: Registry, name: str, environ: Mapping[str, str]
) -> tuple[Place | None, Surroundings | None]:
    """Harness tree and surroundings of the target ``name``; None for an emulated one.

    Raises ToolError for a tree, a compiler or a lock that no run could use.
    """
    target = registry.target(name)
    if not Path(target.lock.path).is_absolute():
        raise UsageError(
            f"the lock {target.lock.path} is no absolute path: every working folder would have its "
            "own, and none would exclude another",
            path=POLICY,
            fix=f"write an absolute path in registry.yaml: targets.{name}.lock.path",
        )
    if target.kind != "hardware":
        return None, None
    problem = clash(target)
    if problem is not None:
        raise UsageError(problem, fix=remedy(name))
    place = find_place(name, target, environ)
    # What is no lock is better said now than after the first compile.
    os.close(open_lock(Path(target.lock.path)))
    return place, survey(target, environ, place)
