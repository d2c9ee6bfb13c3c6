"""What a harness's log says, as data; nothing is read or judged here."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

Kind = Literal[
    # what speaks for a run
    "pass",
    "precision",
    "reference",
    "timing",
    "layer",
    # what speaks against it
    "failed",
    "other_fail",
    "mismatch",
    "bad_output",
    "device_timeout",
    "crash",
    "exception",
    "make_error",
    "torn",
    "fragment",
    "torn_layer",
    # what makes it something else than the run that was asked for
    "other_pass",
    "correlation",
    "sampled",
    "no_outputs",
    "compile_only",
    "device",
    "fallback",
    "emulated",
    "layers_claimed",
    # what explains a failure
    "repeat_count",
    "descriptors",
    "l2_capacity",
    "l1_capacity",
    "dispatch_state",
    "stride",
    "missing_module",
    "older_device",
    "peano",
    "lock_busy",
]


class Mark(Struct, frozen=True):
    """A line that says something: its text, its number (from 1), and its bytes [start, end)."""

    text: str
    line: int
    start: int
    end: int


class Passed(Struct, frozen=True):
    """``PASS!``, alone on its line."""


class Precision(Struct, frozen=True):
    """One precision line; figures may be NaN or infinite."""

    index: int
    elements: int
    mean_rel_L1: float
    max_rel: float
    max_abs: float
    rtol: float
    atol: float
    line: int

    @property
    def finite(self) -> bool:
        """Whether all three figures are numbers."""
        return (
            math.isfinite(self.mean_rel_L1)
            and math.isfinite(self.max_rel)
            and math.isfinite(self.max_abs)
        )


class Reference(Struct, frozen=True):
    """The share of an output's elements that zeros would fail."""

    index: int
    zero_share: float


class Timing(Struct, frozen=True):
    """One timing line, in our units; figures may be 0, NaN or infinite. ``printed`` is unscaled."""

    latency_us: float | None
    gflops: float | None
    gbps: float | None
    printed: float | None
    line: int


class Mismatch(Struct, frozen=True):
    """How many elements of an output differ, as the harness counted them."""

    count: int
    elements: int
    line: int


class Layer(Struct, frozen=True):
    """One row of a diagnosis table; figures may be NaN or infinite."""

    index: int
    cos_p5: float
    cos_min: float
    cos_median: float
    max_abs: float
    line: int


@dataclass
class LogFacts:
    """What a log says. ``size`` and all offsets count bytes of the log as UTF-8."""

    size: int = 0
    lines: int = 0
    encoding: str = "utf-8"
    outputs: list[Precision] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    mismatches: list[Mismatch] = field(default_factory=list)
    zero_shares: dict[int, float] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    layers_claimed: int | None = None
    marks: dict[Kind, list[Mark]] = field(default_factory=dict)
    tail: str = ""

    def first(self, *kinds: Kind) -> Mark | None:
        """The first mark of the first of ``kinds`` that has one."""
        for kind in kinds:
            if kind in self.marks:
                return self.marks[kind][0]
        return None

    def has(self, *kinds: Kind) -> bool:
        """Whether there is a mark of any of ``kinds``."""
        return self.first(*kinds) is not None

    def spans(self) -> list[tuple[int, int]]:
        """The bytes of every mark, in the order of the log, without overlap."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted((m.start, m.end) for ms in self.marks.values() for m in ms):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged
