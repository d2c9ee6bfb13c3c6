"""Matrix products that stay in the calling thread, for work that runs on threads of our own."""

from __future__ import annotations

import numpy as np

from registry_tool.emulator.numerics import F32

TILE = 64
"""OpenBLAS runs a product of 64 x 64 x 64 in the calling thread; one size up it wakes threads
of its own, which fight with ours (attention of 2048 keys and 32 heads: 20 s instead of 3 s)."""


def small_matmul(a: F32, b: F32, out: F32) -> None:
    """``out = a @ b`` for a reduction of at most 64, tile by tile where the sizes allow it."""
    (height, depth), width = a.shape, b.shape[1]
    if height % TILE or width % TILE or depth > TILE:
        np.matmul(a, b, out=out)
        return
    np.matmul(
        a.reshape(height // TILE, 1, TILE, depth),
        b.reshape(depth, width // TILE, TILE).swapaxes(0, 1),
        out=out.reshape(height // TILE, TILE, width // TILE, TILE).swapaxes(1, 2),
    )


def matmul(a: F32, b: F32, out: F32) -> None:
    """``out = a @ b``, by 64 of the reduction at a time."""
    small_matmul(a[:, :TILE], b[:TILE], out)
    spare = np.empty_like(out) if len(b) > TILE else out
    for start in range(TILE, len(b), TILE):
        part = slice(start, start + TILE)
        small_matmul(a[:, part], b[part], spare)
        np.add(out, spare, out=out)
