"""RMSNorm and LayerNorm: f32 reductions, then a bf16 epilogue that floors at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from registry_tool.emulator import draws, numerics, streams
from registry_tool.emulator.case import F32, Block, Case
from registry_tool.emulator.numerics import round_floor, round_rne
from registry_tool.emulator.shapes import kept, sizes

SEED = 0
EPSILON = np.float32(1e-5)
ROWS = 64

Rows = Callable[[F32], F32]


def rms_norm(case: Case) -> Iterator[Block]:
    """y = x / sqrt(mean(x^2) + eps) * w per row, bf16 out, eps 1e-5.

    Draws (S, harness source): ``np.random.seed(0)``; x = randn(M, N), then w = randn(N), cast to
    bf16. Reference: f32, cast. Datapath (F, eight recorded rows): unrounded x^2 summed in f32;
    1/sqrt to bf16 by floor; x times it, floor; times w, floor.
    """
    m, n = sizes(case, "M", "N")
    used = kept(case, n)

    def prepare(normals: draws.Normals) -> tuple[Rows, Rows]:
        w = draws.bf16(normals, (n,))
        return lambda x: _rms_out(x, w, used), lambda x: x / np.sqrt(_mean_square(x) + EPSILON) * w

    return _blocks(m, n, prepare)


def layer_norm(case: Case) -> Iterator[Block]:
    """y = (x - mean) / sqrt(var + eps) * w + b per row, bf16 out, eps 1e-5.

    Draws (S): ``np.random.seed(0)``; x = randn(M, N), w = randn(N), b = randn(N), cast to bf16.
    Reference: f32, cast. Datapath (F, one recorded row): as RMSNorm, with the mean and the
    difference to it floored; the product with w goes into the bias add unrounded, then floor.
    """
    m, n = sizes(case, "M", "N")
    used = kept(case, n)

    def prepare(normals: draws.Normals) -> tuple[Rows, Rows]:
        w, b = draws.bf16(normals, (n,)), draws.bf16(normals, (n,))
        return lambda x: _layer_out(x, w, b, used), lambda x: _layer_ref(x, w, b)

    return _blocks(m, n, prepare)


def _blocks(
    m: int, n: int, prepare: Callable[[draws.Normals], tuple[Rows, Rows]]
) -> Iterator[Block]:
    normals = draws.legacy(SEED)
    x = draws.packed(normals, (m, n))  # the weights come last in the stream
    out_of, ref_of = prepare(normals)

    def work(rows: tuple[int, int]) -> Block:
        part = numerics.unpack(x[slice(*rows)])
        return Block(out=out_of(part), ref=round_rne(ref_of(part)), row=rows[0])

    yield from streams.mapped(work, draws.spans(m, ROWS))


def _mean_square(x: F32) -> F32:
    mean: F32 = np.mean(x * x, axis=1, keepdims=True, dtype=np.float32)
    return mean


def _rstd(x: F32, used: int) -> F32:
    """1/sqrt of the mean square over the row, of which the first ``used`` values were added up."""
    seen = x[:, :used]
    total = np.sum(seen * seen, axis=1, keepdims=True, dtype=np.float32)
    return round_floor(np.float32(1.0) / np.sqrt(total / np.float32(x.shape[1]) + EPSILON))


def _rms_out(x: F32, w: F32, used: int) -> F32:
    return round_floor(round_floor(x * _rstd(x, used)) * w)


def _layer_out(x: F32, w: F32, b: F32, used: int) -> F32:
    total = np.sum(x[:, :used], axis=1, keepdims=True, dtype=np.float32)
    difference = round_floor(x - round_floor(total / np.float32(x.shape[1])))
    return round_floor(round_floor(difference * _rstd(difference, used)) * w + b)


def _layer_ref(x: F32, w: F32, b: F32) -> F32:
    difference = x - np.mean(x, axis=1, keepdims=True, dtype=np.float32)
    y: F32 = difference / np.sqrt(_mean_square(difference) + EPSILON) * w + b
    return y
