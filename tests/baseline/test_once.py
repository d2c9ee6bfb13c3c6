"""A registry adopts for one target: an import for a second one is refused before it writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from registry_tool import baseline
from tests.acceptance.world import World, make
from tests.adoption.small import write
from tests.adoption.test_import import refused, state

SECOND = (
    "  npu9:\n    kind: hardware\n    lock: {path: /tmp/registry-tool-npu9.lock, limit_s: 60}\n"
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "source")


@pytest.fixture
def world(tmp_path: Path, source: Path) -> World:
    """A registry of two devices that adopted for one, and committed it."""
    made = make(tmp_path)
    policy = made.registry / "registry.yaml"
    policy.write_text(policy.read_text().replace("targets:\n", "targets:\n" + SECOND, 1))
    made.git("add", "-A")
    made.git("commit", "-qm", "Two devices")
    made.ok("import", str(source), "--target", "npu2", "--without", "GEMV_bf16")
    made.git("commit", "-q", "--no-verify", "-m", "Adopt")
    return made


def leave(world: World) -> None:
    """The list of debt as it is."""


def empty(world: World) -> None:
    """All worked off."""
    (world.registry / baseline.PATH).write_bytes(baseline.make([]))


def drop(world: World) -> None:
    (world.registry / baseline.PATH).unlink()
    for path in world.records():
        path.unlink()


@pytest.mark.parametrize("change", [leave, empty, drop])
@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_a_second_target_is_refused_and_nothing_is_written(
    world: World, source: Path, change: Callable[[World], None], words: tuple[str, ...]
) -> None:
    change(world)
    world.git("add", "-A")
    world.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "Later")
    said = refused(world, source, "--target", "npu9", *words)
    assert "adopted its rows for npu2" in said


def test_an_import_that_is_not_committed_counts(world: World, source: Path) -> None:
    world.git("reset", "-q", "--mixed", "HEAD^")
    before = state(world.registry)
    done = world.tool("import", str(source), "--target", "npu9")
    assert done.returncode == 2
    assert "npu2" in done.stderr
    assert state(world.registry) == before


def test_the_same_target_is_compared_as_before(world: World, source: Path) -> None:
    done = world.tool("import", str(source), "--target", "npu2", "--without", "GEMV_bf16")
    assert done.returncode == 0, done.stderr
