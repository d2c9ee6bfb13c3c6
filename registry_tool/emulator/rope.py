"""RoPE in the half-split form: a rotation of (x[i], x[i + head_dim/2]) per row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from registry_tool.emulator import draws, streams
from registry_tool.emulator.case import F32, Block, Case
from registry_tool.emulator.numerics import round_floor, round_rne
from registry_tool.emulator.shapes import require, sizes, without_reduction

SEED = 0
THETA = 500_000.0
PART = 1 << 16
"""Values worked on at once."""


def half_split(case: Case) -> Iterator[Block]:
    """y1 = x1 cos - x2 sin, y2 = x1 sin + x2 cos, bf16 out of (rows, head_dim).

    Draws (S, harness source): ``default_rng(0)``, f32: x (rows, head_dim), cast to bf16; a table
    of cos and sin of row * theta^(-2i/head_dim), theta 5e5, in float64, cast. Reference: f32,
    cast. Datapath: f32 products and sum, one floor (F: recorded 2.4, 2.7 and 2.8e-3).
    """
    rows, head_dim = sizes(case, "rows", "head_dim")
    require(case, head_dim % 2 == 0, f"needs an even head_dim, got {head_dim}")
    without_reduction(case)
    normals = draws.generator_f32(SEED)
    parts = (
        (start, draws.bf16(normals, (stop - start, head_dim)))
        for start, stop in draws.spans(rows, max(1, PART // head_dim))
    )
    return streams.mapped(_rotated, parts)


def _rotated(part: tuple[int, F32]) -> Block:
    start, x = part
    half = x.shape[1] // 2
    frequencies = 1.0 / THETA ** (2.0 * np.arange(half) / x.shape[1])
    angles = np.outer(np.arange(start, start + len(x), dtype=np.float64), frequencies)
    cos = round_rne(np.cos(angles).astype(np.float32))
    sin = round_rne(np.sin(angles).astype(np.float32))
    x1, x2 = x[:, :half], x[:, half:]
    y = np.concatenate((x1 * cos - x2 * sin, x1 * sin + x2 * cos), axis=1)
    return Block(out=round_floor(y), ref=round_rne(y), row=start)
