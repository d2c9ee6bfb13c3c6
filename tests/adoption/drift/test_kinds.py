"""Each kind once: an edit to a sound registry that makes it, and one beside it that does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from registry_tool.adoption.drift import KINDS
from registry_tool.errors import InputError
from tests.adoption.drift.registry import (
    ADD,
    ATTENTION,
    GEMM,
    GEMM_JSON,
    GEMV,
    INDEX,
    NORM,
    Edit,
    edited,
    findings,
    kinds,
    line_of,
)

BIG = "GEMM_bf16_in_bf16_out/1024x2048x2048"
THIN = "GEMM_bf16_in_bf16_out/512x1024x512"
NORM_1K = "RMSNorm_bf16/1024x1024"
NORM_512 = "RMSNorm_bf16/512x1024"
NORM_ROW = "| 512×1024 | 8 | 120 µs | 17.5 GB/s | 4.3e-3 | Toy-3B prefill norm | ✅ |\n"
NORM_SECTION = (
    "## RMSNorm: tested shapes\n\nSee [the page](details/RMSNorm_bf16.md).\n\n"
    "| (M×N) | herd_x | latency | bandwidth | mean_rel_L1 | Used by | Status |\n"
    "|---|---|---|---|---|---|---|\n"
    "| 1024×1024 | 8 | 200 µs | **21.0 GB/s** | 4.3e-3 | Toy-1B prefill norm | ✅ |\n" + NORM_ROW
)
BIG_IN_INDEX = "| 1024×2048×2048 | **5999** | 5499 | 5000 | 9.7e-3 / 1.3e-2 | Toy-1B Q proj | ✅ |"
THIN_JSON = '"best": {"high": "drain"}'
BIG_NOTE = '"At tile_k_l2=512 fused-cast fails to compile; 256 passes."'

SETTINGS = (
    "## Tiles\n\n| shape | tile_k_l2 | tile_n=64 | tile_n=128 |\n|---|---|---|---|\n"
    "| 1024×2048×2048 | 256 | 3000 GFLOPS | {} |\n\n"
)
WORST = (
    "## Tolerances\n\n| methods | atol | worst abs_err |\n|---|---|---|\n"
    "| fused-cast, drain | 1.5e-3 | {} |\n\n"
)


@dataclass(frozen=True)
class Case:
    """Edits, and the findings that they make: kind to record, found and expected."""

    name: str
    edits: list[Edit]
    makes: dict[str, tuple[str | None, str, str]] = field(default_factory=dict)


FOUND = [
    Case(
        "the overview names a figure that a row beats",
        [(INDEX, "**21.0 GB/s** (memory", "**17.5 GB/s** (memory")],
        {"headline-not-best": (NORM_1K, "17.5 GB/s", "21.0 GB/s")},
    ),
    Case(
        "the overview names a figure that no row has",
        [(INDEX, "**30.5 GFLOP/s**", "**30.6 GFLOP/s**")],
        {"headline-not-best": ("GEMV_bf16/4096x4096", "30.6 GFLOP/s", "30.5")},
    ),
    Case(
        "a bold figure is not the best of its column",
        [(NORM, "| 17.5 GB/s |", "| **17.5 GB/s** |"), (NORM, "**21.0 GB/s**", "21.0 GB/s")],
        {"bold-not-best": (NORM_512, "17.5 GB/s", "21.0 GB/s")},
    ),
    Case(
        "a bold figure is not the best of its shape's methods",
        [(INDEX, "| 2003 | **2999** |", "| **2003** | 2999 |")],
        {"bold-not-best": (f"{THIN}+fused-cast", "fused-cast 2003", "drain 2999")},
    ),
    Case(
        "a page is not in the overview",
        [(INDEX, "| GEMV | [page](details/GEMV_bf16.md) |", "| GEMV | see below |")],
        {"page-missing": (None, "—", "GEMV_bf16")},
    ),
    Case(
        "a row is on the page and not in the index",
        [(INDEX, NORM_ROW, "")],
        {"row-missing": (NORM_512, "—", "512×1024"), "row-counts": (None, "1", "2")},
    ),
    Case(
        "a kernel has no section in the index",
        [(INDEX, NORM_SECTION, "")],
        {"section-missing": (None, "—", "2 shapes")},
    ),
    Case(
        "a method is in the JSON and not on the page",
        [
            (
                GEMM,
                "| 512×1024×512 | 64/256/32/128 | 8×4 | 268 µs | 2003 | 9.7e-3 | 6.1e-4 |"
                " Toy-1B K/V proj | ✅ |\n",
                "",
            )
        ],
        {"variant-missing": (f"{THIN}+fused-cast", "—", "512×1024×512 fused-cast")},
    ),
    Case(
        "a row is listed twice",
        [(INDEX, NORM_ROW, NORM_ROW * 2)],
        {"row-twice": (NORM_512, "2 rows", "1 row")},
    ),
    Case(
        "two places give different accuracies",
        [(INDEX, NORM_ROW, NORM_ROW.replace("4.3e-3", "4.2e-3"))],
        {"cells-disagree": (NORM_512, "4.2e-3", "4.3e-3")},
    ),
    Case(
        "JSON and page give different tiles",
        [(GEMM, "| 512×1024×512 | 32/256/32/128", "| 512×1024×512 | 32/512/32/128")],
        {"cells-disagree": (f"{THIN}+drain", "tile_k_l2=256", "tile_k_l2=512")},
    ),
    Case(
        "JSON and page give different herds",
        [
            (
                GEMM_JSON,
                '"gflops": 2999, "mean_rel_L1": 0.00944, "tier": "high"',
                '"gflops": 2999, "mean_rel_L1": 0.00944, "tier": "high", "herd": [4, 4]',
            )
        ],
        {"cells-disagree": (f"{THIN}+drain", "4×4", "8×4")},
    ),
    Case(
        "an accuracy table contradicts the row",
        [(NORM, "**4.3e-3**", "**3.9e-3**")],
        {"cells-disagree": (NORM_1K, "3.9e-3", "4.3e-3")},
    ),
    Case(
        "a sweep contradicts the row of its configuration",
        [(NORM, "| 8 | **200 µs** | **2.0×** |", "| 8 | **231 µs** | **2.0×** |")],
        {
            "cells-disagree": (NORM_1K, "231 µs", "200 µs"),
            "ratio-contradicted": (None, "2.0×", "1.7×"),
        },
    ),
    Case(
        "a speedup does not follow from the latencies beside it",
        [(NORM, "| **2.0×** |", "| **2.2×** |")],
        {"ratio-contradicted": (None, "2.2×", "2.0×")},
    ),
    Case(
        "a line of a sweep is called the best and another one is faster",
        [
            (
                NORM,
                "| 4 | 398 µs | 1.0× |\n| 8 | **200 µs** | **2.0×** |",
                "| 4 | 398 µs | 1.0× (best) |\n| 8 | **200 µs** | **2.0×** |",
            )
        ],
        {"sweep-best-beaten": (None, "398 µs", "200 µs")},
    ),
    Case(
        "a column headed by a setting gives another figure than the row with that tile",
        [(GEMM, "## Tested shapes", SETTINGS.format("5300") + "## Tested shapes")],
        {"cells-disagree": (f"{BIG}+drain", "5300", "5499")},
    ),
    Case(
        "a worst case that rows exceed",
        [(GEMM, "## Tested shapes", WORST.format("~4.0e-4") + "## Tested shapes")],
        {"worst-exceeded": (None, "~4.0e-4", "6.1e-4")},
    ),
    Case(
        "a cell says that the run hung and another place has its figure",
        [(GEMV, "| 1100 µs | 30.5 |", "| 1100 µs | n.a. (hung twice) |")],
        {"measured-elsewhere": ("GEMV_bf16/4096x4096", "30.5", "n.a. (hung twice)")},
    ),
    Case(
        "a sweep passes with what must not be",
        [
            (NORM, "Sweep at 1024×1024:", "`herd_x` must be 8.\n\nSweep at 1024×1024:"),
            (NORM, "| 4 | 398 µs | 1.0× |", "| 4 | 398 µs | 1.0× | ✅ |"),
            (NORM, "| 8 | **200 µs** | **2.0×** |", "| 8 | **200 µs** | **2.0×** | ✅ |"),
            (
                NORM,
                "speedup vs herd_x=1 |\n|---|---|---|",
                "speedup vs herd_x=1 | result |\n|---|---|---|---|",
            ),
        ],
        {"rule-contradicted": (NORM_1K, "herd_x=4 in a sweep, ✅", "herd_x=8")},
    ),
    Case(
        "the two sizes of a row contradict each other",
        [(ADD, "| 1048576 | 1024×1024 |", "| 1048576 | 1024×1048 |")],
        {"shape-contradicts": ("EltwiseAdd_bf16/1048576", "1024×1048", "1048576")},
    ),
    Case(
        "index and page mark a row differently",
        [(INDEX, NORM_ROW, NORM_ROW.replace("✅", "⚠️"))],
        {"status-disagrees": (NORM_512, "⚠", "✅")},
    ),
    Case(
        "the index marks a shape as passing of which no method passes on its page",
        [
            (
                GEMM,
                "| 512×1024×512 | 64/256/32/128 | 8×4 | 268 µs | 2003 | 9.7e-3 | 6.1e-4 | "
                "Toy-1B K/V proj | ✅ |",
                "| 512×1024×512 | 64/256/32/128 | 8×4 | 268 µs | 2003 | "
                "9.7e-3 | 6.1e-4 | Toy-1B K/V proj | ⚠️ |",
            ),
            (
                GEMM,
                "**2999** | 9.4e-3 | 6.1e-4 | Toy-1B K/V proj | ✅ |",
                "**2999** | 9.4e-3 | 6.1e-4 | Toy-1B K/V proj | ⚠️ |",
            ),
        ],
        {"status-disagrees": (THIN, "✅", "⚠")},
    ),
    Case(
        "a latency stands in the column of bandwidths",
        [(INDEX, "| 200 µs | **21.0 GB/s** |", "| — | 200 µs |")],
        {"value-in-wrong-column": (NORM_1K, "200 µs", "bandwidth")},
    ),
    Case(
        "a method is listed under the other tier",
        [
            (
                GEMM_JSON,
                '"gflops": 5499, "mean_rel_L1": 0.00941, "tier": "high"',
                '"gflops": 5499, "mean_rel_L1": 0.00941, "tier": "low"',
            )
        ],
        {"tier-disagrees": (f"{BIG}+drain", "low", "high")},
    ),
    Case(
        "a max_abs stands in the column of mean_rel_L1",
        [(INDEX, "| 17.5 GB/s | 4.3e-3 |", "| 17.5 GB/s | max_abs 1.3e-1 |")],
        {
            "value-in-wrong-column": (NORM_512, "max_abs 1.3e-1", "mean_rel_L1"),
            "verdict-max-abs-only": (NORM_512, "max_abs 1.3e-1", "4.3e-3"),
        },
    ),
    Case(
        "a tile stands in a column of throughputs",
        [(INDEX, "| **5999** | 5499 |", "| **fused-cast (m64/k256/n128)** | 5499 |")],
        {
            "value-in-wrong-column": (
                f"{BIG}+fused-cast",
                "fused-cast (m64/k256/n128)",
                "5999",
            )
        },
    ),
    Case(
        "a figure stands in the column of another method",
        [(INDEX, "| 2003 | **2999** | — | 9.4e-3 / — |", "| 2003 | — | 2999 | 9.4e-3 / — |")],
        {
            "value-in-wrong-column": (
                f"{THIN}+drain",
                "2999 as direct",
                "2999 as drain",
            ),
            "variant-missing": (f"{THIN}+drain", "—", "512×1024×512 drain"),
        },
    ),
    Case(
        "a figure with a dagger was carried over",
        [
            (GEMM, "| 179 µs | **2999** |", "| 179 µs | 2999† |"),
            (
                GEMM,
                "### low-precision, direct",
                "† the GFLOPS column is carried over from a neighbour.\n\n"
                "### low-precision, direct",
            ),
        ],
        {
            "verdict-inherited": (f"{THIN}+drain", "2999†", "a measured figure"),
            "best-inherited": (f"{THIN}+drain", "drain", "a measured method"),
        },
    ),
    Case(
        "a note under a passing mark says that the run failed",
        [
            (
                NORM,
                "Toy-3B prefill norm (emb=1024) | ✅ |",
                "Toy-3B prefill norm (emb=1024) | ✅ NUMFAIL on two near-zero elements |",
            )
        ],
        {"verdict-failing": (NORM_512, "✅", "a failing verdict, or a waiver")},
    ),
    Case(
        "a page judges a row by max_abs alone",
        [
            (NORM, "| 120 µs | 17.5 GB/s | 4.3e-3 |", "| 120 µs | 17.5 GB/s | — |"),
            (INDEX, "| 17.5 GB/s | 4.3e-3 |", "| 17.5 GB/s | — |"),
        ],
        {"verdict-max-abs-only": (NORM_512, "max_abs 1.3e-1", "a mean_rel_L1")},
    ),
    Case(
        "a passing row has no throughput anywhere",
        [
            (ADD, "| 170 µs | 37.0 GB/s |", "| — | — |"),
            (INDEX, "| 170 µs | 37.0 GB/s |", "| — | — |"),
        ],
        {"verdict-not-measured": ("EltwiseAdd_bf16/1048576", "—", "throughput")},
    ),
    Case(
        "a results file that is named does not exist",
        [(NORM, "Every row was measured", "`results/norm_sweep.csv`: every row was measured")],
        {"evidence-missing": (None, "results/norm_sweep.csv", "a file that exists")},
    ),
    Case(
        "a link leads nowhere",
        [(INDEX, "See [the page](details/GEMV_bf16.md)", "See [the page](details/GEMV.md)")],
        {"evidence-missing": (None, "details/GEMV.md", "a file that exists")},
    ),
    Case(
        "best is missing",
        [(GEMM_JSON, f",\n      {THIN_JSON}", "")],
        {"best-missing": (THIN, "—", "fused-cast, drain")},
    ),
    Case(
        "best is missing for one tier",
        [
            (
                GEMM_JSON,
                '"best": {"high": "fused-cast", "low": "direct"}',
                '"best": {"low": "direct"}',
            )
        ],
        {"best-missing": (BIG, "—", "fused-cast, drain")},
    ),
    Case(
        "best is slower than a passing sibling",
        [(GEMM_JSON, THIN_JSON, '"best": {"high": "fused-cast"}')],
        {"best-slower": (f"{THIN}+fused-cast", "fused-cast (2003)", "drain (2999)")},
    ),
    Case(
        "best names a method that the entry lacks",
        [(GEMM_JSON, THIN_JSON, '"best": {"high": "external"}')],
        {"best-unknown": (THIN, "external", "fused-cast, drain")},
    ),
    Case(
        "the rule for the method picks the slower one",
        [
            (GEMM, "| 179 µs | **2999** |", "| 281 µs | 1911 |"),
            (GEMM, "| 268 µs | 2003 |", "| 268 µs | **2003** |"),
            (INDEX, "| 2003 | **2999** | — | 9.4e-3 / — |", "| **2003** | 1911 | — | 9.7e-3 / — |"),
            (GEMM_JSON, '"gflops": 2999,', '"gflops": 1911,'),
            (GEMM_JSON, THIN_JSON, '"best": {"high": "fused-cast"}'),
        ],
        {"rule-contradicted": (THIN, "drain (1911)", "fused-cast (2003)")},
    ),
    Case(
        "best did not pass its gate",
        [
            (
                GEMM_JSON,
                BIG_NOTE,
                '"High-precision fused-cast computes the result but the harness gate trips on one '
                'element. The low-precision direct path PASSES."',
            )
        ],
        {
            "best-failing": (f"{BIG}+fused-cast", "fused-cast", "a method that passed"),
            "verdict-failing": (f"{BIG}+fused-cast", "✅", "a failing verdict, or a waiver"),
        },
    ),
    Case(
        "fewer tiles than the target, and nobody says why",
        [
            (
                GEMM,
                "| 512×1024×512 | 32/256/32/128 | 8×4 |",
                "| 512×1024×512 | 32/256/32/128 | 4×4 |",
            ),
            (
                GEMM_JSON,
                '"gflops": 2999, "mean_rel_L1": 0.00944, "tier": "high"',
                '"gflops": 2999, "mean_rel_L1": 0.00944, "tier": "high", "herd": [4, 4]',
            ),
        ],
        {
            "herd-below-target": (
                f"{THIN}+drain",
                "4×4 (16 tiles)",
                "32 tiles, or a note that says why",
            )
        },
    ),
    Case(
        "an enforced constraint is broken",
        [
            (NORM, "| 512×1024 | 8 |", "| 516×1024 | 8 |"),
            (NORM, "| 120 µs |", "| 121 µs |"),
            (INDEX, "| 512×1024 | 8 | 120 µs |", "| 516×1024 | 8 | 121 µs |"),
        ],
        {"constraint-broken": ("RMSNorm_bf16/516x1024", "herd_x=8", "M % herd_x == 0")},
    ),
    Case(
        "a setting said to hold for every shape does not",
        [
            (ADD, "8/1/2048", "8/1/1024"),
            (INDEX, "8/1/2048", "8/1/1024"),
        ],
        {"rule-contradicted": ("EltwiseAdd_bf16/1048576", "tile=1024", "tile=2048")},
    ),
    Case(
        "a bound on the accuracy is exceeded",
        [
            (NORM, "| 120 µs | 17.5 GB/s | 4.3e-3 |", "| 120 µs | 17.5 GB/s | 4.6e-3 |"),
            (INDEX, "| 17.5 GB/s | 4.3e-3 |", "| 17.5 GB/s | 4.6e-3 |"),
        ],
        {"rule-contradicted": (NORM_512, "4.6e-3", "mean_rel_L1 ≤ 4.4e-3")},
    ),
    Case(
        "a size is said to force a tile that its row does not have",
        [(GEMV, "forces `tile_m=4`", "forces `tile_m=2`")],
        {"rule-contradicted": ("GEMV_bf16/4096x4096", "tile_m=4", "tile_m=2")},
    ),
    Case(
        "a setting is said to fail that a row of the shape has",
        [(GEMM_JSON, BIG_NOTE, '"fused-cast at tile_k_l2>=256 fails to compile."')],
        {
            "rule-contradicted": (
                f"{BIG}+fused-cast",
                "tile_k_l2=256",
                "not tile_k_l2 ≥ 256",
            )
        },
    ),
    Case(
        "the heading of a table contradicts its rows",
        [(GEMM, "drain` (tile_m=32)", "drain` (tile_m=16)")],
        {"rule-contradicted": (None, "tile_m=32", "tile_m=16")},
    ),
    Case(
        "throughput does not follow from latency",
        [
            (ATTENTION, "| 2.0 ms | 1074 |", "| 2.0 ms | 2148 |"),
            (INDEX, "| 2.0 ms | 1074 |", "| 2.0 ms | 2148 |"),
        ],
        {
            "throughput-contradicts-latency": (
                "FlashAttention_bf16/1024x1024x64x64x16x4x1",
                "2148",
                "1074",
            )
        },
    ),
    Case(
        "a bold figure that contradicts its own latency is no best to compare with",
        [
            (NORM, "| **21.0 GB/s** | 4.3e-3 |", "| **42.0 GB/s** | 4.3e-3 |"),
            (INDEX, "| 200 µs | **21.0 GB/s** |", "| 200 µs | **42.0 GB/s** |"),
            (INDEX, "**21.0 GB/s** (memory", "**17.5 GB/s** (memory"),
        ],
        {"throughput-contradicts-latency": (NORM_1K, "42.0 GB/s", "21.0")},
    ),
    Case(
        "a higher figure that contradicts its own latency takes no bold from another",
        [
            (NORM, "| 120 µs | 17.5 GB/s |", "| 120 µs | 35.0 GB/s |"),
            (INDEX, "| 120 µs | 17.5 GB/s |", "| 120 µs | 35.0 GB/s |"),
        ],
        {"throughput-contradicts-latency": (NORM_512, "35.0 GB/s", "17.5")},
    ),
    Case(
        "a figure that was carried over is no best to compare with",
        [(GEMM_JSON, BIG_NOTE, '"The fused-cast gflops were carried over from a neighbour."')],
        {
            "headline-not-best": (f"{BIG}+drain", "5999 GFLOP/s", "5499"),
            "verdict-inherited": (f"{BIG}+fused-cast", "5999", "a measured figure"),
            "best-inherited": (f"{BIG}+fused-cast", "fused-cast", "a measured method"),
        },
    ),
    Case(
        "a faster sibling that did not pass is no better choice",
        [
            (GEMM_JSON, '"high": "fused-cast", "low"', '"high": "drain", "low"'),
            (GEMM_JSON, BIG_NOTE, '"The gate trips on one element of fused-cast."'),
        ],
        {
            "verdict-failing": (
                f"{BIG}+fused-cast",
                "✅",
                "a failing verdict, or a waiver",
            )
        },
    ),
    Case(
        "one shape is credited to two sites of a model",
        [(INDEX, "| 9.4e-3 / — | Toy-1B K/V proj |", "| 9.4e-3 / — | Toy-1B Down proj |")],
        {"sites-disagree": (THIN, "Toy-1B K/V proj", "Toy-1B Down proj")},
    ),
    Case(
        "one place credits a model that another does not",
        [(NORM, "(emb=1024) | ✅ |", "(emb=1024) + Toy-7B prefill norm | ✅ |")],
        {
            "credit-differs": (
                NORM_512,
                "Toy-3B prefill norm",
                "Toy-3B prefill norm (emb=1024) + Toy-7B prefill norm",
            )
        },
    ),
    Case(
        "a table lacks a column",
        [
            (ATTENTION, " abs_err max |", ""),
            (
                ATTENTION,
                "|---|---|---|---|---|---|---|---|---|---|---|---|",
                "|---|---|---|---|---|---|---|---|---|---|---|",
            ),
            (ATTENTION, " 8.4e-2 |", ""),
        ],
        {
            "column-missing": (
                None,
                "lq×lk | dk/dv | heads q/kv | causal | tile (lqp/lkp/nqt/hpu/ncs) | "
                "herd (cols/rows) | latency | GFLOP/s | mean_rel_L1 | Used by | Status",
                "max_abs",
            )
        },
    ),
    Case(
        "a bare pipe divides a cell",
        [(NORM, "| `mean_rel_L1` |", "| `mean_rel_L1 = mean|y-ref|` |")],
        {
            "row-misread": (
                None,
                "`mean_rel_L1 = mean | y-ref",
                "mean_rel_L1 = mean|y-ref| | 4.3e-3",
            )
        },
    ),
]


NEAR = [
    Case("nothing is edited", []),
    Case(
        "two roundings of one figure",
        [(NORM, "| 120 µs | 17.5 GB/s | 4.3e-3 |", "| 120 µs | 17.5 GB/s | 4.34e-3 |")],
    ),
    Case(
        "a range that holds the other place's figure",
        [(INDEX, "| 512×1024 | 8 | 120 µs |", "| 512×1024 | 8 | 115–125 µs |")],
    ),
    Case(
        "another unit, other emphasis",
        [(INDEX, "| 512×1024 | 8 | 120 µs |", "| 512×1024 | 8 | **0.120 ms** |")],
    ),
    Case(
        "an exact JSON figure that rounds to the page's",
        [(GEMM_JSON, '"mean_rel_L1": 0.0128', '"mean_rel_L1": 0.01349')],
    ),
    Case(
        "a throughput within the rounding of its latency",
        [
            (NORM, "| 120 µs | 17.5 GB/s |", "| 0.12 ms | 17.5 GB/s |"),
            (INDEX, "| 120 µs | 17.5 GB/s |", "| 0.12 ms | 17.5 GB/s |"),
        ],
    ),
    Case(
        "the more precise method is bold though the other tier is faster",
        [
            (GEMM, "| 1718 µs | 5000 |", "| 1400 µs | 6136 |"),
            (GEMM_JSON, '"gflops": 5000,', '"gflops": 6136,'),
            (INDEX, "| 5499 | 5000 |", "| 5499 | 6136 |"),
            (INDEX, "**5999 GFLOP/s** (fused-cast", "**6136 GFLOP/s** (direct"),
        ],
    ),
    Case(
        "a dash with a tile that was not run says that there is no figure",
        [(INDEX, "| 2003 | **2999** | — |", "| 2003 | **2999** | — (n64) |")],
    ),
    Case(
        "a method that does not work is marked in the index and absent elsewhere",
        [(INDEX, "| 2003 | **2999** | — |", "| 2003 | **2999** | ⚠️ |")],
    ),
    Case(
        "a tile beside the figure in the same cell",
        [(INDEX, "| **5999** | 5499 |", "| **5999** (m64/k256/n128) | 5499 |")],
    ),
    Case(
        "fewer tiles, and the row says why",
        [
            (
                GEMM,
                "| 512×1024×512 | 32/256/32/128 | 8×4 |",
                "| 512×1024×512 | 32/256/32/128 | 4×4 |",
            ),
            (
                GEMM_JSON,
                '"gflops": 2999, "mean_rel_L1": 0.00944, "tier": "high"',
                '"gflops": 2999, "mean_rel_L1": 0.00944, "tier": "high", "herd": [4, 4]',
            ),
            (GEMM_JSON, THIN_JSON, f'{THIN_JSON},\n      "_note": "herd_m=4: 8 was not free"'),
        ],
    ),
    Case(
        "a note about another method's failure",
        [
            (
                GEMM_JSON,
                '"best": {"high": "fused-cast", "low": "direct"},\n      "_note": ' + BIG_NOTE,
                '"best": {"high": "fused-cast", "low": "direct"},\n      "_note": "external code '
                'fails at run time; HERD_N=1 fails to compile."',
            )
        ],
    ),
    Case(
        "the same site in other words",
        [
            (INDEX, "| 9.4e-3 / — | Toy-1B K/V proj |", "| 9.4e-3 / — | Toy-1B k_proj/v_proj |"),
            (INDEX, "| 4.3e-3 | Toy-3B prefill norm |", "| 4.3e-3 | Toy-3B norm (emb=1024) |"),
        ],
    ),
    Case(
        "an escaped pipe",
        [(NORM, "| `mean_rel_L1` |", "| `mean_rel_L1 = mean\\|y-ref\\|` |")],
    ),
    Case(
        "a source file that is named is not evidence",
        [(NORM, "Every row was measured", "`norm.py`, `kernel.cc`: every row was measured")],
    ),
    Case(
        "a bound that the rows keep",
        [(NORM, "`mean_rel_L1 ≤ 4.4e-3`", "`mean_rel_L1 ≤ 4.3e-3`")],
    ),
    Case(
        "a bound on some other shape",
        [
            (
                NORM,
                "The accuracy is `mean_rel_L1 ≤ 4.4e-3`",
                "The accuracy at 64×64 is `mean_rel_L1 ≤ 4.2e-3`",
            )
        ],
    ),
    Case(
        "a limit that the sweep keeps, and one that its words take back",
        [
            (
                NORM,
                "Sweep at 1024×1024:",
                "`herd_x > 8` fails; `herd_x > 2` cannot place past 8 tiles.\n\n"
                "Sweep at 1024×1024:",
            )
        ],
    ),
    Case(
        "the best of a sweep that is the best",
        [(NORM, "| 8 | **200 µs** | **2.0×** |", "| 8 | **200 µs** (best) | **2.0×** |")],
    ),
    Case(
        "a column headed by a setting with the row's figure, and one of another tile",
        [(GEMM, "## Tested shapes", SETTINGS.format("5999") + "## Tested shapes")],
    ),
    Case(
        "a worst case that the rows keep",
        [(GEMM, "## Tested shapes", WORST.format("~6.1e-4") + "## Tested shapes")],
    ),
    Case(
        "a cell without a figure in every place",
        [
            (GEMV, "| 1100 µs | 30.5 |", "| 1100 µs | n.a. (hung twice) |"),
            (INDEX, "| 8/4/4 | **30.5** |", "| 8/4/4 | n.a. (hung twice) |"),
            (INDEX, "**30.5 GFLOP/s** (memory-bound, 4096×4096)", "—"),
        ],
    ),
    Case(
        "a failing setting that no row has",
        [(GEMM_JSON, BIG_NOTE, '"fused-cast at tile_k_l2>=512 FAILS to compile."')],
    ),
]


@pytest.mark.parametrize("case", FOUND, ids=lambda case: case.name)
def test_it_is_found(case: Case, tmp_path: Path) -> None:
    found = findings(edited(tmp_path, *case.edits))
    assert kinds(found) == dict.fromkeys(case.makes, 1)
    assert {one.kind: (one.record, one.found, one.expected) for one in found} == case.makes


@pytest.mark.parametrize("case", NEAR, ids=lambda case: case.name)
def test_what_is_near_is_not_found(case: Case, tmp_path: Path) -> None:
    found = findings(edited(tmp_path, *case.edits))
    assert [(one.kind, one.message) for one in found] == []


def test_a_missing_section_is_shown_where_the_overview_names_the_page(tmp_path: Path) -> None:
    root = edited(tmp_path, (INDEX, NORM_SECTION, ""))
    (found,) = findings(root)
    assert found.confidence == "medium"
    assert found.where[0] == line_of(root, INDEX, "| RMSNorm |")
    assert found.where[1].startswith(f"{NORM}:")


@pytest.mark.parametrize("page", [GEMV, NORM, ATTENTION, GEMM])
def test_a_page_that_is_gone_is_found_where_the_index_links_it(page: str, tmp_path: Path) -> None:
    root = edited(tmp_path)
    (root / page).unlink()
    [finding] = findings(root)
    assert (finding.kind, finding.found) == ("evidence-missing", page)
    assert {side.where.partition(":")[0] for side in finding.sides} == {INDEX}


def test_an_index_that_is_gone_is_refused_with_what_to_do(tmp_path: Path) -> None:
    root = edited(tmp_path)
    (root / INDEX).unlink()
    with pytest.raises(InputError, match=r"no supported_kernels\.md here[^$]*next: name"):
        findings(root)


def test_every_kind_has_a_case() -> None:
    assert {kind for case in FOUND for kind in case.makes} == set(KINDS)
