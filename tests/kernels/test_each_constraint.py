"""Every hard constraint refuses something on its own: one step away from a legal configuration."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from registry_tool.records import catalog, kernel


@dataclass(frozen=True)
class Base:
    """A legal configuration, and single steps away from it with the constraint that each breaks."""

    shape: tuple[int, ...]
    variant: str | None
    tile: tuple[int, ...]
    herd: tuple[int, ...]
    steps: dict[str, dict[str, int]]


_GEMM_STEPS: dict[str, dict[str, int]] = {
    "m-divides": {"M": 2048 + 16},
    "n-divides": {"N": 2048 + 16},
    "k-divides": {"K": 2048 + 16},
    "k-l2-divides": {"tile_k_l1": 48},
    "tile-m-blocks": {"tile_m": 8},
    "tile-n-blocks": {"tile_n": 8},
    "tile-k-blocks": {"tile_k_l1": 4},
    "herd-m-columns": {"herd_m": 16},
    "herd-n-rows": {"herd_n": 8},
    "l2-panels": {"K": 8192, "tile_k_l2": 4096},
}

BASES: dict[tuple[str, str], Base] = {
    ("GEMM_bf16_in_bf16_out", "fused-cast"): Base(
        (2048, 2048, 2048),
        "fused-cast",
        (64, 256, 32, 64),
        (8, 4),
        {**_GEMM_STEPS, "l1-fused-cast": {"tile_n": 256}},
    ),
    ("GEMM_bf16_in_bf16_out", "drain"): Base(
        (2048, 2048, 2048),
        "drain",
        (32, 256, 32, 64),
        (8, 4),
        {**_GEMM_STEPS, "l1-drain": {"tile_m": 64, "tile_n": 128}},
    ),
    ("GEMM_bf16_in_bf16_out", "direct"): Base(
        (2048, 2048, 2048),
        "direct",
        (64, 256, 32, 64),
        (8, 4),
        {**_GEMM_STEPS, "l1-direct": {"tile_m": 128, "tile_n": 256}},
    ),
    ("GEMM_bf16_in_fp32_out", "external"): Base(
        (2048, 2048, 2048),
        "external",
        (64, 256, 32, 64),
        (8, 4),
        {**_GEMM_STEPS, "l1": {"tile_n": 256}},
    ),
    ("FFN_SwiGLU_bf16", ""): Base(
        (2048, 2048, 2048),
        None,
        (64, 256, 32, 64),
        (8, 4),
        {**_GEMM_STEPS, "l1": {"tile_m": 128, "tile_n": 128}},
    ),
    ("GEMV_bf16", ""): Base(
        (2048, 2048),
        None,
        (8, 4),
        (8,),
        {
            "m-divides": {"M": 2048 + 2},
            "tile-m-even": {"tile_m": 1, "m_input": 1},
            "m-input-divides": {"m_input": 3},
            "k-vectors": {"K": 2048 + 32},
            "l2": {"tile_m": 16},
            "l1": {"K": 8192, "tile_m": 4, "herd_m": 4},
            "herd-m-columns": {"herd_m": 16, "tile_m": 4},
        },
    ),
    ("RMSNorm_bf16", ""): Base(
        (2048, 2048),
        None,
        (),
        (8,),
        {
            "m-divides": {"M": 2049},
            "n-vectors": {"N": 2056},
            "herd-x-columns": {"herd_x": 16},
            "l1": {"N": 16384},
        },
    ),
    ("LayerNorm_bf16", ""): Base(
        (2048, 2048),
        None,
        (),
        (8,),
        {
            "m-divides": {"M": 2049},
            "n-vectors": {"N": 2056},
            "herd-x-columns": {"herd_x": 16},
            "l1": {"N": 8192},
        },
    ),
    ("FlashAttention_bf16", ""): Base(
        (2048, 2048, 64, 64, 32, 8, 1),
        None,
        (256, 64, 4, 2, 4),
        (8, 4),
        {
            "cols-are-heads-by-q-tiles": {"cols": 4},
            "rows-are-stages": {"rows": 2},
            "columns": {"num_q_tiles": 8, "lqp": 512, "cols": 16},
            "stages": {"num_cascade_stages": 8, "rows": 8},
            "heads-per-unroll": {"num_heads_per_unroll": 4, "num_q_tiles": 2, "lqp": 128},
            "lq-divides": {"lq": 2048 + 64, "lk": 2048, "causal": 0},
            "tile-q-64": {"lqp": 128, "lkp": 32},
            "tile-q-is-lkp": {"lkp": 32},
            "lk-divides": {"lk": 2048 + 64, "causal": 0},
            "dk-divides": {"dk": 96},
            "dv-divides": {"dv": 96},
            "causal-is-square": {"lk": 4096},
            "heads-share-keys": {"num_kv_heads": 5},
            "heads-unroll": {"num_heads": 15, "num_kv_heads": 5},
        },
    ),
    ("EltwiseAdd_bf16", ""): Base(
        (4194304,),
        None,
        (2048,),
        (8, 1),
        {
            "n-divides": {"N": 4194304 + 16},
            "tile-vectors": {"tile": 8},
            "l1": {"tile": 8192},
            "columns": {"cols": 16},
            "four-rows": {"cols": 1, "rows": 8},
            "shim-dma": {"rows": 2},
        },
    ),
    ("SiLU_Mul_bf16", ""): Base(
        (4194304,),
        None,
        (4096,),
        (8, 1),
        {
            "n-divides": {"N": 4194304 + 16},
            "tile-n-vectors": {"tile_n": 8},
            "l1": {"tile_n": 8192},
            "columns": {"herd_x": 16},
            "four-rows": {"herd_x": 1, "herd_y": 8},
            "shim-dma": {"herd_y": 2},
        },
    ),
    ("GELU_bf16", ""): Base(
        (4194304,),
        None,
        (4096,),
        (8, 2),
        {
            "n-divides": {"N": 4194304 + 16},
            "tile-n-vectors": {"tile_n": 8},
            "l1": {"tile_n": 8192},
            "columns": {"herd_x": 16, "herd_y": 1},
            "four-rows": {"herd_x": 1, "herd_y": 8},
            "shim-dma": {"herd_y": 4},
        },
    ),
    ("RoPE_bf16", ""): Base(
        (2048, 64),
        None,
        (),
        (8, 1),
        {
            "rows-divide": {"rows": 2049},
            "head-dim-vectors": {"head_dim": 80},
            "columns": {"herd_x": 16},
            "four-rows": {"herd_x": 1, "herd_y": 8},
            "shim-dma": {"herd_y": 2},
        },
    ),
}

# Steps that cannot but break a second constraint, and which.
_TOGETHER = {
    ("EltwiseAdd_bf16", "columns"): {"shim-dma"},
    ("SiLU_Mul_bf16", "columns"): {"shim-dma"},
    ("RoPE_bf16", "columns"): {"shim-dma"},
}


def _hard(name: str, base: Base, step: dict[str, int]) -> set[str]:
    spec = catalog.built_in()[name]
    shape = dict(zip(spec.dims, base.shape, strict=True))
    tile = dict(zip(spec.tile, base.tile, strict=True))
    herd = dict(zip(spec.herd, base.herd, strict=True))
    assert step.keys() <= {*shape, *tile, *herd}
    for part in (shape, tile, herd):
        part.update((key, value) for key, value in step.items() if key in part)
    found = kernel.violations(spec, shape, base.variant, tile, list(herd.values()))
    return {violation.id for violation in found if violation.hard}


@pytest.mark.parametrize(("name", "variant"), BASES)
def test_the_base_is_legal(name: str, variant: str) -> None:
    assert _hard(name, BASES[name, variant], {}) == set()


@pytest.mark.parametrize(
    ("name", "variant", "rule"),
    [(name, variant, rule) for (name, variant), base in BASES.items() for rule in base.steps],
)
def test_a_step_breaks_the_constraint_that_forbids_it(name: str, variant: str, rule: str) -> None:
    base = BASES[name, variant]
    broken = _hard(name, base, base.steps[rule])
    assert broken == {rule} | _TOGETHER.get((name, rule), set())


@pytest.mark.parametrize("name", sorted(catalog.built_in()))
def test_every_hard_constraint_has_such_a_step(name: str) -> None:
    shown = {rule for (owner, _), base in BASES.items() if owner == name for rule in base.steps}
    hard = {rule.id for rule in catalog.built_in()[name].constraints if rule.kind == "hard"}
    assert shown == hard
