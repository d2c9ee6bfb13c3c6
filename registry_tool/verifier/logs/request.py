"""What a run is held to, and what speaks against it; the words that every check of a log shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from registry_tool.records.fields import Status
from registry_tool.records.verdict import Band


@dataclass(frozen=True)
class Request:
    """What was asked of the run; None where nobody said.

    ``elements`` are those of the outputs in order; outputs beyond the list are not held to a count.
    """

    elements: tuple[int, ...] | None = None
    outputs: int | None = None
    rtol: float | None = None
    atol: float | None = None
    target: str | None = None
    band: Band | None = None
    mode: Literal["harness", "diagnosis"] = "harness"
    layers: int | None = None

    @property
    def output_count(self) -> int | None:
        """How many outputs must be reported."""
        if self.outputs is not None:
            return self.outputs
        return len(self.elements) if self.elements and len(self.elements) > 1 else None


class Complaint(NamedTuple):
    """Why a run is no pass."""

    status: Status
    reason: str
