"""One row to be run: what, where, and by which command; nothing is started here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from registry_tool.records import kernel
from registry_tool.records.fields import Precision
from registry_tool.records.keys import RowId
from registry_tool.records.spec import KernelSpec, Target, Tolerance
from registry_tool.records.verdict import Band
from registry_tool.verifier.request import Request


@dataclass(frozen=True)
class Job:
    """A kernel x shape x variant at one tile and herd, and the command that runs it.

    ``recorded_command`` is the command as a verdict keeps it, without this machine's paths.
    """

    row: RowId
    spec: KernelSpec
    shape: Mapping[str, int]
    variant: str | None
    precision: Precision | None
    tile: Mapping[str, int]
    herd: tuple[int, ...]
    target: Target
    command: list[str]
    recorded_command: list[str]
    cwd: Path | None
    run_limit_s: float

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
        """What its run is held to."""
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
