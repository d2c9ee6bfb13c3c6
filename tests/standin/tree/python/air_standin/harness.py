"""One start of a stand-in harness: compile, then the device, with the faults that are due."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from air_standin import device, ledger, numerics
from air_standin.faults import COMPILE_ERRORS, Fault, due

FOR_EVER_S = 3600.0
DRIVER_TIMEOUT_US = 6144000.0


@dataclass(frozen=True)
class Kernel:
    """What a script builds and runs.

    ``flops`` and ``moved`` (bytes) are the work of one call; ``throughput`` says whether the
    script prints it beside the latency. ``objects`` are compiled micro-kernels that must lie in
    the build folder, with the defines they must have been compiled with. ``compares_timed`` says
    whether a timed run compares the outputs as well; one that does not prints its times otherwise.
    """

    name: str
    shape: Mapping[str, int]
    herd: Sequence[int]
    tile: Mapping[str, int] = field(default_factory=dict)
    variant: str | None = None
    flops: float | None = None
    moved: float | None = None
    throughput: bool = False
    objects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    compares_timed: bool = True
    spoilt: str | None = None
    """A fault of the emulation that the flags themselves bring about."""


def object_of(path: Path) -> dict[str, int] | None:
    """The defines that the stand-in compiler left in an object file, or None without one."""
    if not path.is_file():
        return None
    return {name: int(value) for name, value in json.loads(path.read_bytes())["defines"].items()}


def run(args: argparse.Namespace, kernel: Kernel) -> int:
    """Compile and run ``kernel`` as ``args`` say; the exit status of the script."""
    step = _step(args)
    start = ledger.new_start(ledger.folder_of(Path(sys.argv[0])), step)
    faults = due(start, kernel.shape)
    ledger.note("start", start, shape=dict(kernel.shape), **ledger.describe(sys.argv))
    try:
        status = _run(kernel, start, faults)
    except BaseException as error:
        ledger.note("end", start, ended_by=type(error).__name__)
        raise
    ledger.note("end", start, status=status)
    return status


def _step(args: argparse.Namespace) -> str:
    mode = getattr(args, "compile_mode", "compile-and-run")
    if getattr(args, "compile_only", False) or mode in ("compile-only", "compile-and-xclbin"):
        return "compile"
    return "timing" if mode == "profile" or getattr(args, "perf_iters", 0) else "run"


def _run(kernel: Kernel, start: ledger.Start, faults: Sequence[Fault]) -> int:
    kinds = {fault.kind: fault for fault in faults}
    if "no-device" in kinds:
        _say(
            "WARNING: could not detect the NPU generation (could not run xrt-smi); falling back "
            "to 'npu1'. If that is not this machine's NPU, results are wrong."
        )
    else:
        _say(f"Detected NPU device: {'npu1' if 'wrong-device' in kinds else 'npu2'}")
    stale = _compile(kernel, kinds)
    if start.step == "compile":
        print("Compile-only done.")
        return 0
    if "busy" in kinds:  # flock(1) around an inner command gives up without a word
        return 1
    with device.own_lock():
        ledger.note("device", start, outer_lock=ledger.outer_lock())
        _dispatch(faults)
        spoilt = _spoilt(kinds, kernel, stale)
        lines, status = numerics.verdict_lines(
            kernel.name, kernel.shape, kernel.variant, kernel.tile, kernel.herd, spoilt
        )
        if start.step == "timing":
            _dispatch(faults)
            compares = kernel.compares_timed and "cpp-timing" not in kinds
            lines = [*_latency_lines(kernel, start, kinds), *(lines if compares else [])]
            status = status if compares else 0
        status = _tell(lines, status, kinds)
        ledger.note("device-end", start)
    return status


def _say(text: str) -> None:
    # What was said before a hang must be there to be read.
    print(text, flush=True)


def _compile(kernel: Kernel, kinds: Mapping[str, Fault]) -> bool:
    """Build in the working folder; True if it holds what was built for something else."""
    if "compile-hang" in kinds:
        time.sleep(FOR_EVER_S)
    if "compile-killed" in kinds:
        os.kill(os.getpid(), signal.SIGKILL)
    if "compile-error" in kinds:
        text = kinds["compile-error"].text or "push-queue"
        _compile_error(COMPILE_ERRORS.get(text, text))
    for name, defines in kernel.objects.items():
        found = object_of(Path(name))
        if found is None:
            _compile_error(f"ld.lld: error: cannot open {name}: No such file or directory")
        if any(found.get(define) != value for define, value in defines.items()):
            return True
    built = Path("air_project/built.json")
    wanted = {
        "kernel": kernel.name,
        "shape": dict(kernel.shape),
        "variant": kernel.variant,
        "tile": dict(kernel.tile),
        "herd": list(kernel.herd),
    }
    if built.is_file() and json.loads(built.read_bytes()) != wanted:
        return True
    built.parent.mkdir(exist_ok=True)
    built.write_text(json.dumps(wanted), encoding="utf-8")
    return False


def _compile_error(text: str) -> NoReturn:
    if text.startswith("AssertionError"):
        sys.stderr.write(f"Traceback (most recent call last):\n{text}\n")
    else:
        sys.stderr.write(
            "Traceback (most recent call last):\n"
            f'  File "{sys.argv[0]}", line 318, in <module>\n    exit(\n'
            f"air.backend.abc.AirBackendError: aircc compilation failed:\n{text}\n"
            "Error: pass pipeline failed\n"
        )
    raise SystemExit(1)


def _dispatch(faults: Sequence[Fault]) -> None:
    """Give the device its next work; faults of the device end the script here."""
    number = ledger.next_dispatch()
    kinds = {
        fault.kind: fault
        for fault in faults
        if fault.dispatches is None or number in fault.dispatches
    }
    if "timeout" in kinds:
        sys.stderr.write(
            "Traceback (most recent call last):\n"
            '  File "xrt.py", line 218, in _check_run_state\n'
            "air.backend.abc.AirBackendError: NPU kernel run did not complete: "
            "ert_cmd_state.ERT_CMD_STATE_TIMEOUT\n"
        )
        raise SystemExit(1)
    if "aborted" in kinds:
        sys.stderr.write(
            "terminate called after throwing an instance of 'xrt_core::system_error'\n"
            "  what():  qds_device::wait() unexpected command state\n"
        )
        raise SystemExit(134)
    if "hang" in kinds:
        time.sleep(kinds["hang"].amount or FOR_EVER_S)
    if "grandchild" in kinds:
        subprocess.Popen(
            [sys.executable, "-c", f"import time; time.sleep({FOR_EVER_S})"],
            # With a text the child leaves the group too, as a daemon would.
            start_new_session=kinds["grandchild"].text == "detached",
        )
    if "killed" in kinds:
        os.kill(os.getpid(), int(kinds["killed"].amount or signal.SIGKILL))


def _spoilt(kinds: Mapping[str, Fault], kernel: Kernel, stale: bool) -> str | None:
    """The fault that the emulation is given: by the faults file, by stale objects, by flags."""
    names = {
        "nan": "nan", "nan-pass": "nan", "inf": "inf", "zeros": "zeros", "slow": "unwritten=0.5",
        "wrong": "unwritten=0.25", "exit-zero": "unwritten=0.25", "loose": "loose-tolerance",
    }  # fmt: skip
    for kind, name in names.items():
        if kind in kinds:
            return name
    return "unwritten=0.7" if stale else kernel.spoilt


def _latency_lines(kernel: Kernel, start: ledger.Start, kinds: Mapping[str, Fault]) -> list[str]:
    latency = device.latency_us(kernel.flops, kernel.moved, start.of_step)
    if "slow" in kinds:
        latency = DRIVER_TIMEOUT_US
    if "zero-latency" in kinds:
        latency = 0.0
    rate = kernel.flops / latency / 1e3 if kernel.flops is not None and latency else 0.0
    if "cpp-timing" in kinds:  # as the C++ programs of some `make profile` print it
        in_ms = kinds["cpp-timing"].text == "ms"
        mean = f"{latency / 1e3:.4f}ms" if in_ms else f"{latency:.1f}us"
        return [
            "",
            f"Avg NPU time: {mean}.",
            "",
            f"Min NPU time: {latency * 0.98:.0f}us.",
            f"Max NPU time: {latency * 1.4:.0f}us.",
        ]
    if not kernel.compares_timed:
        return [
            f"  Avg latency: {latency:.1f} us  ({rate:.1f} GFLOPS)",
            f"  Min latency: {latency * 0.98:.1f} us  ({rate / 0.98:.1f} GFLOPS)",
        ]
    line = f"Latency (us): {latency:.1f}"
    return [f"{line} | Throughput: {rate:.6e} GFLOP/s" if kernel.throughput and rate else line]


def _tell(lines: Sequence[str], status: int, kinds: Mapping[str, Fault]) -> int:
    """Print the verdict lines as the faults leave them; the exit status."""
    if "no-words" in kinds:
        return 0
    if "no-outputs" in kinds:
        _say("No outputs to validate.")
        return 0
    if "flood" in kinds:
        line = "warning: unused variable 'c0' in air_project/aie.air.mlir\n" * 1000
        for _ in range(int((kinds["flood"].amount or 1) * 1e6 / len(line)) + 1):
            sys.stdout.write(line)
    if "torn" in kinds and lines[0].startswith("[precision]"):
        sys.stdout.write(lines[0][: len(lines[0]) // 2])
        return 0
    if "sampled" in kinds:
        lines = [line.replace(_count(line), "(100 elements)") for line in lines]
    if "silent-pass" in kinds:
        lines = [line for line in lines if not line.startswith("[precision]")]
    if "nan-pass" in kinds:
        lines = [*(line for line in lines if line.startswith("[precision]")), "PASS!"]
        status = 0
    if "noise" in kinds:
        sys.stdout.flush()
        sys.stdout.buffer.write(b"\x1b[32mbuilding\x1b[0m \xff\xfe\x00\r 10%\r100%\r\n")
        sys.stdout.buffer.flush()
        sys.stderr.write("[XRT] WARNING: the device was busy\n")
    for line in lines:
        print(line)
    return 0 if "exit-zero" in kinds else status


def _count(line: str) -> str:
    """The element count of a precision line, with its brackets; empty brackets if it has none."""
    head, found, rest = line.partition(" elements)")
    return f"({head.rpartition('(')[2]}{found}" if found and rest else "\0"
