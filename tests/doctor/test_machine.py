from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from registry_tool.doctor import machine
from registry_tool.doctor.sandbox import sandbox
from registry_tool.records.verdict import Fact
from registry_tool.store.registry import load
from registry_tool.store.snapshot import of_worktree
from tests.doctor.world import COMMAND, MAKEFILE, World


def _path_without(world: World, *gone: str) -> str:
    """A PATH that holds the few programs a check needs, and none of ``gone``."""
    folder = world.folder / "bin"
    folder.mkdir()
    for name in ("sh", "python3", "make", "git", "dirname", "realpath", "flock"):
        found = shutil.which(name)
        if found and name not in gone:
            (folder / name).symlink_to(found)
    return str(folder)


def test_a_missing_xrt_smi_says_what_to_source(world: World) -> None:
    found = world.check("device", "xrt-smi", PATH=_path_without(world))
    assert found["status"] == "warning"
    assert found["fix"].startswith("source ")


def test_no_device_is_a_problem(world: World) -> None:
    found = world.check("device", "device", PATH=_path_without(world))
    if Path("/sys/class/accel").exists():
        pytest.skip("this machine may have one")
    assert found["status"] == "problem"


def test_a_missing_make_is_a_problem_and_not_a_traceback(world: World) -> None:
    found = world.check("machine", "make", PATH=_path_without(world, "make"))
    assert found["status"] == "problem"


@pytest.mark.parametrize(
    ("value", "status", "said"),
    [
        ("", "problem", "not set"),
        ("/no/such/place", "problem", "not a folder"),
        ("/tmp", "problem", "no bin/clang++"),
        ("/tmp/$(HOME)", "problem", "plain characters"),
    ],
)
def test_a_compiler_that_make_would_not_find_is_a_problem(
    value: str, status: str, said: str
) -> None:
    (found,) = machine.compiler({"PEANO_INSTALL_DIR": value})
    assert (found.status, said in found.message) == (status, True)


def test_a_compiler_that_may_not_be_executed_says_chmod(world: World) -> None:
    program = Path(world.environ["PEANO_INSTALL_DIR"]) / "bin" / "clang++"
    assert [one.status for one in machine.compiler(world.environ)] == ["ok"]
    program.chmod(0o644)
    assert [one.fix for one in machine.compiler(world.environ)] == [f"chmod +x {program}"]


def test_a_python_without_the_device_modules_is_a_warning(world: World) -> None:
    fake = world.folder / "site"
    fake.mkdir()
    (fake / "pyxrt.py").write_text("raise ImportError('libxrt_coreutil.so.2: not found')")
    (fake / "air.py").touch()
    with sandbox({**world.environ, "PYTHONPATH": str(fake)}) as box:
        _, pyxrt, air = machine.python(box, None)
    assert (pyxrt.status, air.status) == ("warning", "ok")
    assert "libxrt_coreutil.so.2" in pyxrt.message
    assert (pyxrt.fix or "").startswith("source ")


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("power_mode", "Performance", "ok"),
        ("power_mode", "Turbo", "ok"),
        ("power_mode", "Default", "warning"),
        ("platform_profile", "performance", "ok"),
        ("platform_profile", "low-power", "warning"),
        ("driver", "2.20", "ok"),
    ],
)
def test_a_slow_mode_is_a_warning_that_says_why(name: str, value: str, status: str) -> None:
    checks = list(machine.device({"PATH": ""}, {name: Fact(value=value, reason=None)}))
    assert checks[-1].status == status
    assert status == "ok" or "halve the speed" in checks[-1].message


def test_what_is_unknown_of_the_device_is_a_warning_with_its_reason() -> None:
    (_, found) = machine.device({"PATH": ""}, {"firmware": Fact(value=None, reason="no file")})
    assert (found.status, "no file" in found.message) == ("warning", True)


def test_several_runs_side_by_side_on_hardware_are_a_warning(world: World) -> None:
    world.policy(more="    jobs: 2\n")
    target = load(of_worktree(world.registry)).target("npu2")
    assert [one.status for one in machine.jobs("npu2", target)] == ["warning"]


def test_makeflags_of_the_caller_are_a_warning_and_change_nothing(world: World) -> None:
    world.environ["MAKEFLAGS"] = "N=3 -k"
    found = {one.name: one.status for one in machine.programs(world.environ)}
    assert found == {"make": "ok", "git": "ok", "MAKEFLAGS": "warning"}
    assert world.kernel("make run").status == "ok"


@pytest.mark.parametrize("has_target", [True, False])
def test_nothing_in_the_compiler_s_path_is_carried_out(world: World, has_target: bool) -> None:
    mark = world.folder / "pwned"
    word = f"$(shell touch {mark})"
    if not has_target:
        world.write(MAKEFILE.replace("run: object", "runs: object"))
    world.policy()  # and a command that does not name the compiler itself
    world.spec(tuple(one for one in COMMAND if not one.startswith("PEANO")))
    found = world.check("compiler", "PEANO_INSTALL_DIR", PEANO_INSTALL_DIR=word)
    assert found["status"] == "problem"
    assert not mark.exists()


def test_a_compiler_in_an_unchecked_folder_is_not_started(world: World) -> None:
    folder = world.folder / "my compiler"
    (world.folder / "llvm-aie").rename(folder)
    mark = world.folder / "was-started"
    (folder / "bin" / "clang++").write_text(f"#!/bin/sh\ntouch {mark}\n")
    assert world.check("compiler", "PEANO", PEANO_INSTALL_DIR=str(folder))["status"] == "problem"
    assert not mark.exists()
