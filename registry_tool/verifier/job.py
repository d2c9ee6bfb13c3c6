"""One row to be run: what, where, and by which commands; nothing is started here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from registry_tool.records import kernel
from registry_tool.records.fields import Precision
from registry_tool.records.keys import RowId
from registry_tool.records.spec import KernelSpec, Target, Tolerance
from registry_tool.records.verdict import Band
from registry_tool.verifier.logs.request import Request


@dataclass(frozen=True)
class Step:
    """One start of a program: as it is run, and as a verdict keeps it, without local paths."""

    command: tuple[str, ...]
    recorded: tuple[str, ...]
    cwd: Path


@dataclass(frozen=True)
class Commands:
    """All that one verdict needs to run.

    ``build`` are folders to be made anew, ``compile`` needs no device, ``timing`` is repeated; if
    ``stateful``, it spoils the outputs, and what it prints of them means nothing.
    """

    correctness: Step
    build: tuple[Path, ...] = ()
    compile: Step | None = None
    timing: Step | None = None
    stateful: bool = False


@dataclass(frozen=True)
class Job:
    """A kernel x shape x variant at one tile and herd, and the commands that run it."""

    row: RowId
    spec: KernelSpec
    shape: Mapping[str, int]
    variant: str | None
    precision: Precision | None
    tile: Mapping[str, int]
    herd: tuple[int, ...]
    target: Target
    commands: Commands

    @property
    def is_hardware(self) -> bool:
        """Whether a device runs it: one that can fail, and be asked again."""
        return self.target.kind == "hardware"

    @property
    def tolerance(self) -> Tolerance:
        """The element-wise gate of its tier."""
        return kernel.tolerance(self.spec, self.precision)

    @property
    def band(self) -> Band | None:
        """The plausible range of mean_rel_L1, or None."""
        return kernel.band(self.spec, self.shape, self.variant, self.tile, self.herd)

    @property
    def request(self) -> Request:
        """What its gated run is held to."""
        elements = tuple(kernel.output_elements(self.spec, self.shape))
        tolerance = self.tolerance
        return Request(
            elements=elements,
            outputs=len(elements),
            rtol=tolerance.rtol,
            atol=tolerance.atol,
            target=self.row.target,
            band=self.band,
        )

    def without_compile(self) -> Job:
        """The same for a harness without a compile-only mode."""
        return replace(self, commands=replace(self.commands, compile=None))

    def only_gated(self) -> Job:
        """The same without compile-only and timing runs: the quickest way to ask the device."""
        return replace(self, commands=replace(self.commands, compile=None, timing=None))
