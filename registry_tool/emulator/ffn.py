"""The gate and up half of a SwiGLU feed-forward block, fused: SiLU(x W_gate) * (x W_up)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from registry_tool.emulator import draws, numerics, products, streams
from registry_tool.emulator.case import F32, Block, Case
from registry_tool.emulator.gemm import panel_depth
from registry_tool.emulator.numerics import BFP_BLOCK, U16, rne_in_place, round_rne
from registry_tool.emulator.shapes import kept, require, sizes

SEED = 42
SCALE = 0.5
ROWS = 512
"""Output rows worked on, and handed over, at once."""
COLUMNS = 256
"""Output columns that one thread works on at once: its sums stay near the core."""
TILE_K_L1 = 32
"""The reduction between two roundings of the sums, where the tile does not say (S: Makefile)."""

_HALF = np.float32(0.5)
_ONE = np.float32(1.0)


def swiglu(case: Case) -> Iterator[Block]:
    """out = SiLU(x @ W_gate) * (x @ W_up): x (M, K), both weights (K, N), out (M, N), all bf16.

    Draws (S, harness source): ``np.random.seed(42)``; x, then W_gate, then W_up, each 0.5 randn,
    cast to bf16. Reference (S): gate 0.5 (tanh(gate / 2) + 1) up in f32, cast.

    Datapath, from the kernel's source unless said: both products on BFP16 operands, their sums
    kept as bf16 and rounded to nearest even after every ``tile_k_l1`` of K; h = gate / 2;
    t = tanh(h) (*calibrated*); s = rne(1 + t) / 2; rne(rne(gate s) up). The product sets
    the rounding mode of its core and nothing sets it back, so the activation is taken to round
    to nearest even as well, unlike SiLU_Mul on its own (F would need a recorded figure: none is).
    """
    m, k, n = sizes(case, "M", "K", "N")
    depth = case.tile.get("tile_k_l1", TILE_K_L1)
    require(
        case,
        depth >= BFP_BLOCK and depth % BFP_BLOCK == 0,
        f"needs tile_k_l1 to be a multiple of {BFP_BLOCK}, got {depth}",
    )
    return _blocks(m, k, n, depth, kept(case, k))


def _blocks(m: int, k: int, n: int, depth: int, used_k: int) -> Iterator[Block]:
    normals, scale = draws.legacy(SEED), draws.times(SCALE)
    x = draws.packed(normals, (m, k), scale)
    gate = draws.packed(normals, (k, n), scale)
    up = draws.packed(normals, (k, n), scale)
    for start, stop in draws.spans(m, ROWS):
        rows = numerics.unpack(x[start:stop])
        ref = _silu_ref(_product(rows, gate)) * _product(rows, up)
        used = numerics.bfp16_across(np.ascontiguousarray(rows[:, :used_k]))
        out = _out(used, gate[:used_k], up[:used_k], depth)
        yield Block(out=out, ref=round_rne(ref, ref), row=start)


def _product(rows: F32, weights: U16) -> F32:
    """Rows (m, K) times packed weights (K, n) in f32: the reference."""
    total = np.zeros((len(rows), weights.shape[1]), np.float32)
    for start, stop in draws.spans(len(weights), panel_depth(weights.shape[1])):
        total += np.matmul(rows[:, start:stop], numerics.unpack(weights[start:stop]))
    return total


def _silu_ref(gate: F32) -> F32:
    y: F32 = gate * _HALF * (np.tanh(gate * _HALF) + _ONE)
    return y


def _out(rows: F32, gate: U16, up: U16, depth: int) -> F32:
    """What the block writes for BFP16 ``rows`` (m, K)."""
    out = np.empty((len(rows), gate.shape[1]), np.float32)

    def work(span: tuple[int, int]) -> None:
        columns = slice(*span)
        sums = [_rounded_product(rows, packed[:, columns], depth) for packed in (gate, up)]
        out[:, columns] = _silu_mul_out(*sums)

    for _ in streams.mapped(work, draws.spans(gate.shape[1], COLUMNS)):
        pass
    return out


def _rounded_product(rows: F32, weights: U16, depth: int) -> F32:
    """BFP16 rows (m, K) times weights (K, n), the sums rounded to bf16 after each ``depth``."""
    b = numerics.bfp16_down(numerics.unpack(np.ascontiguousarray(weights)))
    total = np.zeros((len(rows), b.shape[1]), np.float32)
    for start, stop in draws.spans(len(rows), COLUMNS):
        sums = total[start:stop]
        part, spare = np.empty_like(sums), np.empty_like(sums)
        for first, last in draws.spans(len(b), depth):
            products.small_matmul(rows[start:stop, first:last], b[first:last], part)
            np.add(sums, part, out=sums)
            rne_in_place(sums, spare)
    return total


def _silu_mul_out(gate: F32, up: F32) -> F32:
    t = numerics.tanh(gate * _HALF)
    sigmoid = round_rne(t + _ONE) * _HALF
    return round_rne(round_rne(gate * sigmoid) * up)
