"""Jobs whose harness is a shell script of the test's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from registry_tool.records import catalog
from registry_tool.records.keys import row_id
from registry_tool.records.spec import LockSpec, Target
from registry_tool.verifier.job import Job

KERNEL = "GEMM_bf16_in_bf16_out"
SHAPE = {"M": 2048, "K": 1024, "N": 1024}
TILE = {"tile_m": 32, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128}


def target(folder: Path, kind: str = "emulated", limit_s: int = 5) -> Target:
    """A target whose lock is in ``folder``."""
    lock = LockSpec(path=str(folder / "npu.lock"), limit_s=limit_s)
    return Target(kind="hardware" if kind == "hardware" else "emulated", lock=lock)


def job(folder: Path, script: str, kind: str = "emulated", limit_s: float = 30) -> Job:
    """A GEMM row of 2048x1024x1024 on drain, run by ``script``."""
    spec = catalog.built_in()[KERNEL]
    name = "npu2" if kind == "hardware" else "npu2-emu"
    return Job(
        row=row_id(name, KERNEL, spec.dims, SHAPE, "drain"),
        spec=spec,
        shape=SHAPE,
        variant="drain",
        precision="high",
        tile=TILE,
        herd=(8, 4),
        target=target(folder, kind),
        command=["sh", "-c", script],
        recorded_command=["sh", "harness"],
        cwd=folder,
        run_limit_s=limit_s,
    )


def printing(folder: Path, log: bytes, status: int = 0, err: bytes = b"", **options: str) -> Job:
    """A job whose harness prints ``log`` and ``err``, and exits with ``status``."""
    (folder / "said.out").write_bytes(log)
    (folder / "said.err").write_bytes(err)
    return job(folder, f"cat said.out; cat said.err >&2; exit {status}", **options)


def with_lock_limit(work: Job, limit_s: int) -> Job:
    """The same job, waiting at most ``limit_s`` for its lock."""
    lock = LockSpec(path=work.target.lock.path, limit_s=limit_s)
    return replace(work, target=Target(kind=work.target.kind, lock=lock))
