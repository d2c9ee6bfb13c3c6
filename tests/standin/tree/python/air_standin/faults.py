"""Which misbehaviour is due at this start, from the faults file; nothing is spoilt here.

The file holds ``{"faults": [{"kind": ..., ...}]}``. A fault is due where all that it names holds:
``folder`` (default any), ``step`` (compile, run, timing), ``starts`` (numbers, from 1, counted
for what ``folder`` and ``step`` name), ``dispatches`` (numbers over the whole tree), ``shape``
(dims that the run must have). ``amount`` and ``text`` go to the kinds that take one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from air_standin import ledger

COMPILING = frozenset({"compile-error", "compile-hang", "compile-killed"})
ON_DEVICE = frozenset(
    {
        "timeout", "slow", "hang", "grandchild", "killed", "aborted", "exit-zero", "no-words",
        "nan", "inf", "zeros", "wrong", "loose", "nan-pass", "torn", "wrong-device", "no-device",
        "no-outputs", "noise", "flood", "zero-latency", "sampled", "silent-pass", "busy",
        "cpp-timing",
    }
)  # fmt: skip
DIAGNOSIS = frozenset({"cliff", "missing-layer", "nan-layer", "fewer-layers", "report-only"})
KINDS = COMPILING | ON_DEVICE | DIAGNOSIS

COMPILE_ERRORS = {
    "push-queue": "air_project/npu.air.mlir:912:7: error: 'aiex.npu.push_queue' op Repeat count "
    "exceeds [0:255] range.",
    "descriptors": "air_project/npu.air.mlir:211:9: error: 'aiex.dma_configure_task' op Allocator "
    "exhausted available buffer descriptor IDs.",
    "stride": "air_project/aie.air.mlir:3310:9: error: 'aie.dma_bd' op Stride 2818048 exceeds the "
    "[1:1048576] range.",
    "l2": "AssertionError: L2 capacity exceeded: A=1048576B + C=256B = 1048832B > 524288B. Reduce "
    "herd_m (8), tile_m (8), or k (8192).",
}


@dataclass(frozen=True)
class Fault:
    """One line of the faults file."""

    kind: str
    folder: str = "*"
    step: str | None = None
    starts: tuple[int, ...] | None = None
    dispatches: tuple[int, ...] | None = None
    shape: Mapping[str, int] = field(default_factory=dict)
    amount: float | None = None
    text: str | None = None

    def is_due(self, start: ledger.Start, shape: Mapping[str, int]) -> bool:
        """Whether it is due at this start, as far as that can be told before a dispatch."""
        if self.folder not in ("*", start.folder) or self.step not in (None, start.step):
            return False
        if any(shape.get(dim) != size for dim, size in self.shape.items()):
            return False
        return self.starts is None or self._number(start) in self.starts

    def _number(self, start: ledger.Start) -> int:
        if self.folder == "*":
            return start.of_tree if self.step is None else start.of_tree_step
        return start.of_folder if self.step is None else start.of_step


def due(start: ledger.Start, shape: Mapping[str, int]) -> list[Fault]:
    """The faults of this start, in the file's order."""
    path = Path(os.environ.get("STANDIN_FAULTS") or ledger.HOME / "faults.json")
    if not path.is_file():
        return []
    listed = [_fault(entry) for entry in json.loads(path.read_bytes())["faults"]]
    return [fault for fault in listed if fault.is_due(start, shape)]


def _fault(entry: Mapping[str, object]) -> Fault:
    lists = {name: tuple(value) for name, value in entry.items() if isinstance(value, list)}
    fault = Fault(**{**entry, **lists})  # type: ignore[arg-type]
    if fault.kind not in KINDS:
        raise SystemExit(f"no fault is called {fault.kind}: {sorted(KINDS)}")
    return fault
