"""GEMM on the BFP16 matrix unit: f32 out, and bf16 out by fused cast, drain or direct codegen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from registry_tool.emulator import draws, numerics, products, streams
from registry_tool.emulator.case import F32, Block, Case
from registry_tool.emulator.numerics import BFP_BLOCK, U16, round_floor, round_rne
from registry_tool.emulator.shapes import kept, require, sizes

SEED = 42
ROWS = 512
"""Output rows worked on, and handed over, at once."""
PANEL = 1 << 23
"""Elements of B held at once (32 MiB): B is drawn, used and dropped in panels along K."""
TILE_K_L1 = 32
"""The reduction between two roundings of `direct`, where the tile does not say."""
FUSED_CAST_FROM = 4_000_000_000
"""M * K * N from which the harness's own choice is fused-cast; drain below (S)."""

Accumulate = Callable[[F32, U16, F32], None]
"""Add the product of a panel of A (M, k) and one of B (k, N, overwritten) to the total (M, N)."""


def f32_out(case: Case) -> Iterator[Block]:
    """C = A @ B with f32 out; variants external and direct compute the same.

    Draws (S, harness source): ``np.random.seed(42)``; A = randn(M, K) / sqrt(K), then
    B = randn(K, N) / sqrt(K), cast to bf16. Reference: f32 matmul of the cast inputs.
    Datapath: BFP16 of both operands along K (S; the +128 rule F), products summed in f32.
    """
    _known(case, ("external", "direct"))
    return _blocks(case, add_product, None)


def bf16_out(case: Case) -> Iterator[Block]:
    """C = A @ B with bf16 out; inputs and reference as ``f32_out``, the reference cast to bf16.

    - drain: f32 accumulation, one cast to nearest even (S).
    - fused-cast: the same with one **floor** cast (F: that launch sets no rounding mode. Five
      rows recorded to three digits agree with floor and none with truncation).
    - direct: the total rounded to bf16, nearest even, after every ``tile_k_l1`` of K (F).

    Without a variant it is the harness's own choice between the first two.
    """
    m, k, n = sizes(case, "M", "K", "N")
    _known(case, (*_CASTS, "direct"))
    if case.variant == "direct":
        depth = case.tile.get("tile_k_l1", TILE_K_L1)
        require(
            case,
            depth >= BFP_BLOCK and depth % BFP_BLOCK == 0,
            f"needs, for direct, tile_k_l1 to be a multiple of {BFP_BLOCK}, got {depth}",
        )
        return _blocks(case, _rounding_every(depth), round_rne, depth)
    auto = "fused-cast" if m * k * n >= FUSED_CAST_FROM else "drain"
    return _blocks(case, add_product, _CASTS[case.variant or auto])


_CASTS = {"fused-cast": round_floor, "drain": round_rne}


def _known(case: Case, variants: tuple[str, ...]) -> None:
    require(
        case,
        case.variant is None or case.variant in variants,
        f"knows the variants {', '.join(variants)}, not {case.variant}",
    )


def _blocks(
    case: Case,
    accumulate: Accumulate,
    cast: Callable[[F32, F32], F32] | None,
    grain: int = BFP_BLOCK,
) -> Iterator[Block]:
    return _stream(sizes(case, "M", "K", "N"), kept(case, case.shape["K"]), accumulate, cast, grain)


def _stream(
    shape: tuple[int, ...],
    used_k: int,
    accumulate: Accumulate,
    cast: Callable[[F32, F32], F32] | None,
    grain: int,
) -> Iterator[Block]:
    m, k, n = shape
    normals, scale = draws.legacy(SEED), draws.divided_by(math.sqrt(k))
    a = draws.packed(normals, (m, k), scale)
    out, ref = np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)

    def work(panel: tuple[int, F32]) -> None:
        start, b = panel
        _add_reference(ref, a[:, start : start + len(b)], b)
        used = b[: max(0, used_k - start)]
        if len(used):
            accumulate(out, a[:, start : start + len(used)], used)

    # The next panel is drawn while this one is multiplied, by as many threads as BLAS has.
    for _ in streams.mapped(work, _panels(normals, scale, k, n, grain), workers=1):
        pass
    for start, stop in draws.spans(m, ROWS):
        part, expected = out[start:stop], ref[start:stop]
        if cast is not None:
            cast(part, part)
            round_rne(expected, expected)
        yield Block(out=part, ref=expected, row=start)


def _panels(
    normals: draws.Normals, scale: draws.Scale, k: int, n: int, grain: int
) -> Iterator[tuple[int, F32]]:
    for start, stop in draws.spans(k, panel_depth(n, grain)):
        yield start, draws.bf16(normals, (stop - start, n), scale)


def panel_depth(n: int, grain: int = BFP_BLOCK) -> int:
    """How much of K a panel of B holds: what fits, in whole grains, and at least one."""
    return max(grain, PANEL // n - PANEL // n % grain)


def _add_reference(total: F32, a: U16, b: F32) -> None:
    for start, stop in draws.spans(len(total), ROWS):
        total[start:stop] += np.matmul(numerics.unpack(a[start:stop]), b)


def add_product(total: F32, a: U16, b: F32) -> None:
    """total += A @ B as the matrix unit computes it, summed in f32; ``b`` becomes BFP16."""
    numerics.bfp16_down(b)
    for start, stop in draws.spans(len(total), ROWS):
        total[start:stop] += np.matmul(numerics.bfp16_across(numerics.unpack(a[start:stop])), b)


_TILE = 256
"""Side of the output tile that `direct` keeps near the core through the whole panel."""


def _rounding_every(depth: int) -> Accumulate:
    def add(total: F32, a: U16, b: F32) -> None:
        numerics.bfp16_down(b)
        columns = list(draws.spans(b.shape[1], _TILE))

        def work(rows: tuple[int, int]) -> None:
            a_bfp = numerics.bfp16_across(numerics.unpack(a[slice(*rows)]))
            for start, stop in columns:
                _round_through(total[slice(*rows), start:stop], a_bfp, b[:, start:stop], depth)

        for _ in streams.mapped(work, draws.spans(len(total), _TILE)):
            pass

    return add


def _round_through(total: F32, a: F32, b: F32, depth: int) -> None:
    tile = np.ascontiguousarray(total)
    product, spare = np.empty_like(tile), np.empty_like(tile)
    for start, stop in draws.spans(len(b), depth):
        products.small_matmul(a[:, start:stop], b[start:stop], product)
        np.add(tile, product, out=tile)
        numerics.rne_in_place(tile, spare)
    total[:] = tile
