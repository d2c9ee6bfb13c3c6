"""What one emulated run is asked to do, and the blocks it answers with; no file, no printing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]


@dataclass(frozen=True)
class Case:
    """One kernel x shape x variant, with the tile and herd it runs at.

    ``shape`` maps dimension names to sizes (elements); ``tile`` maps knobs to sizes;
    ``dropped_k`` is the injected fraction of the reduction that the run leaves out (0 = none).
    """

    kernel: str
    shape: Mapping[str, int]
    variant: str | None = None
    tile: Mapping[str, int] = field(default_factory=dict)
    herd: tuple[int, ...] = ()
    dropped_k: float = 0.0


@dataclass(frozen=True)
class Block:
    """A run of consecutive output rows with their reference, both float32 of shape (rows, cols).

    bf16 outputs are handed over as the float32 values they stand for. ``output`` is the index
    of the output buffer, ``row`` the first row of the block in it.
    """

    out: F32
    ref: F32
    output: int = 0
    row: int = 0


EmulatorFunction = Callable[[Case], Iterator[Block]]
