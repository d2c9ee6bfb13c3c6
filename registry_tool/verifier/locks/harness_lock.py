"""The lock that harnesses take themselves, which must never be the lock of their target."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from registry_tool.records.spec import Target

_USUAL = Path("/tmp")


def places(target: Target) -> list[Path]:
    """Where the harnesses of ``target`` take a lock: below TMPDIR, or below /tmp without one."""
    if target.kind != "hardware" or target.harness_lock is None:
        return []
    # Joining with an absolute path gives that path.
    found = [folder / target.harness_lock for folder in (Path(tempfile.gettempdir()), _USUAL)]
    return list(dict.fromkeys(found))


def clash(target: Target) -> str | None:
    """What is wrong if a lock of ``target`` is one that its harness takes itself; None if not.

    A run would hold it and wait for itself until its time limit; `flock -o` does not help.
    """
    for lock in _slots(target):
        for taken in places(target):
            if _same(lock, taken):
                return (
                    f"the lock {lock} is the one that the harness takes itself ({taken}): "
                    "every run would wait for itself until its time limit"
                )
    return None


def remedy(name: str) -> str:
    """What to do about a clash of the target ``name``."""
    return f"name another file in registry.yaml: targets.{name}.lock.path: /tmp/mlir-air-npu.lock"


def _slots(target: Target) -> Iterator[Path]:
    path = Path(target.lock.path)
    yield path
    for index in range(1, target.jobs):
        yield path.with_name(f"{path.name}.{index}")


def _same(one: Path, other: Path) -> bool:
    # The file may not exist yet, and its folder may be reached by a symbolic link.
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return one.samefile(other)  # a hard link
    except OSError:
        return False
