"""Configurations that the upstream pages measured in their prose, outside any table.

Each is the page's own words in a row: what ran clean must stay legal, what failed or came out wrong
must be refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.kernels.upstream import ATTENTION_DIMS, ATTENTION_TILE, Row

_GEMM = "GEMM_bf16_in_bf16_out"


def _gemm(
    where: str,
    sizes: tuple[int, int, int],
    tiles: list[tuple[int, int, int, int]],
    herd: tuple[int, int],
    works: bool,
    variant: str = "drain",
    kernel: str = _GEMM,
) -> Iterator[Row]:
    for tile in tiles:
        yield Row(
            kernel=kernel,
            where=where,
            shape=dict(zip(("M", "K", "N"), sizes, strict=True)),
            tile=dict(zip(("tile_m", "tile_k_l2", "tile_k_l1", "tile_n"), tile, strict=True)),
            herd=herd,
            variant=variant,
            works=works,
        )


def _gemm_rows() -> Iterator[Row]:
    connector = (64, 12288, 960)
    swept = [(16, 384, 32, n) for n in (16, 48, 80, 240)]
    yield from _gemm("connector, tile_n sweep", connector, swept, (4, 4), True)
    swept = [(16, k, 32, 240) for k in (128, 256, 384)]
    yield from _gemm("connector, tile_k_l2 sweep", connector, swept, (4, 4), True)
    swept = [(16, k, 32, 240) for k in (512, 768)]
    yield from _gemm("connector, tile_k_l2 >= 512", connector, swept, (4, 4), False)
    swept = [(16, 384, 32, 80)]
    for herd in ((1, 4), (2, 4), (4, 4)):
        yield from _gemm("connector, herd_m sweep", connector, swept, herd, True)
    swept = [(16, 384, 32, 80), (16, 384, 32, 240)]
    yield from _gemm("connector, M padded", (128, 12288, 960), swept, (8, 4), True)
    yield from _gemm("connector, 120", connector, [(16, 384, 32, 120)], (4, 4), False)
    yield from _gemm("connector, tile_m 8", connector, [(8, 384, 32, 80)], (8, 4), False)

    clean = [(32, k, 32, 80) for k in (64, 192, 320, 960)]
    yield from _gemm("K=960 clean", (256, 960, 960), clean, (8, 4), True)
    yield from _gemm("K=960 trap", (256, 960, 960), [(32, 160, 32, 80)], (8, 4), False)
    expert = [(16, 144, 48, 80), (16, 240, 80, 80)]
    yield from _gemm("K=720 clean", (64, 720, 960), expert, (4, 4), True)
    traps = [(16, k2, k1, 80) for k2, k1 in ((240, 48), (360, 40), (720, 48), (720, 80))]
    yield from _gemm("K=720 traps", (64, 720, 960), traps, (4, 4), False)
    yield from _gemm("K=1440 clean", (64, 1440, 720), expert, (4, 3), True)
    traps = [(16, k, 32, 80) for k in (288, 480)]
    yield from _gemm("K=1440 traps", (64, 1440, 720), traps, (4, 3), False)
    yield from _gemm("K=320 trap", (256, 320, 320), [(32, 160, 32, 80)], (8, 4), False)
    clean = [(32, 320, 16, 16), (32, 320, 32, 16)]
    yield from _gemm("K=320 clean", (192, 320, 64), clean, (6, 4), True)
    traps = [(32, 160, 32, 16), (32, 64, 64, 16), (32, 320, 64, 16)]
    yield from _gemm("K=320 traps", (192, 320, 64), traps, (6, 4), False)
    clean = [(32, k2, k1, 16) for k2 in (64, 128, 256) for k1 in (32, 64)]
    yield from _gemm("K=256 clean", (192, 256, 64), clean, (6, 4), True)
    for herd, tile_m in (((6, 4), 32), ((4, 4), 48), ((3, 4), 64)):
        yield from _gemm("M=192", (192, 64, 320), [(tile_m, 64, 32, 80)], herd, True)
    yield from _gemm("tile_m 24", (192, 64, 320), [(24, 64, 32, 80)], (8, 4), False)
    yield from _gemm("64×64×320", (192, 64, 320), [(48, 64, 32, 16)], (4, 4), True)

    swept = [(64, k, 32, 128) for k in (32, 64, 128)]
    yield from _gemm("10240", (2048, 2560, 10240), swept, (8, 4), True, "fused-cast")
    beyond = [(64, 256, 32, 128)]
    yield from _gemm("10240 at 256", (2048, 2560, 10240), beyond, (8, 4), False, "fused-cast")
    swept = [(64, k, 32, 128) for k in (64, 128, 256)]
    yield from _gemm("3584", (2048, 3584, 3584), swept, (8, 4), True, "fused-cast")
    beyond = [(64, 512, 32, 128)]
    for shape in ((2048, 3584, 3584), (2048, 18944, 3584), (2048, 2048, 6144), (2048, 4096, 2560)):
        yield from _gemm("512 is too much", shape, beyond, (8, 4), False, "fused-cast")
    for shape in ((2048, 4096, 1024), (2048, 4096, 4096), (2048, 12288, 4096), (2048, 14336, 4096)):
        swept = [(64, k, 32, 128) for k in (256, 512)]
        yield from _gemm("256 or 512", shape, swept, (8, 4), True, "fused-cast")
    swept = [(64, k, 32, 128) for k in (64, 128)]
    yield from _gemm("14336", (2048, 4096, 14336), swept, (8, 4), True, "fused-cast")
    wide = [(64, 64, 32, 64), (64, 128, 32, 64)]
    yield from _gemm("18944 direct", (2048, 3584, 18944), wide, (8, 4), False, "direct")
    wide = [(64, 256, 32, 64)]
    for shape in ((2048, 1536, 8960), (2048, 2048, 11008), (2048, 4096, 12288)):
        yield from _gemm("direct at 256", shape, wide, (8, 4), False, "direct")
    wide = [(64, 128, 32, 64)]
    yield from _gemm("8960 fused", (2048, 1536, 8960), wide, (8, 4), False, "fused-cast")
    thin = [(64, 128, 32, 32)]
    for shape in ((2048, 896, 896), (2048, 896, 128)):
        yield from _gemm("thin N, tile_m 64", shape, thin, (8, 4), False, "fused-cast")
    thin = [(64, 256, 32, 128)]
    yield from _gemm("1024 fused", (2048, 1024, 1024), thin, (8, 4), False, "fused-cast")
    yield from _gemm("drain at 64×128", (2048, 3584, 512), thin, (8, 4), False, "drain")
    yield from _gemm("tile_n 256", (2048, 2048, 2048), [(64, 256, 32, 256)], (8, 4), False, "drain")

    f32 = "GEMM_bf16_in_fp32_out"
    for shape in ((2048, 2048, 2048), (2048, 8192, 2048), (4096, 4096, 4096)):
        swept = [
            (m, k, 32, n)
            for m in (32, 64, 128)
            for k in (64, 128, 256, 512)
            for n in (32, 64, 128)
            if (m, n) != (128, 128)  # 64 KiB of sums alone: outside the L1 budget of the sweep
        ]
        for variant in ("external", "direct"):
            yield from _gemm("f32 sweep", shape, swept, (8, 4), True, variant, f32)
    beyond = [(64, 256, 32, 256)]
    yield from _gemm("f32, tile_n 256", (2048, 2048, 2048), beyond, (8, 4), False, "external", f32)


def _gemv_rows() -> Iterator[Row]:
    def row(where: str, m: int, k: int, herd: int, tile_m: int, m_input: int, works: bool) -> Row:
        tile = {"tile_m": tile_m, "m_input": m_input}
        return Row("GEMV_bf16", where, {"M": m, "K": k}, tile, (herd,), works=works)

    for herd, largest in ((4, 16), (8, 8)):
        for tile_m in (size for size in (2, 4, 8, 16) if size <= largest):
            # The page counts 16 rows at once as run, too. They alone would take the whole 64 KiB of
            # a compute tile, more than what it says overflows at K = 11008.
            for m_input in (size for size in (1, 2, 4, 8) if size <= tile_m):
                yield row("GEMV sweep", 2048, 2048, herd, tile_m, m_input, True)
    yield row("L2 at K=2048", 2048, 2048, 8, 16, 16, False)
    yield row("L2 at K=8192", 2048, 8192, 8, 4, 4, False)
    yield row("L1 at K=11008", 2048, 11008, 8, 2, 2, False)
    yield row("tile_m 1", 2048, 11008, 8, 1, 1, False)
    yield row("K=8192 at 2", 2048, 8192, 8, 2, 1, True)


def _elementwise_rows() -> Iterator[Row]:
    def add(where: str, n: int, tile: int, works: bool) -> Row:
        return Row("EltwiseAdd_bf16", where, {"N": n}, {"tile": tile}, (8, 1), works=works)

    for tile in (1024, 1920, 3840):
        yield add("245760 clean", 245760, tile, True)
    yield add("245760 trap", 245760, 2048, False)
    for tile in (256, 512, 1024, 2048, 4096):
        yield add("tile sweep", 4194304, tile, True)
    yield add("tile 8192", 4194304, 8192, False)
    gelu = {"tile_n": 4096}
    yield Row("GELU_bf16", "8×4 does not place", {"N": 3145728}, gelu, (8, 4), works=False)


def _attention_rows() -> Iterator[Row]:
    def row(where: str, sizes: tuple[int, ...], tile: tuple[int, ...], works: bool) -> Row:
        lqp, q_tiles, heads, stages = tile
        return Row(
            kernel="FlashAttention_bf16",
            where=where,
            shape=dict(zip(ATTENTION_DIMS, sizes, strict=True)),
            tile=dict(zip(ATTENTION_TILE, (lqp, 64, q_tiles, heads, stages), strict=True)),
            herd=(q_tiles * heads, stages),
            works=works,
        )

    causal = (2048, 2048, 64, 64, 32, 8, 1)
    yield row("two stages, 25 % slower", causal, (256, 4, 2, 2), True)
    yield row("eight stages", causal, (256, 4, 2, 8), False)
    yield row("four heads at once", causal, (128, 2, 4, 4), False)
    yield row("half the array", (1024, 1024, 64, 64, 12, 12, 0), (256, 4, 1, 4), True)
    yield row("15 heads, two at once", (2048, 2048, 64, 64, 15, 5, 1), (256, 4, 2, 4), False)
    yield row("15 heads, one at once", (2048, 2048, 64, 64, 15, 5, 1), (256, 4, 1, 4), True)


def rows(kernel: str) -> list[Row]:
    """What the prose of ``kernel``'s page says was tried."""
    every = [*_gemm_rows(), *_gemv_rows(), *_elementwise_rows(), *_attention_rows()]
    return [row for row in every if row.kernel == kernel]
