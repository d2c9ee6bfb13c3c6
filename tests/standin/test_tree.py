"""The stand-in tree itself: real make and real processes, and every way to misbehave."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from registry_tool.records import catalog
from registry_tool.records.spec import LockSpec, Target
from registry_tool.verifier import hardware
from registry_tool.verifier.job import Commands
from registry_tool.verifier.logs import facts
from registry_tool.verifier.logs.harness_log import parse
from tests.standin.build import Tree, build_tree
from tests.standin.rows import ROWS, Row

ADD = "eltwise_add"
# These tests may themselves be run by make, which every make below it would obey.
OURS = {name: value for name, value in os.environ.items() if name not in hardware.OUTER_MAKE}
COMMAND = ("make", "run", "SHAPE=32768", "TILE=2048", "EXTRA_PY_FLAGS=--herd-shape 8 1")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("emulated")


@pytest.fixture
def tree(tmp_path: Path, cache: Path) -> Tree:
    return build_tree(tmp_path, cache)


def start(
    tree: Tree, words: Sequence[str], cwd: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    environment = {**OURS, **tree.environment, **more}
    return subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def add(tree: Tree, *words: str) -> subprocess.CompletedProcess[str]:
    return start(tree, [*COMMAND, *words], tree.root / ADD)


def read(text: str) -> facts.LogFacts:
    return parse(text.encode())


def commands(tree: Tree, row: Row) -> Commands:
    spec = catalog.built_in()[row.kernel]
    place = hardware.Place(str(tree.root), str(tree.peano))
    return hardware.commands(spec, "npu2", place, row.shape, row.variant, row.tile, row.herd)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_command_of_every_spec_works_in_the_tree(tree: Tree, row: Row) -> None:
    made = commands(tree, row)
    for folder in made.build:
        folder.mkdir()
    for step in filter(None, (made.compile, made.correctness, made.timing)):
        done = start(tree, step.command, step.cwd)
        spoilt = row.stateful and step is made.timing
        expected = 2 if spoilt else 0
        assert done.returncode == expected, f"{step.command}\n{done.stdout}\n{done.stderr}"
        told = read(done.stdout)
        assert told.devices == ["npu2"]
        passed = "PASS!" in done.stdout.splitlines()
        silent = step is made.compile or (step is made.timing and not row.compares_timed)
        assert passed == (not silent and not spoilt)
        if row.compares_timed:
            assert bool(told.timings) == (step is made.timing)
        assert "Emulated" not in done.stdout
    steps = [entry["step"] for entry in tree.starts()]
    assert steps == (["compile"] if made.compile else []) + ["run", "timing"]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_script_knows_its_flags_and_no_other(tree: Tree, row: Row) -> None:
    for script in (tree.root / row.folder).glob("*.py"):
        helped = start(tree, ["python3", str(script), "--help"], tree.root)
        assert helped.returncode == 0
        assert "--compile-" in helped.stdout
        refused = start(tree, ["python3", str(script), "--no-such-flag"], tree.root)
        assert refused.returncode == 2
    assert start(tree, ["make", "-n", "run"], tree.root / row.folder).returncode == 0


def test_the_throughput_fits_the_latency_and_the_work(tree: Tree) -> None:
    row = next(row for row in ROWS if row.kernel == "GEMV_bf16")
    made = commands(tree, row)
    assert made.timing is not None
    made.build[0].mkdir()
    start(tree, made.correctness.command, made.correctness.cwd)
    latencies = set()
    for _ in range(3):
        (timing,) = read(start(tree, made.timing.command, made.timing.cwd).stdout).timings
        assert timing.latency_us is not None
        assert timing.gflops == pytest.approx(
            2 * row.shape["M"] * row.shape["K"] / timing.latency_us / 1e3, rel=0.03
        )
        latencies.add(timing.latency_us)
    assert len(latencies) > 1
    assert max(latencies) < 1.1 * min(latencies)


def test_an_object_of_another_tile_gives_garbage(tree: Tree) -> None:
    first = next(row for row in ROWS if row.kernel == "GEMM_bf16_in_fp32_out")
    made = commands(tree, first)
    assert start(tree, made.correctness.command, made.correctness.cwd).returncode == 0
    other = Row(first.kernel, first.folder, first.shape, {**first.tile, "tile_k_l2": 128},
                first.herd, first.variant)  # fmt: skip
    stale = commands(tree, other).correctness
    assert start(tree, stale.command, stale.cwd).returncode == 2


def test_without_the_compiler_an_old_object_is_kept_silently(tree: Tree) -> None:
    row = next(row for row in ROWS if row.kernel == "GEMM_bf16_in_fp32_out")
    step = commands(tree, row).correctness
    words = [word for word in step.command if not word.startswith("PEANO")]
    old = tree.root / row.folder / "build_chess" / "mm.o"
    old.parent.mkdir()
    old.write_text('{"defines": {"DIM_M": "64", "DIM_K": "32", "DIM_N": "64"}}')
    environment = {k: v for k, v in tree.environment.items() if not k.startswith("PEANO")}
    done = subprocess.run(
        ["env", "-u", "PEANO_INSTALL_DIR", *words], cwd=step.cwd, capture_output=True, text=True,
        check=False, env={**OURS, **environment},
    )  # fmt: skip
    assert "failed." in done.stdout
    assert "clang++" not in done.stdout


def test_the_older_target_of_layer_norm_gives_zeros(tree: Tree) -> None:
    done = start(tree, ["make", "run", "M=16", "N=64", "HERD_X=8"], tree.root / "layer_norm")
    assert done.returncode == 2
    assert read(done.stdout).outputs[0].mean_rel_L1 == 1.0


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        ("timeout", 2, "ERT_CMD_STATE_TIMEOUT"),
        ("aborted", 2, "qds_device::wait()"),
        ("killed", 2, "Killed"),
        ("exit-zero", 0, "failed."),
        ("no-words", 0, ""),
        ("no-outputs", 0, "No outputs to validate."),
        ("nan", 2, "mean_rel_L1=nan"),
        ("nan-pass", 0, "PASS!"),
        ("zeros", 2, "mean_rel_L1=1.000e+00"),
        ("wrong", 2, "Mismatches:"),
        ("loose", 0, "rtol=2.0e-01"),
        ("wrong-device", 0, "npu1"),
        ("no-device", 0, "falling back"),
        ("sampled", 0, "(100 elements)"),
        ("silent-pass", 0, "PASS!"),
        ("noise", 0, "PASS!"),
        ("compile-error", 2, "Repeat count exceeds [0:255]"),
        ("compile-killed", 2, "Killed"),
        ("busy", 2, ""),
    ],
)
def test_a_fault_shows(tree: Tree, kind: str, status: int, said: str) -> None:
    tree.misbehave({"kind": kind, "folder": ADD})
    environment = {**OURS, **tree.environment}
    done = subprocess.run(
        COMMAND, cwd=tree.root / ADD, env=environment, capture_output=True, check=False, timeout=60
    )
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    assert done.returncode == status, text
    assert said in text


def test_a_torn_line_ends_in_the_middle(tree: Tree) -> None:
    tree.misbehave({"kind": "torn"})
    done = add(tree)
    assert done.returncode == 0
    assert not read(done.stdout).outputs
    assert not done.stdout.endswith("\n")


def test_a_fault_at_the_first_start_only_is_gone_at_the_second(tree: Tree) -> None:
    tree.misbehave({"kind": "wrong", "folder": ADD, "step": "run", "starts": [1]})
    assert [add(tree).returncode for _ in range(2)] == [2, 0]


def test_the_second_dispatch_only(tree: Tree) -> None:
    tree.misbehave({"kind": "timeout", "dispatches": [2]})
    assert [add(tree).returncode for _ in range(3)] == [0, 2, 0]
    tree.misbehave({"kind": "timeout", "dispatches": [2]})
    assert [add(tree, "PERF_ITERS=20").returncode for _ in range(2)] == [2, 0]


def test_a_fault_of_one_shape_leaves_the_others(tree: Tree) -> None:
    tree.misbehave({"kind": "wrong", "shape": {"N": 65536}})
    assert add(tree).returncode == 0
    for folder in (tree.root / ADD).glob("build_*/air_project/built.json"):
        folder.unlink()
    assert add(tree, "SHAPE=65536").returncode == 2


@contextmanager
def left_running(tree: Tree) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**OURS, **tree.environment}
    running = subprocess.Popen(
        COMMAND, cwd=tree.root / ADD, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield running
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()


@pytest.mark.parametrize("kind", ["hang", "compile-hang"])
def test_a_hang_goes_on_until_it_is_killed(tree: Tree, kind: str) -> None:
    tree.misbehave({"kind": kind})
    with left_running(tree) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.startswith(b"Detected"):
                break
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(0.3)


def test_a_grandchild_keeps_the_pipe_open(tree: Tree) -> None:
    tree.misbehave({"kind": "grandchild"})
    with left_running(tree) as running:
        assert running.wait(30) == 0
        with pytest.raises(subprocess.TimeoutExpired):
            running.communicate(timeout=0.3)


def test_it_waits_for_the_lock_it_takes_itself(tree: Tree) -> None:
    with open(tree.temporary / "npu.lock", "w") as file, left_running(tree) as running:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1.5)
        assert [entry["event"] for entry in tree.journal()] == ["start"]


def test_the_journal_says_whether_the_callers_lock_was_held(tree: Tree) -> None:
    add(tree)
    done = start(tree, ["flock", str(tree.lock), *COMMAND], tree.root / ADD)
    assert done.returncode == 0
    assert [entry["outer_lock"] for entry in tree.starts(ADD)] == ["free", "ours"]


def test_the_diagnosis_always_says_pass(tree: Tree) -> None:
    folder = tree.root / "tiny_llama"
    for faults in ([], [{"kind": "cliff", "amount": 5}], [{"kind": "nan-layer", "amount": 2}]):
        tree.misbehave(*faults)
        done = start(tree, ["make", "diagnosis"], folder)
        assert done.returncode == 0
        assert "\n[verify] PASS\n" in done.stdout
        assert len(read(done.stdout).layers) == 8
    assert "| 2 | 0.000000 | 0.000000 | 0.000000 | nan |" in done.stdout
    tree.misbehave({"kind": "missing-layer", "amount": 3})
    told = read(start(tree, ["make", "diagnosis"], folder).stdout)
    assert [layer.index for layer in told.layers] == [0, 1, 2, 4, 5, 6, 7]


def test_the_tools_around_the_tree_answer(tree: Tree) -> None:
    report = start(tree, ["xrt-smi", "examine"], tree.root).stdout
    assert "NPU Strix" in report
    assert "Firmware" in report
    assert "Mode" in start(
        tree, ["xrt-smi", "examine", "-d", "0000:c5:00.1", "-r", "platform"], tree.root
    ).stdout  # fmt: skip
    assert start(tree, ["git", "rev-parse", "HEAD"], tree.root).stdout.strip()
    place = hardware.find_place(
        "npu2",
        Target(kind="hardware", lock=LockSpec(path=str(tree.lock)), harness_root=str(tree.root)),
        tree.environment,
    )
    assert place.peano == str(tree.peano)
