"""Killed at any moment, a verification leaves no half-written file, and the next one goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import pytest

from tests.acceptance.world import World


def words(world: World) -> list[str]:
    config = world.write_config()
    return ["registry-tool", "verify", "--config", str(config), "--model", "Tiny", "--seq", "256"]


def start(world: World) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words(world),
        cwd=world.registry,
        env=world.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for_rows(world: World, running: subprocess.Popen[bytes], rows: int) -> None:
    deadline = time.monotonic() + 60
    while len(world.records()) < rows and running.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("rows", [1, 4])
def test_the_next_verify_picks_up_where_the_last_one_stopped(
    world: World, number: signal.Signals, rows: int
) -> None:
    running = start(world)
    wait_for_rows(world, running, rows)
    running.send_signal(number)
    assert running.wait(30) != 0
    finished = world.records()
    for path in [*finished, *world.verdicts()]:
        json.loads(path.read_bytes())
    done = world.run(*words(world))
    assert done.returncode == 0, done.stderr
    for path in finished:
        row = path.relative_to(world.registry / "records").with_suffix("")
        assert len(list((world.registry / "verdicts" / row).glob("*.json"))) == 1
    assert not list(world.registry.rglob("*.tmp"))
    world.git("commit", "-qm", "Verify")
    assert world.git("status", "--porcelain") == ""
    assert world.ok("check", "--ref", "HEAD")


def test_a_killed_verifier_takes_its_harness_with_it(world: World) -> None:
    running = subprocess.Popen(
        [
            "registry-tool", "verify", "--kernel", "RoPE_bf16", "--shape", "64x64",
            "--inject", "hang",
        ],
        cwd=world.registry,
        env=world.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    lock = world.folder.parent / "device.lock"
    deadline = time.monotonic() + 30
    while subprocess.run(["flock", "-n", str(lock), "true"], check=False).returncode == 0:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.kill()
    running.wait()
    deadline = time.monotonic() + 20
    listed = ""
    while time.monotonic() < deadline:
        listed = subprocess.run(
            ["ps", "-eo", "args"], capture_output=True, text=True, check=True
        ).stdout
        if not any("--inject hang" in line and "emulator" in line for line in listed.splitlines()):
            break
        time.sleep(0.1)
    else:
        pytest.fail(listed)
    done = world.run("registry-tool", "verify", "--kernel", "RoPE_bf16", "--shape", "64x64")
    assert done.returncode == 0, done.stderr
    assert not list(world.registry.rglob("*.tmp"))
