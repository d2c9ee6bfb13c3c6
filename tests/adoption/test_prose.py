"""Figures in the prose of small pages: which are proposed, and which the rows contradict."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool.adoption.prose import Contradiction, Reading, propose
from registry_tool.adoption.prose_text import sentences
from registry_tool.records import catalog
from registry_tool.records.record import Record, Use
from registry_tool.tables import inline, selector
from tests.adoption import public
from tests.shared_data import shared
from tests.tables.samples import record

SPECS = catalog.built_in()
GEMV, GEMM, ADD = (
    SPECS[name] for name in ("GEMV_bf16", "GEMM_bf16_in_bf16_out", "EltwiseAdd_bf16")
)


def gemv(m: int, k: int, speed: float, error: float, worst: float, latency: float) -> Record:
    made = record(GEMV, (m, k), None, speed, latency_us=latency, mean_rel_L1=error)
    return replace(made, max_abs=worst)


ROWS = [
    gemv(2048, 2048, 25.5, 1.6e-9, 2.0e-3, 330.0),
    gemv(512, 2048, 15.5, 0.0, 0.0, 136.0),
    gemv(8192, 2048, 31.5, 2.7e-8, 1.3e-1, 1067.0),
    gemv(128, 896, 2.7, 5.9e-8, 1.0, 84.0),
    record(GEMM, (2048, 8192, 2048), "fused-cast", 8898.0, mean_rel_L1=9.7e-3),
    record(GEMM, (2048, 8192, 2048), "drain", 7234.0, mean_rel_L1=9.4e-3),
    record(GEMM, (2048, 8192, 2048), "direct", 5592.0, mean_rel_L1=1.9e-2),
    record(GEMM, (512, 512, 512), "drain", 1703.0, mean_rel_L1=9.6e-3),
    record(ADD, (4194304,), None, 57.7, mean_rel_L1=1.9e-3),
    record(ADD, (8388608,), None, 63.0, mean_rel_L1=1.9e-3),
]
GEMV_PAGE, GEMM_PAGE, ADD_PAGE = (f"details/{spec.kernel}.md" for spec in (GEMV, GEMM, ADD))


def found(path: str, text: str, rows: Iterable[Record] = ROWS) -> Reading:
    return propose({path: f"# Page\n\n{text}\n".encode()}, rows, SPECS)


@pytest.mark.parametrize(
    ("path", "text", "kind", "figure", "says"),
    [
        (GEMV_PAGE, "Accuracy is exact (`mean_rel_L1 ≤ 2.7e-8`).", "bound", "2.7e-8", "1 of 4"),
        (GEMV_PAGE, "Throughput is ~15–32 GFLOPS here.", "range", "15–32", "2.7"),
        (GEMV_PAGE, "Throughput rises\nfrom 9.5 → 31.5 GFLOP/s.", "range", "9.5 → 31.5", "2.7"),
        (GEMV_PAGE, "At 2048×2048 it reaches 26.5 GFLOPS.", "value", "26.5", "the row has 25.5"),
        (GEMV_PAGE, "The 512×2048 row takes 140 µs.", "value", "140", "the row has 136"),
        (GEMV_PAGE, "For M=128, K=896 it is 0.9 GFLOP/s.", "value", "0.9", "the row has 2.7"),
        (GEMV_PAGE, "It peaks at 25.5 GFLOP/s.", "best", "25.5", "the best of 4 rows is 31.5"),
        (GEMV_PAGE, "The worst element: `abs_err max = 0.13`.", "worst", "0.13", "is 1.00e0"),
        (
            GEMV_PAGE,
            "atol is below the worst-case (0.25): zeros fail.",
            "worst",
            "0.25",
            "1.00e0",
        ),
        (GEMV_PAGE, "The worst-case abs_err ≈ 0.25 sizes atol.", "worst", "0.25", "is 1.00e0"),
        (GEMM_PAGE, "`direct` cuts often (faster, 1.9e-2).", "faster", "faster", "at 1 of 1"),
        (
            GEMM_PAGE,
            "- **`--high-precision false`** cuts each sum. Faster, but less exact.",
            "faster",
            "Faster",
            "slower than every other method",
        ),
        (GEMV_PAGE, "On all 3 tested shapes it is exact.", "count", "3", "the rows have 4"),
        (GEMV_PAGE, "This holds across the three GEMV shapes.", "count", "three", "have 4"),
        (GEMM_PAGE, "Every shape has `mean_rel_L1 = 9.7e-3`.", "every", "9.7e-3", "2 of 4"),
        (
            GEMM_PAGE,
            "high-precision holds 9.6–9.9e-3 accuracy at every size.",
            "range",
            "9.6–9.9e-3",
            "9.40e-3",
        ),
        (
            GEMM_PAGE,
            "On 2048×8192×2048, drain does 7000 GFLOPS.",
            "value",
            "7000",
            "the row has 7234",
        ),
        (ADD_PAGE, "It moves 57.7 GB/s — the highest bandwidth of all.", "best", "57.7", "63.0"),
        (
            "README.md",
            "GEMV accumulates in FP32 (exact, `≤ 3e-8`), and so on.",
            "bound",
            "3e-8",
            "1 of 4",
        ),
    ],
)
def test_a_figure_that_rows_contradict_is_found(
    path: str, text: str, kind: str, figure: str, says: str
) -> None:
    (one,) = found(path, text).contradictions
    assert (one.kind, one.place.text.replace("\n", " "), one.place.line) == (
        kind,
        figure,
        3 + text[: text.index(figure)].count("\n"),
    )
    assert says in one.message


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (GEMV_PAGE, "At 2048×2048 it reaches 25.5 GFLOPS."),
        (GEMV_PAGE, "At 2048×2048 it reaches ~26 GFLOPS."),
        (GEMV_PAGE, "`mean_rel_L1 ≤ 5.9e-8` everywhere."),
        (GEMV_PAGE, "At 2048×2048, `herd_m=4` best = 9.4 GFLOPS."),
        (GEMV_PAGE, "The sweep at 2048×2048 ended at 19.0 GFLOPS."),
        (GEMV_PAGE, "At 4096×4096 it reaches 19.0 GFLOPS."),
        (GEMV_PAGE, "Unlike GEMM (9.3e-3 accuracy) it is exact."),
        (GEMV_PAGE, "PyTorch's own test passes at mean_rel_L1 = 5e-2."),
        (GEMV_PAGE, "`rtol = 1.6e-2` and `atol = 1e-3`."),
        (GEMV_PAGE, "It moves 28 GB/s."),
        (GEMV_PAGE, "At 2048×2048, one tile silently corrupts (`mean_rel_L1 = 7.7e-2`)."),
        (GEMV_PAGE, "Qwen3-0.6B: all 3 shapes pass."),
        (GEMV_PAGE, "On all three lit shapes."),
        (GEMV_PAGE, "256 → 19.4 GFLOP/s, 512 → 20.2 GFLOP/s."),
        (GEMV_PAGE, "```\n2048×2048: 99 GFLOP/s\n```"),
        (GEMV_PAGE, "| M×K | GFLOP/s |\n|---|---|\n| 2048×2048 | 99 GFLOP/s |"),
        (GEMV_PAGE, "At 2048×2048 <!-- 99 GFLOP/s --> it is fast."),
        (GEMV_PAGE, "Small ones hit the ~80 µs launch floor."),
        (GEMM_PAGE, "`--high-precision true` is faster (9.7e-3 accuracy)."),
        (GEMM_PAGE, "The direct path is faster than the f32 sibling."),
        (GEMM_PAGE, "For large shapes, direct is faster."),
        (GEMM_PAGE, "At 512×512×512 the direct path is faster."),
        (GEMM_PAGE, "fused-cast or drain, whichever is faster."),
        (GEMM_PAGE, "With `tile_m = 32` direct is faster."),
        (GEMV_PAGE, "The worst-case (0.25) is small."),
        (GEMM_PAGE, "fused-cast and drain: 9.4–9.7e-3 precision."),
        (GEMM_PAGE, "For 2048×8192×2048 the direct path (5592 GFLOPS / 1.9e-2) is worse."),
        (ADD_PAGE, "Bandwidth climbs (57.7 → 63.0 GB/s)."),
        ("README.md", "All 3 tested shapes do 99 GFLOP/s at 2048×2048."),
    ],
)
def test_what_rows_do_not_contradict_is_left_alone(path: str, text: str) -> None:
    assert found(path, text).contradictions == ()


@pytest.mark.parametrize(
    ("path", "text", "proposed"),
    [
        (GEMV_PAGE, "At 2048×2048 it does 25.5 GFLOPS.", "best throughput M=2048 K=2048 -> 25.5"),
        (GEMV_PAGE, "It spans 2.7–31.5 GFLOP/s.", "range throughput -> 2.7–31.5"),
        (GEMV_PAGE, "The 512×2048 row takes 136 µs.", "best latency M=512 K=2048 unit=no -> 136"),
        (GEMV_PAGE, "It is at its best at 31.5 GFLOP/s.", "best throughput -> 31.5"),
        (GEMV_PAGE, "**mean_rel_L1 ≤ 5.9e-8** here.", "worst mean_rel_L1 digits=2 -> 5.9e-8"),
        (
            GEMM_PAGE,
            "At 2048×8192×2048, drain does 7234 GFLOPS.",
            "best throughput variant=drain M=2048 K=8192 N=2048 -> 7234",
        ),
        (
            "README.md",
            "Element-wise Add has mean_rel_L1 = 1.9e-3 here.",
            "worst mean_rel_L1 kernel=EltwiseAdd_bf16 digits=2 -> 1.9e-3",
        ),
    ],
)
def test_a_figure_that_a_record_can_show_is_proposed(path: str, text: str, proposed: str) -> None:
    (one,) = found(path, text).proposals
    assert f"{one.selector} -> {one.place.text}" == proposed
    assert not one.in_code


def test_a_cell_of_a_table_is_read_but_proposed_for_no_value() -> None:
    table = "| Kernel | accuracy |\n|---|---|\n| Element-wise Add | mean_rel_L1 = {} |"
    right, wrong = (found("README.md", table.format(said)) for said in ("1.9e-3", "2.9e-3"))
    assert (right.proposals, right.contradictions) == ((), ())
    assert wrong.proposals == ()
    sentence = found("README.md", "Element-wise Add has mean_rel_L1 = 1.9e-3.")
    assert len(sentence.proposals) == 1


def test_a_single_figure_is_proposed_only_where_every_row_shows_it() -> None:
    # 9.4e-3 is the best of four GEMM rows: a value would show another one of them.
    assert found(GEMM_PAGE, "It has mean_rel_L1 = 9.4e-3 here.").proposals == ()


def test_each_end_of_an_arrow_is_proposed() -> None:
    text = "Bandwidth climbs with N (57.7 → 63.0 GB/s)."
    said = [(str(one.selector), one.place.text) for one in found(ADD_PAGE, text).proposals]
    assert said == [("worst throughput", "57.7"), ("best throughput", "63.0")]


def test_a_figure_in_a_code_span_is_told_apart() -> None:
    (one,) = found(ADD_PAGE, "Accuracy `mean_rel_L1 = 1.9e-3` here.").proposals
    assert one.in_code


def test_a_figure_that_is_a_value_already_is_not_looked_at() -> None:
    marked = "<!-- registry:value best throughput -->25.5<!-- /registry:value -->"
    reading = found(GEMV_PAGE, f"At 2048×2048 it does {marked} GFLOPS.")
    assert (reading.proposals, reading.contradictions, reading.looked_at) == ((), (), 0)


def test_the_section_of_an_index_says_which_kernel_is_meant() -> None:
    text = f"## GEMV\n\nSee [`{GEMV_PAGE}`]({GEMV_PAGE}).\n\nIt peaks at 99.0 GFLOP/s.\n"
    reading = propose({"supported_kernels.md": text.encode()}, ROWS, SPECS)
    assert [one.kernel for one in reading.contradictions] == [GEMV.kernel]


def test_a_place_is_bytes_of_the_page() -> None:
    page = "\ufeff# é\r\n\r\n> * At 2048×2048\r\n>   it does **26.5 GFLOPS**.\r\n".encode()
    (one,) = propose({GEMV_PAGE: page}, ROWS, SPECS).contradictions
    assert page[one.place.start : one.place.stop] == b"26.5"
    assert one.place.line == 4


def with_proposals(page: bytes, reading: Reading) -> bytes:
    """The page with each figure outside of code replaced by its value."""
    for one in sorted(reading.proposals, key=lambda one: -one.place.start):
        if not one.in_code:
            page = page[: one.place.start] + one.marked.encode() + page[one.place.stop :]
    return page


def test_a_page_with_its_proposals_is_what_render_would_write() -> None:
    text = (
        "# Page\n\nAt 2048×2048 it does 25.5 GFLOPS. It spans 2.7–31.5 GFLOP/s.\n\n"
        "- The 512×2048 row takes 136 µs.\n- **mean_rel_L1 ≤ 5.9e-8** here.\n"
    )
    reading = propose({GEMV_PAGE: text.encode()}, ROWS, SPECS)
    assert len(reading.proposals) == 4
    page = with_proposals(text.encode(), reading)
    target = catalog.parse_policy(
        b"schema_version: 1\ntargets:\n  npu2:\n    kind: hardware\n    lock: {path: /tmp/l}\n",
        "registry.yaml",
    ).targets
    values = inline.Values(SPECS, target, lambda place: [r for r in ROWS if r.kernel == place[1]])
    home = inline.home_of(GEMV_PAGE, SPECS, target)
    assert inline.splice(page, values, home, GEMV_PAGE) == page
    for one in inline.marked(page):
        assert selector.parse(one.words)


@given(st.text(st.sampled_from("a1. ×–→`*|>-\n\r#é(0e-3)µs GFLOP/≤"), max_size=80))
def test_any_page_is_read(text: str) -> None:
    for one in sentences(text, tables=True):
        assert len(one.text) == len(one.offsets) == len(one.code)
        assert all(text[at] == char for at, char in zip(one.offsets, one.text, strict=True)
                   if char != " ")  # fmt: skip
    found(GEMV_PAGE, text)


# The public registry, read in place.


@pytest.fixture(scope="module")
def upstream() -> Reading:
    return public.prose()


def of(reading: Reading, place: str, figure: str) -> list[Contradiction]:
    return [
        one
        for one in reading.contradictions
        if f"{one.place.file}:{one.place.line}" == place and one.place.text == figure
    ]


@pytest.mark.parametrize(
    ("place", "figure", "kind"),
    [
        ("README.md:35", "3e-8", "bound"),
        ("details/GEMV_bf16.md:139", "2.7e-8", "bound"),
        ("details/GEMV_bf16.md:140", "15–32", "range"),
        ("details/EltwiseAdd_bf16.md:117", "57.7", "best"),
        ("details/RoPE_bf16.md:197", "0.04 → 43.4", "range"),
        ("details/SiLU_Mul_bf16.md:61", "0.125", "every"),
        ("details/GEMM_bf16_in_bf16_out.md:310", "7", "count"),
        ("details/GEMM_bf16_in_fp32_out.md:135", "9.3e-3", "every"),
        ("details/GEMM_bf16_in_bf16_out.md:106", "2.4e-3", "worst"),
        ("details/GEMM_bf16_in_bf16_out.md:23", "Faster", "faster"),
        ("supported_kernels.md:57", "faster", "faster"),
    ],
)
def test_upstream_prose_that_its_tables_contradict_is_found(
    upstream: Reading, place: str, figure: str, kind: str
) -> None:
    assert [one.kind for one in of(upstream, place, figure)] == [kind]


@pytest.mark.parametrize(
    ("place", "figure"),
    [
        ("details/GEMM_bf16_in_bf16_out.md:295", "5528"),  # the row's own
        ("details/GEMM_bf16_in_bf16_out.md:242", "129.2"),  # of a sweep
        ("details/GEMM_bf16_in_fp32_out.md:134", "9.8"),  # 9797, rounded
        ("details/FlashAttention_bf16.md:168", "864"),  # half of the array
        ("details/GELU_bf16.md:167", "17.8 → 27.0"),
        ("details/LayerNorm_bf16.md:125", "80–150"),  # a launch floor
    ],
)
def test_upstream_prose_that_is_right_is_not_accused(
    upstream: Reading, place: str, figure: str
) -> None:
    assert of(upstream, place, figure) == []


def test_upstream_proposals_stand_where_they_say(upstream: Reading) -> None:
    root = shared("upstream_registry")
    assert len(upstream.proposals) >= 80
    for one in upstream.proposals:
        data = (root / one.place.file).read_bytes()
        assert data[one.place.start : one.place.stop].decode() == one.place.text


F32 = SPECS["GEMM_bf16_in_fp32_out"]
F32_PAGE = f"details/{F32.kernel}.md"


def used(made: Record, *uses: str) -> Record:
    return replace(made, used_by=[Use(model="Toy-1B", site=one) for one in uses])


CLAIM_ROWS = [
    *ROWS,
    record(F32, (2048, 2048, 2048), "external", 8500.0, mean_rel_L1=9.3e-3),
    record(F32, (2048, 2048, 2048), "direct", 5500.0, mean_rel_L1=9.3e-3),
    record(F32, (512, 512, 512), "external", 1790.0, mean_rel_L1=9.3e-3),
    record(F32, (512, 512, 512), "direct", 1540.0, mean_rel_L1=9.3e-3),
    used(gemv(4096, 1024, 20.0, 3.0e-7, 1.0, 400.0), "decode Q proj"),
    used(gemv(1024, 1024, 14.0, 0.0, 0.0, 150.0), "decode K/V proj"),
]


@pytest.mark.parametrize(
    ("path", "text", "kind", "figure", "says"),
    [
        (F32_PAGE, "external is ~1.5–1.7× faster than direct.", "ratio", "1.5–1.7", "1 of 2"),
        (F32_PAGE, "The cast costs ~7% (fused 8898 vs external-f32 9797).", "ratio", "7", "9.2"),
        (
            F32_PAGE,
            "external: 2048×2048×2048 and 512×512×512 run within 5% of each other.",
            "ratio",
            "5",
            "apart",
        ),
        (ADD_PAGE, "It is the lowest in the registry.", "rank", "lowest", "GEMV_bf16"),
        (ADD_PAGE, "This is the cleanest kernel.", "rank", "cleanest", "GEMV_bf16"),
        (
            GEMM_PAGE,
            "It is the second-cleanest in the registry.",
            "rank",
            "second-cleanest",
            "EltwiseAdd",
        ),
        (
            GEMV_PAGE,
            "Toy-1B: decode projections bit-identical (0.0) to the f32 ref.",
            "exact",
            "0.0",
            "4096×1024",
        ),
        (GEMV_PAGE, "Measured `mean_rel_L1` is `0`–`2.7e-8`.", "range", "0`–`2.7e-8", "of 6"),
        (
            GEMM_PAGE,
            "Accuracy (`mean_rel_L1 ≈ 9.7e-3`) is set by the datapath, not the shape.",
            "every",
            "9.7e-3",
            "1 of 4",
        ),
        (GEMM_PAGE, "The four 2048-row entries are of a model.", "count", "four", "have 1"),
    ],
)
def test_a_claim_that_rows_contradict_is_found(
    path: str, text: str, kind: str, figure: str, says: str
) -> None:
    (one,) = found(path, text, CLAIM_ROWS).contradictions
    assert (one.kind, one.place.text) == (kind, figure)
    assert says in one.message


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (F32_PAGE, "external is ~1.5–1.7× faster on large shapes."),
        (F32_PAGE, "external is 1.1–1.6× faster than direct."),
        (F32_PAGE, "`tile_n=128` is 9× faster than 64, with external code."),
        (F32_PAGE, "The cast costs ~9% (fused 8898 vs external-f32 9797)."),
        (F32_PAGE, "It has 50% margin (rtol 8898 vs 9797)."),
        (ADD_PAGE, "It has the highest bandwidth in the registry."),
        (ADD_PAGE, "It is among the cleanest in the registry."),
        (ADD_PAGE, "It is the second-cleanest in the registry."),
        (GEMV_PAGE, "It is the lowest in the registry."),
        (GEMV_PAGE, "Toy-1B: decode K/V projections bit-identical (0.0) to the f32 ref."),
        (GEMV_PAGE, "Toy-1B: decode projections bit-identical (0.0) or ≤3.1e-7 to the f32 ref."),
        (GEMV_PAGE, "Several shapes are bit-identical to the f32 ref."),
        (GEMM_PAGE, "All of it holds for the 1 2048-row entries."),
    ],
)
def test_a_claim_that_rows_bear_out_is_left_alone(path: str, text: str) -> None:
    assert found(path, text, CLAIM_ROWS).contradictions == ()
