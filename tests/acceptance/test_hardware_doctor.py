"""`doctor` beside a device and its tree: what is fine, what has gone, and nothing is started."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.standin.bench import Bench
from tests.standin.rows import ROWS

BY_KERNEL = {row.kernel: row for row in ROWS}
GELU, ADD = BY_KERNEL["GELU_bf16"], BY_KERNEL["EltwiseAdd_bf16"]


def examine(bench: Bench, *words: str) -> subprocess.CompletedProcess[str]:
    return bench.world.tool("doctor", "--target", "npu2", *words)


def complaints(out: str) -> list[str]:
    """The lines that are neither headings nor fine, but the last."""
    lines = [line for line in out.splitlines()[:-1] if line.startswith(" ")]
    return [line for line in lines if not line.lstrip().startswith("ok ")]


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_every_kernel_of_the_tree_is_found_whole_and_nothing_is_started(bench: Bench) -> None:
    done = examine(bench)
    assert done.returncode == 0, done.stdout + done.stderr
    for row in ROWS:
        assert f"npu2: {row.kernel}" in done.stdout
        mine = done.stdout.partition(f"npu2: {row.kernel}\n")[2].partition("\nnpu2: ")[0]
        assert complaints(mine + "\nend") == []
    for known in ("NPU Strix", "1.5.5.391", "Performance", "2.20.0_20250731"):
        assert known in done.stdout
    assert bench.tree.journal() == []
    assert bench.world.git("diff", "--name-only") == ""
    assert not list(bench.tree.root.rglob("build_*"))


@pytest.mark.parametrize(
    ("file", "before", "after", "named"),
    [
        ("gelu.py", '"--herd-shape"', '"--herd"', "--herd-shape"),
        ("gelu.py", '"--perf-iters"', '"--iterations"', "--perf-iters"),
        ("Makefile", "HERD_SHAPE", "HERD", "HERD_SHAPE"),
        ("Makefile", "\nrun:\n", "\nrun-it:\n", "run"),
    ],
)
def test_what_has_gone_is_named(
    bench: Bench, file: str, before: str, after: str, named: str
) -> None:
    edit(bench.tree.root / GELU.folder / file, before, after)
    done = examine(bench, "--kernel", GELU.kernel)
    assert any(named in line for line in complaints(done.stdout)), done.stdout
    assert bench.tree.journal() == []


def test_a_folder_that_has_gone_is_a_problem(bench: Bench) -> None:
    (bench.tree.root / ADD.folder).rename(bench.tree.root / "moved")
    done = examine(bench)
    assert done.returncode == 1
    assert any(ADD.folder in line for line in complaints(done.stdout))
    assert examine(bench, "--kernel", ADD.kernel).returncode == 1


def test_the_lock_of_the_harness_is_a_problem(bench: Bench) -> None:
    bench.configure(lock={"path": str(bench.tree.temporary / "npu.lock"), "limit_s": 5})
    done = examine(bench)
    assert done.returncode == 1
    assert any("npu.lock" in line for line in complaints(done.stdout))


def test_a_machine_without_device_or_compiler_is_told_so(bench: Bench) -> None:
    (bench.tree.tools / "xrt-smi").unlink()
    del bench.world.environment["PEANO_INSTALL_DIR"]
    done = examine(bench)
    assert done.returncode == 1
    lines = complaints(done.stdout)
    assert any("PEANO_INSTALL_DIR" in line for line in lines)
    assert any("xrt-smi" in line for line in lines)


def test_the_tree_that_is_nowhere_is_told_so(bench: Bench) -> None:
    bench.configure(harness_root=None)
    done = examine(bench)
    assert done.returncode == 1
    assert "harness_root" in done.stdout
