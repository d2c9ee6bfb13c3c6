from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from registry_tool.doctor import locks
from registry_tool.store.registry import load
from registry_tool.store.snapshot import of_worktree
from tests.doctor.world import World

TOPIC = "npu2: lock"


def test_a_lock_that_does_not_exist_will_be_created(world: World) -> None:
    assert world.locked("path").status == "ok"
    assert not world.lock.exists()


def test_a_symbolic_link_in_its_place_is_refused(world: World) -> None:
    world.lock.symlink_to(world.folder / "elsewhere")
    found = world.locked("path")
    assert (found.status, "symbolic link" in found.message) == ("problem", True)


def test_a_folder_in_its_place_is_refused(world: World) -> None:
    world.lock.mkdir()
    assert "is a folder" in world.locked("path").message


def test_a_pipe_in_its_place_is_refused_without_waiting(world: World) -> None:
    os.mkfifo(world.lock)
    assert "not a regular file" in world.locked("path").message


def test_a_lock_in_a_folder_that_is_gone_says_how_to_make_it(world: World) -> None:
    world.policy(lock=str(world.folder / "gone" / "device.lock"))
    assert world.locked("path").fix == f"mkdir -p {world.folder / 'gone'}"


def test_a_lock_that_others_cannot_open_is_a_problem(world: World) -> None:
    world.lock.touch()
    world.lock.chmod(0o600)
    found = world.locked("access")
    assert found.status == "problem"
    assert "0600, owned by you" in found.message
    assert found.fix == f"chmod a+rw {world.lock}"
    world.lock.chmod(0o664)
    assert world.locked("access").status == "ok"


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away takes root")
def test_a_lock_of_somebody_else_names_its_owner(world: World) -> None:
    world.lock.touch()
    world.lock.chmod(0o600)
    os.chown(world.lock, 12345, -1)
    found = world.locked("access")
    assert "user 12345" in found.message
    assert "ask its owner" in found.fix


def test_the_umask_that_would_shut_others_out_is_noticed(world: World) -> None:
    before = os.umask(0o077)
    try:
        found = world.locked("path")
    finally:
        os.umask(before)
    assert (found.status, "umask" in found.message) == ("warning", True)


def test_the_process_that_holds_it_is_named(world: World) -> None:
    with subprocess.Popen(
        ["flock", "-x", str(world.lock), "sh", "-c", "echo held; read wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        found = world.locked("holder")
        holder.communicate("\n")
    assert found.status == "warning"
    assert f"process {holder.pid}" in found.message
    assert world.locked("holder").status == "ok"


def test_the_lock_that_the_harness_takes_itself_is_refused(world: World) -> None:
    world.policy(lock="/tmp/npu.lock")
    found = world.locked("harness lock")
    assert found.status == "problem"
    assert "takes itself" in found.message
    assert "targets.npu2.lock.path" in (found.fix or "")


def test_it_is_refused_where_tmpdir_has_moved_it(world: World) -> None:
    moved = world.folder / "moved"
    moved.mkdir()
    world.policy(lock=str(moved / "npu.lock"))
    assert world.locked("harness lock").status == "ok"
    assert world.check(TOPIC, "harness lock", TMPDIR=str(moved))["status"] == "problem"


def test_a_moved_tmpdir_is_a_warning(tmp_path: Path) -> None:
    assert locks.check_temporary({}).status == "ok"
    assert locks.check_temporary({"TMPDIR": "/tmp/"}).status == "ok"
    for name in ("TMPDIR", "TEMP", "TMP"):
        found = locks.check_temporary({name: str(tmp_path)})
        assert (found.status, found.fix) == ("warning", f"unset {name}")
    assert "no folder" in locks.check_temporary({"TMPDIR": "/no/such/place"}).message


def test_a_lock_on_a_network_file_system_is_a_problem(world: World) -> None:
    table = f"22 1 8:1 / / rw - ext4 a rw\n30 22 0:40 / {world.folder} rw - nfs4 server:/a rw\n"
    target = load(of_worktree(world.registry)).target("npu2")
    found = {one.name: one for one in locks.check("npu2", target, table)}["file system"]
    assert (found.status, "nfs4" in found.message) == ("problem", True)
