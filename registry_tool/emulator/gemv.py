"""GEMV on the vector unit: a plain f32 dot product per row, so nearly exact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from registry_tool.emulator import draws, numerics, streams
from registry_tool.emulator.case import F32, Block, Case
from registry_tool.emulator.numerics import round_rne
from registry_tool.emulator.shapes import kept, require, sizes

SEED = 42
ROWS = 256
LANES = 64
"""Width of the accumulator: lane i sums every 64th product."""


def gemv(case: Case) -> Iterator[Block]:
    """c = A @ x with bf16 out, a flat output of M values.

    Draws (S, harness source): ``np.random.seed(42)``; A = 4 randn(M, K), then x = 4 randn(K),
    cast to bf16. Reference: f32 dot, cast. Datapath (S, kernel source): 64 f32 lanes, added
    pairwise by halves, one cast to nearest even.
    """
    m, k = sizes(case, "M", "K")
    require(case, k % LANES == 0, f"needs K to be a multiple of {LANES}, got {k}")
    return _blocks(m, k, kept(case, k))


def _blocks(m: int, k: int, used_k: int) -> Iterator[Block]:
    normals, scale = draws.legacy(SEED), draws.times(4.0)
    a = draws.packed(normals, (m, k), scale)  # x comes last in the stream, so A has to be kept
    x = draws.bf16(normals, (k,), scale)
    x_used = np.where(np.arange(k) < used_k, x, np.float32(0.0))

    def work(rows: tuple[int, int]) -> Block:
        part = numerics.unpack(a[slice(*rows)])
        return Block(
            out=round_rne(_lane_sums(part, x_used)).reshape(-1, 1),
            ref=round_rne(np.dot(part, x)).reshape(-1, 1),
            row=rows[0],
        )

    yield from streams.mapped(work, draws.spans(m, ROWS))


def _lane_sums(a: F32, x: F32) -> F32:
    lanes = np.zeros((len(a), LANES), np.float32)
    product = np.empty_like(lanes)
    for start in range(0, len(x), LANES):
        part = slice(start, start + LANES)
        np.multiply(a[:, part], x[part], out=product)
        np.add(lanes, product, out=lanes)
    width = LANES
    while width > 1:
        width //= 2
        lanes = lanes[:, :width] + lanes[:, width:]
    total: F32 = lanes[:, 0].copy()
    return total
