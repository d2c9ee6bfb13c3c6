"""One kernel call at one site, with the arithmetic of every dim; and the padding of GEMM widths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import UNSET

from registry_tool.models.options import Options
from registry_tool.models.size import Size, rounded_up
from registry_tool.records.fields import Precision
from registry_tool.records.model import Need, Phase


@dataclass(frozen=True)
class Call:
    """A need with its arithmetic; ``layers`` is how many layers have it, None for all of them."""

    phase: Phase
    site: str
    kernel: str
    dims: Mapping[str, Size]
    precision: Precision | None = None
    layers: int | None = None

    @property
    def need(self) -> Need:
        """The call as a model's file holds it."""
        return Need(
            phase=self.phase,
            site=self.site,
            kernel=self.kernel,
            precision=self.precision,
            shape={dim: size.value for dim, size in self.dims.items()},
            layers=UNSET if self.layers is None else self.layers,
        )


def gemm(
    phase: Phase,
    site: str,
    tokens: Size,
    width: Size,
    out: Size,
    options: Options,
    layers: int | None = None,
) -> Call:
    """``tokens`` rows of ``width`` times a weight that yields ``out``; widths padded as asked."""
    dims = {"M": tokens, "K": padded(width, "K", options), "N": padded(out, "N", options)}
    return Call(phase, site, "GEMM_bf16_in_bf16_out", dims, "high", layers)


def gemv(
    phase: Phase, site: str, width: Size, out: Size, options: Options, layers: int | None = None
) -> Call:
    """One row times the same weight; its padding is that of the GEMM."""
    dims = {"M": padded(out, "N", options), "K": padded(width, "K", options)}
    return Call(phase, site, "GEMV_bf16", dims, None, layers)


def padded(size: Size, dim: str, options: Options) -> Size:
    """``size`` up to the multiple that `--pad` gives for ``dim``."""
    multiple = options.pad.get(dim, 1)
    return rounded_up(size, multiple, f"--pad {dim}={multiple}")
