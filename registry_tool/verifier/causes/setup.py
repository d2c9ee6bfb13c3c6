"""What was run, as far as it is known; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from registry_tool.records.spec import KernelSpec

Step = Literal["compile", "run", "timing"]


@dataclass(frozen=True)
class Setup:
    """A kernel's spec, a shape, and how it was tried: an empty tile or herd is not known.

    ``step`` is the start that failed: ``compile`` is a compile-only one.
    """

    spec: KernelSpec
    shape: Mapping[str, int]
    variant: str | None = None
    tile: Mapping[str, int] = field(default_factory=dict)
    herd: tuple[int, ...] = ()
    step: Step | None = None

    @property
    def is_whole(self) -> bool:
        """Whether tile and herd are known, so that constraints can be tried."""
        return set(self.tile) == set(self.spec.tile) and len(self.herd) == len(self.spec.herd)

    @property
    def chosen(self) -> dict[str, int]:
        """Every knob and herd axis that is known, with its value."""
        return {**self.tile, **dict(zip(self.spec.herd, self.herd, strict=False))}
