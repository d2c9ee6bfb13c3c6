"""Jobs whose harness is a shell script of the test's own."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from msgspec.structs import replace

from registry_tool.records import catalog
from registry_tool.records.keys import row_id
from registry_tool.records.spec import LockSpec, Target
from registry_tool.verifier.job import Commands, Job, Step

KERNEL = "GEMM_bf16_in_bf16_out"
SHAPE = {"M": 2048, "K": 1024, "N": 1024}
TILE = {"tile_m": 32, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128}


def target(folder: Path, kind: str = "emulated", limit_s: int = 5) -> Target:
    """A target whose lock is in ``folder``."""
    lock = LockSpec(path=str(folder / "npu.lock"), limit_s=limit_s)
    return Target(kind="hardware" if kind == "hardware" else "emulated", lock=lock)


def job(folder: Path, script: str, kind: str = "emulated", limit_s: int = 30) -> Job:
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
        target=replace(target(folder, kind), run_limit_s=limit_s),
        commands=Commands(Step(("sh", "-c", script), ("sh", "harness"), folder)),
    )


def printing(folder: Path, log: bytes, status: int = 0, err: bytes = b"", **options: str) -> Job:
    """A job whose harness prints ``log`` and ``err``, and exits with ``status``."""
    (folder / "said.out").write_bytes(log)
    (folder / "said.err").write_bytes(err)
    return job(folder, f"cat said.out; cat said.err >&2; exit {status}", **options)


def with_lock_limit(work: Job, limit_s: int) -> Job:
    """The same job, waiting at most ``limit_s`` for its lock."""
    lock = LockSpec(path=work.target.lock.path, limit_s=limit_s)
    return dataclasses.replace(work, target=replace(work.target, lock=lock))


def running(work: Job, command: tuple[str, ...]) -> Job:
    """The same job with another gated command."""
    step = Step(command, command, work.commands.correctness.cwd)
    return dataclasses.replace(work, commands=dataclasses.replace(work.commands, correctness=step))


def with_steps(
    work: Job,
    folder: Path,
    compiling: str | None = None,
    timing: str | None = None,
    build: tuple[Path, ...] = (),
    stateful: bool = False,
) -> Job:
    """The same job with a compile-only and a timing run, each a shell script."""

    def step(script: str | None) -> Step | None:
        return None if script is None else Step(("sh", "-c", script), ("sh", "it"), folder)

    commands = dataclasses.replace(
        work.commands,
        compile=step(compiling),
        timing=step(timing),
        build=build,
        stateful=stateful,
    )
    return dataclasses.replace(work, commands=commands)


def with_target(work: Job, **limits: int) -> Job:
    """The same job with other limits of its target."""
    return dataclasses.replace(work, target=replace(work.target, **limits))
