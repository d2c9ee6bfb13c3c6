"""The device lock, shared with flock(1): waiting, naming the holder, and giving up."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.acceptance.world import World

ROPE = ("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=64")


@contextmanager
def held(path: Path, seconds: float) -> Iterator[int]:
    holder = subprocess.Popen(
        ["flock", "-x", str(path), "sh", "-c", f"echo held; exec sleep {seconds}"],
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    try:
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
        subprocess.run(["pkill", "-f", f"sleep {seconds}"], check=False)


def test_verify_waits_for_the_holder_and_names_it(world: World) -> None:
    with held(world.folder.parent / "device.lock", 2.37) as holder:
        done = world.tool(*ROPE)
    assert done.returncode == 0, done.stderr
    assert "waiting" in done.stderr
    assert f"held by process {holder} (flock" in done.stderr
    assert len(world.records()) == 1


def test_a_lock_that_stays_busy_ends_with_status_75(world: World) -> None:
    policy = world.registry / "registry.yaml"
    policy.write_text(policy.read_text().replace("limit_s: 1800}", "limit_s: 1}"))
    with held(world.folder.parent / "device.lock", 31.41) as holder:
        done = world.tool(*ROPE)
    assert done.returncode == 75
    assert f"process {holder} (flock" in done.stderr
    assert world.records() == []
    assert world.verdicts() == []
    assert not list(world.registry.rglob("*.tmp"))


def test_a_symlink_in_place_of_the_lock_is_refused(world: World) -> None:
    lock = world.folder.parent / "device.lock"
    lock.symlink_to(world.folder / "registry.yaml")
    done = world.tool(*ROPE)
    assert done.returncode == 2
    assert "symbolic link" in done.stderr
