"""One device, several users: locks, their places, and verifiers that die."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.standin import bench as benches
from tests.standin.bench import Bench, intervals, processes_of, verify_words
from tests.standin.build import Tree
from tests.standin.rows import ROWS, Row

BY_KERNEL = {row.kernel: row for row in ROWS}
ROPE, ADD = BY_KERNEL["RoPE_bf16"], BY_KERNEL["EltwiseAdd_bf16"]
GEMM = BY_KERNEL["GEMM_bf16_in_fp32_out"]


@pytest.fixture
def other(tmp_path: Path, blank: Bench, tree: Tree) -> Bench:
    """A second registry beside the same device."""
    (tmp_path / "other").mkdir()
    return benches.copy(blank, tmp_path / "other", tree)


def apart(tree: Tree) -> Iterator[bool]:
    """Whether each run of the device ended before the next began."""
    spans = intervals(tree, "run", "timing")
    return (first[1] <= second[0] for first, second in pairwise(spans))


def test_two_verifiers_at_once_take_turns(bench: Bench, other: Bench, tmp_path: Path) -> None:
    # The harness's own lock moves with TMPDIR, so that it cannot keep the two apart here.
    (tmp_path / "elsewhere").mkdir()
    other.world.environment["TMPDIR"] = str(tmp_path / "elsewhere")
    for each in (bench, other):
        each.configure(timing_runs=3)
    with bench.verifying(ADD) as first, other.verifying(ROPE) as second:
        assert first.wait(60) == 0
        assert second.wait(60) == 0
    starts = bench.tree.starts()
    assert {start["folder"] for start in starts} == {ADD.folder, ROPE.folder}
    assert len(intervals(bench.tree, "run", "timing")) == 8
    assert all(apart(bench.tree))
    assert {start["outer_lock"] for start in starts if start["step"] != "compile"} == {"ours"}


def test_two_verifiers_of_one_kernel_do_not_build_in_one_folder(bench: Bench, other: Bench) -> None:
    smaller = Row(GEMM.kernel, GEMM.folder, {**GEMM.shape, "M": 256, "K": 1024},
                          GEMM.tile, GEMM.herd, GEMM.variant)  # fmt: skip
    with bench.verifying(GEMM) as first, other.verifying(smaller) as second:
        assert first.wait(60) == 0
        assert second.wait(60) == 0
    shapes = [start["shape"]["M"] for start in bench.tree.starts()]
    assert shapes in ([128] * 3 + [256] * 3, [256] * 3 + [128] * 3)


def test_the_same_row_in_one_registry_twice_at_once(bench: Bench) -> None:
    with bench.verifying(ROPE) as first, bench.verifying(ROPE, "--force") as second:
        statuses = {first.wait(60), second.wait(60)}
    assert 0 in statuses
    assert all(apart(bench.tree))
    assert len(bench.world.records()) == 1
    assert bench.world.tool("check").returncode == 0


def test_a_lock_that_stays_busy_ends_with_status_75(bench: Bench) -> None:
    bench.configure(lock={"path": str(bench.tree.lock), "limit_s": 1})
    done = bench.world.run(
        "flock", "-x", str(bench.tree.lock), "registry-tool", *verify_words(ROPE)
    )
    assert done.returncode == 75, done.stdout + done.stderr
    assert "held by process" in done.stderr
    assert bench.tree.starts(step="run") == []
    assert bench.world.records() == []
    assert bench.world.verdicts() == []


def test_the_lock_of_the_harness_is_refused_as_the_lock_of_the_target(bench: Bench) -> None:
    bench.configure(lock={"path": str(bench.tree.temporary / "npu.lock"), "limit_s": 5})
    done = bench.verify(ROPE)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "npu.lock" in done.stderr
    assert bench.tree.starts() == []
    # By another name it is the same file.
    alias = bench.tree.temporary / "alias.lock"
    (bench.tree.temporary / "npu.lock").touch()
    os.link(bench.tree.temporary / "npu.lock", alias)
    bench.configure(lock={"path": str(alias), "limit_s": 5})
    assert bench.verify(ROPE).returncode == 2
    assert bench.tree.starts() == []


def test_a_moved_temporary_folder_moves_the_lock_that_is_refused(
    bench: Bench, tmp_path: Path
) -> None:
    place = tmp_path / "moved"
    place.mkdir()
    bench.configure(lock={"path": str(place / "npu.lock"), "limit_s": 5})
    bench.passes(ROPE)
    bench.world.environment["TMPDIR"] = str(place)
    assert bench.verify(ROPE, "--force").returncode == 2


def test_a_link_in_place_of_the_lock_is_refused(bench: Bench) -> None:
    bench.tree.lock.unlink(missing_ok=True)
    bench.tree.lock.symlink_to(bench.tree.temporary / "somewhere")
    done = bench.verify(ROPE)
    assert done.returncode == 2
    assert "symbolic link" in done.stderr
    assert bench.tree.starts(step="run") == []


@pytest.mark.parametrize("peano", [None, "", "/nowhere/llvm-aie"])
def test_without_the_compiler_nothing_is_run(bench: Bench, peano: str | None) -> None:
    del bench.world.environment["PEANO_INSTALL_DIR"]
    if peano is not None:
        bench.world.environment["PEANO_INSTALL_DIR"] = peano
    done = bench.verify(ROPE)
    assert done.returncode == 2
    assert "PEANO_INSTALL_DIR" in done.stderr
    assert bench.tree.starts() == []
    assert bench.world.verdicts() == []


@pytest.mark.parametrize("root", [None, "/nowhere/programming_examples"])
def test_without_the_tree_nothing_is_run(bench: Bench, root: str | None) -> None:
    bench.configure(harness_root=root)
    done = bench.verify(ROPE)
    assert done.returncode == 2
    assert "harness" in done.stderr
    assert "registry-tool doctor" in done.stderr
    assert bench.world.verdicts() == []


def test_a_path_that_make_would_expand_is_refused(bench: Bench, tmp_path: Path) -> None:
    odd = tmp_path / "$(shell touch pwned)"
    odd.symlink_to(bench.tree.peano)
    bench.world.environment["PEANO_INSTALL_DIR"] = str(odd)
    done = bench.verify(ROPE)
    assert done.returncode == 2
    assert bench.tree.starts() == []
    assert not list(tmp_path.rglob("pwned"))


def test_after_a_killed_verify_the_next_one_finishes(bench: Bench) -> None:
    # The harness outlives its verify for a while, on the device.
    bench.tree.misbehave(
        {"kind": "hang", "amount": 1.5, "folder": ROPE.folder, "starts": [1], "step": "run"}
    )
    with bench.verifying(ROPE) as running:
        bench.wait_for("device", ROPE.folder)
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert bench.world.records() == []
    bench.passes(ROPE)
    assert len(bench.world.records()) == 1
    assert not [path for path in bench.world.registry.rglob("*.tmp*") if ".git" not in path.parts]
    assert bench.world.json("check")["findings"] == []
    assert processes_of(bench.tree) == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_verify_ends_its_harness_and_writes_nothing(
    bench: Bench, sent: signal.Signals
) -> None:
    bench.tree.misbehave({"kind": "hang", "folder": ROPE.folder})
    with bench.verifying(ROPE) as running:
        bench.wait_for("device", ROPE.folder)
        running.send_signal(sent)
        assert running.wait(20) != 0
    assert processes_of(bench.tree) == []
    assert bench.world.verdicts() == []
    assert bench.world.records() == []
    with open(bench.tree.lock, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_make_around_verify_changes_nothing_for_the_harness(bench: Bench) -> None:
    bench.world.environment |= {"MAKEFLAGS": "n -k -- PERF_ITERS=7", "MAKELEVEL": "1"}
    bench.passes(ROPE)
    assert bench.tree.starts(ROPE.folder, "run")
    log = next(path for path in bench.logs() if path.stem.count(".") == 0)
    assert "Entering directory" not in log.read_text()


def test_a_lock_path_that_hangs_on_the_working_folder_is_refused(bench: Bench) -> None:
    bench.configure(lock={"path": "device.lock", "limit_s": 5})
    done = bench.verify(ROPE)
    assert done.returncode == 2
    assert "no absolute path" in done.stderr
    assert bench.tree.starts() == []


def test_a_tile_that_breaks_a_constraint_never_reaches_the_device(bench: Bench) -> None:
    done = bench.verify(ADD, "--tile", "tile=7")
    assert done.returncode == 1
    assert "does not hold" in done.stderr
    assert bench.tree.starts() == []
    assert bench.world.records() == []
