"""The lock that harnesses take themselves is never the lock of their target."""

from __future__ import annotations

import os
from pathlib import Path

from registry_tool.records.spec import LockSpec, Target
from registry_tool.verifier.locks import harness_lock


def _target(path: Path, **more: object) -> Target:
    return Target(kind="hardware", lock=LockSpec(path=str(path)), **more)  # type: ignore[arg-type]


def test_a_clash_is_seen_through_links(tmp_path: Path) -> None:
    own = tmp_path / "own.lock"
    target = _target(tmp_path / "way" / "own.lock", harness_lock=str(own))
    assert harness_lock.clash(target) is None
    (tmp_path / "way").symlink_to(tmp_path)
    assert harness_lock.clash(target)
    own.touch()
    os.link(own, tmp_path / "other.lock")
    hard = _target(tmp_path / "other.lock", harness_lock=str(own))
    assert harness_lock.clash(hard)


def test_there_is_no_clash_where_no_harness_takes_a_lock(tmp_path: Path) -> None:
    lock = tmp_path / "own.lock"
    assert harness_lock.clash(_target(lock, harness_lock=None)) is None
    emulated = Target(kind="emulated", lock=LockSpec(path="/tmp/npu.lock"))
    assert harness_lock.clash(emulated) is None
