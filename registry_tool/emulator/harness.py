"""Runs one emulated case and speaks the harness dialect; the only printer of the emulator."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

from registry_tool.emulator import faults
from registry_tool.emulator.case import Case, EmulatorFunction
from registry_tool.emulator.compare import LISTED, Comparison, ComparisonResult
from registry_tool.emulator.faults import Fault

DEVICE = "npu2-emu"
EXIT_PASSED = 0
EXIT_FAILED = 255
EXIT_FAULT = 3

_GRANDCHILD_SLEEP_S = 600


def run_case(
    case: Case,
    fn: EmulatorFunction,
    rtol: float,
    atol: float,
    out: TextIO,
    fault: Fault | None = None,
) -> int:
    """Emulate ``case``, print the verdict lines to ``out``, and return the exit status.

    0 after ``PASS!``, 255 after ``failed.`` (and where there is nothing to judge). Faults that
    end the run early return their own status, without a verdict.
    """
    rtol, atol = faults.spoil_tolerances(fault, rtol, atol)
    blocks = fn(faults.spoil_case(fault, case))
    print(
        f"Emulated target {DEVICE}: numerics of the kernels in NumPy, not a device run.", file=out
    )
    print(f"Detected NPU device: {DEVICE}", file=out, flush=True)
    ended = _ended_early(fault, out)
    if ended is not None:
        return ended

    outputs: dict[int, _Output] = {}
    for block in faults.spoil_blocks(fault, case, blocks):
        seen = outputs.setdefault(block.output, _Output(Comparison(rtol, atol)))
        seen.comparison.add(block)
        seen.rows = max(seen.rows, block.row + len(block.out))
        seen.columns = block.out.shape[1]
    if not outputs:
        print("No outputs to validate.", file=out, flush=True)
        return EXIT_FAILED

    passed = True
    for index, seen in sorted(outputs.items()):
        result = seen.comparison.result()
        passed = passed and result.passed
        lines = _lines(index, result, seen.shape)
        if fault is not None and fault.name == "torn":
            print(lines[0][: len(lines[0]) // 2], end="", file=out, flush=True)
            return EXIT_PASSED
        print("\n".join(lines), file=out, flush=True)
    print("PASS!" if passed else "failed.", file=out, flush=True)
    return EXIT_PASSED if passed else EXIT_FAILED


@dataclass
class _Output:
    comparison: Comparison
    rows: int = field(default=0)
    columns: int = field(default=0)

    @property
    def shape(self) -> tuple[int, ...]:
        """As the output stands in memory: blocks of one column are a flat output."""
        return (self.rows,) if self.columns == 1 else (self.rows, self.columns)


def _ended_early(fault: Fault | None, out: TextIO) -> int | None:
    """The exit status of a fault that ends the run before any value is looked at."""
    if fault is None:
        return None
    if fault.name == "hang":
        while True:
            time.sleep(3600)
    if fault.name == "grandchild":
        out.flush()
        subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({_GRANDCHILD_SLEEP_S})"])
        return EXIT_PASSED
    return EXIT_FAULT if fault.name == "exit" else None


def _lines(index: int, result: ComparisonResult, shape: tuple[int, ...]) -> list[str]:
    """The precision line, the reference line, and what went wrong if anything did."""
    lines = [
        f"[precision] Output {index} ({result.elements} elements): "
        f"mean_rel_L1={result.mean_rel_L1:.3e} | rel_err max={result.max_rel:.3e} | "
        f"abs_err max={result.max_abs:.3e} | rtol={result.rtol:.1e} atol={result.atol:.1e}",
        f"[reference] Output {index}: zero_share={result.zero_share:.3e}",
    ]
    if result.passed:
        return lines
    share = 100.0 * result.mismatches / max(1, result.elements)
    lines += [
        f"ERROR: Output {index} does not meet expected output.",
        f"Shape: {shape}",
        f"Mismatches: {result.mismatches} / {result.elements} elements ({share:.2f}%)",
        f"First {len(result.first)} mismatched locations:",
    ]
    lines += [
        f"  Index {place.index}: expected={place.expected}, actual={place.actual}, "
        f"diff={place.difference}"
        for place in result.first
    ]
    if result.mismatches > LISTED:
        lines.append(f"  ... and {result.mismatches - LISTED} more mismatches")
    return lines
