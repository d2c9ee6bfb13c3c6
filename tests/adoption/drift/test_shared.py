"""The report on the public registry: what was verified by hand, and what must not be in it."""

from __future__ import annotations

import time

import pytest

from registry_tool.adoption import drift
from registry_tool.adoption.drift import Finding
from registry_tool.adoption.prose import Contradiction
from registry_tool.records import catalog
from tests.adoption import public
from tests.adoption.drift.registry import GEMM, GEMM_JSON, INDEX, kinds

BF16 = "GEMM_bf16_in_bf16_out"
F32_PAGE = "details/GEMM_bf16_in_fp32_out.md"

# Every hit was looked at in the files; a count that changes means that one has to be again.
COUNTS = {
    "headline-not-best": 4,
    "bold-not-best": 5,
    "page-missing": 1,
    "row-counts": 2,
    "row-missing": 14 + 31 + 1,
    "variant-missing": 3,
    "cells-disagree": 3 + 2,
    "sweep-best-beaten": 2,
    "worst-exceeded": 1,
    "status-disagrees": 1,
    "value-in-wrong-column": 5 + 9 + 1,
    "verdict-inherited": 3,
    "verdict-failing": 8,
    "verdict-max-abs-only": 5,
    "verdict-not-measured": 2,
    "evidence-missing": 7,
    "best-missing": 2,
    "best-failing": 9,
    "best-inherited": 3,
    "herd-below-target": 10,
    "rule-contradicted": 15 + 2,
    "throughput-contradicts-latency": 1 + 3,
    "sites-disagree": 1,
    "credit-differs": 21,
    "column-missing": 10,
    "row-misread": 7,
}


def found() -> tuple[Finding, ...]:
    return public.findings()


def of(kind: str) -> list[Finding]:
    return [finding for finding in found() if finding.kind == kind]


def test_the_counts_are_those_that_were_verified() -> None:
    assert kinds(list(found())) == COUNTS


def test_the_whole_registry_takes_about_a_second() -> None:
    specs = catalog.built_in()
    read = public.adopted()
    started = time.process_time()
    drift.find(read, specs)
    assert time.process_time() - started < 2.0


def test_attention_of_32_heads_is_counted_twice() -> None:
    [finding] = [one for one in of("throughput-contradicts-latency") if one.confidence == "high"]
    assert finding.record == "FlashAttention_bf16/2048x2048x64x64x32x32x1"
    assert (finding.found, finding.expected) == ("2031", "1017")
    assert finding.where == ["details/FlashAttention_bf16.md:150", f"{INDEX}:229"]


@pytest.mark.parametrize(
    ("line", "wrong", "right"),
    [
        (25, "8898 GFLOP/s", "9740"),
        (26, "32.7 GFLOP/s", "32.6"),
        (29, "1065–1131 GFLOP/s", "3427"),
        (30, "57.7 GB/s", "63.0 GB/s"),
    ],
)
def test_the_overview_names_figures_that_are_not_the_best(
    line: int, wrong: str, right: str
) -> None:
    finding = next(one for one in of("headline-not-best") if one.where[0] == f"{INDEX}:{line}")
    assert (finding.found, finding.expected) == (wrong, right)


def test_of_equal_rows_the_overview_is_held_against_the_one_that_it_names() -> None:
    finding = next(one for one in of("headline-not-best") if one.where[0] == f"{INDEX}:26")
    assert finding.record == "GEMV_bf16/16384x3072"


def test_bold_marks_that_are_not_the_best() -> None:
    assert {(one.where[0], one.found) for one in of("bold-not-best")} == {
        ("details/EltwiseAdd_bf16.md:107", "61.4 GB/s"),
        ("details/FlashAttention_bf16.md:149", "1065–1116"),
        (f"{INDEX}:89", "direct 4397"),
        (f"{INDEX}:138", "30.6"),
        (f"{INDEX}:228", "1065–1116"),
    }


@pytest.mark.parametrize(
    ("kernel", "counts"),
    [
        (BF16, {"76 shapes", "62 shapes", "45 shapes"}),
        ("FlashAttention_bf16", {"16 shapes", "15 shapes"}),
    ],
)
def test_the_places_do_not_list_the_same_number_of_shapes(kernel: str, counts: set[str]) -> None:
    [finding] = [one for one in of("row-counts") if one.message.startswith(kernel)]
    assert {side.value for side in finding.sides} == counts


@pytest.mark.parametrize(("place", "count"), [(f"{GEMM}:124", 14), (f"{INDEX}:59", 31)])
def test_shapes_of_the_json_are_missing_elsewhere(place: str, count: int) -> None:
    missing = [one for one in of("row-missing") if one.where[0] == place]
    assert len(missing) == count
    assert all(any(side.startswith(GEMM_JSON) for side in one.where) for one in missing)


def test_attention_of_16_heads_is_missing_in_the_index() -> None:
    [finding] = [one for one in of("row-missing") if (one.record or "").startswith("Flash")]
    assert finding.record == "FlashAttention_bf16/2048x2048x128x128x16x2x1"


def test_methods_that_only_the_json_has() -> None:
    assert {(one.record, one.where[0].partition(":")[0]) for one in of("variant-missing")} == {
        (f"{BF16}/2048x2560x1024+drain", GEMM),
        (f"{BF16}/2048x2560x1024+drain", INDEX),
        (f"{BF16}/2048x1024x3072+fused-cast", GEMM),
    }


def test_cells_that_disagree() -> None:
    assert {(one.record, one.found, one.expected) for one in of("cells-disagree")} == {
        ("GELU_bf16/3145728", "24.2 GB/s", "24.1 GB/s"),
        (f"{BF16}/64x12288x960+drain", "8×4", "4×4"),
        ("SiLU_Mul_bf16/16777216", "4153 µs, 24.2 GB/s", "4016 µs, 25.1 GB/s"),
        ("GEMM_bf16_in_fp32_out/2048x2048x2048+external", "8600", "8508"),
        ("GEMM_bf16_in_fp32_out/2048x8192x2048+external", "9321", "9797"),
    }


def test_sweeps_whose_best_is_not_the_best() -> None:
    beaten = of("sweep-best-beaten")
    assert {(one.where[0], one.found, one.expected, one.confidence) for one in beaten} == {
        ("details/RoPE_bf16.md:223", "43.4 GB/s", "44.3 GB/s", "high"),
        ("details/GELU_bf16.md:218", "24.1 GB/s", "24.2 GB/s", "low"),
    }


def test_a_worst_case_that_nine_rows_exceed() -> None:
    [finding] = of("worst-exceeded")
    assert (finding.where[0], finding.found, finding.expected) == (
        f"details/{BF16}.md:102",
        "~2.4e-3",
        "3.4e-3",
    )


def test_limits_that_a_sweep_passes() -> None:
    said = {one.record: one.message for one in of("rule-contradicted") if "sweep" in one.found}
    assert set(said) == {"SiLU_Mul_bf16/16777216", "EltwiseAdd_bf16/4194304"}
    assert "herd_y must be 1" in said["SiLU_Mul_bf16/16777216"]


def prose() -> tuple[Contradiction, ...]:
    return public.prose().contradictions


# Each was looked at in the pages.
CLAIMS = {
    ("details/EltwiseAdd_bf16.md:42", "rank", "cleanest"),
    ("details/EltwiseAdd_bf16.md:56", "rank", "cleanest"),
    ("details/EltwiseAdd_bf16.md:118", "rank", "cleanest"),
    (f"details/{BF16}.md:118", "count", "four"),
    (f"details/{BF16}.md:172", "ratio", "5"),
    (f"details/{BF16}.md:312", "ratio", "7"),
    ("details/GEMV_bf16.md:45", "range", "0`–`2.7e-8"),
    ("details/GEMV_bf16.md:80", "range", "0`–`2.7e-8"),
    (f"{INDEX}:51", "ratio", "1.5–1.7"),
    (f"{INDEX}:172", "exact", "0.0"),
    (f"{INDEX}:176", "exact", "0.0"),
    (f"{INDEX}:252", "every", "3.9e-2"),
    (f"{INDEX}:258", "rank", "cleanest"),
    (f"{INDEX}:272", "rank", "lowest"),
    (f"{INDEX}:326", "rank", "second-cleanest"),
}


def test_claims_in_prose_that_rows_contradict() -> None:
    there = {(one.place.where, one.kind, one.place.text) for one in prose()}
    of_claims = {"rank", "ratio", "exact"}
    assert there >= CLAIMS
    assert {one for one in there if one[1] in of_claims} <= CLAIMS
    assert len(prose()) == 40


def test_values_in_the_wrong_column() -> None:
    found = [one.found for one in of("value-in-wrong-column")]
    assert sum(one.startswith("max_abs") for one in found) == 5
    assert sum(one.startswith(("fused-cast (", "direct (")) for one in found) == 9
    assert "4849 as direct" in found


def test_rows_without_an_honest_verdict() -> None:
    def records(kind: str) -> set[str]:
        return {(one.record or "").removeprefix(f"{BF16}/") for one in of(kind)}

    inherited = {"2048x2560x2048", "2048x2048x2560", "2048x10240x2560"}
    numfail = {
        *("64x32x720", "64x720x2048", "256x320x320"),
        *("192x64x256", "192x64x320", "192x256x64", "192x320x64"),
    }
    assert records("verdict-inherited") == {f"{one}+fused-cast" for one in inherited}
    assert records("best-inherited") == records("verdict-inherited")
    failing = {f"{one}+drain" for one in {*numfail, "1024x768x3072"}}
    assert records("verdict-failing") == failing
    assert records("best-failing") == {*failing, "2048x1024x3072+fused-cast"}
    assert records("best-missing") == {"256x64x256", "256x256x64"}
    assert records("verdict-not-measured") == {f"{one}+drain" for one in records("best-missing")}


def test_evidence_that_is_not_there() -> None:
    assert {one.found.rpartition("/")[2] for one in of("evidence-missing")} == {
        *("expert_attn_gemm.csv", "expert_gemm.csv", "expert_npu_feasibility.md"),
        *("validate_attn_gemms.py", "gelu_sweep.sh", "gelu_refine.sh", "rope_sweep.sh"),
    }


def test_one_shape_with_two_sites() -> None:
    [finding] = of("sites-disagree")
    assert finding.record == f"{BF16}/2048x2560x1024"
    assert {"O proj" in side.value for side in finding.sides} == {True, False}


def test_herds_without_a_reason() -> None:
    assert {(one.record or "").partition("/")[2] for one in of("herd-below-target")} == {
        f"64x{rest}+drain"
        for rest in (
            *("32x720", "720x320", "720x720", "720x1600", "720x2048", "720x4096"),
            *("1440x720", "1440x768", "2048x720", "2048x768"),
        )
    }


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ("EltwiseAdd_bf16/245760", "tile=2048 for every shape"),
        ("GEMV_bf16/896x4864", "K=4864 forces tile_m=2"),
        ("GEMV_bf16/2048x6144", "K=6144 forces tile_m=2"),
        (None, "mean_rel_L1 ≤ 2.7e-8"),
        (None, "max_abs = 0.125 for every shape"),
        (None, "mean_rel_L1 = 9.3e-3 for every shape"),
        (None, "tile_k_l2 * N <= 1048576"),
        (f"{BF16}/2048x2560x9728+direct", "direct fails at tile_k_l2 ≥ 128"),
        (f"{BF16}/512x512x512+fused-cast", "tile_m=64 (heading of the table)"),
    ],
)
def test_stated_rules_that_rows_contradict(record: str | None, text: str) -> None:
    assert any(one.record == record and text in one.message for one in of("rule-contradicted"))


def test_seven_pages_lose_their_accuracy_to_bare_pipes() -> None:
    assert len({one.where[0].partition(":")[0] for one in of("row-misread")}) == 7


def about(text: str) -> list[Finding]:
    """Findings with ``text`` in their row or in a place."""
    return [one for one in found() if text in f"{one.record} {' '.join(one.where)}"]


NOT_FOUND = {
    # Both roundings of the JSON's 0.00945, 0.0135, 0.00934 ...
    "no accuracy disagrees between the places": lambda: [
        one for one in of("cells-disagree") if "mean_rel_L1" in one.message
    ],
    # 9.7e-3 stands beside a bold drain of 9.3e-3; it is the other high method's.
    "a tier's accuracy may be that of its other method": lambda: [
        one for one in of("cells-disagree") if "2048x2048x512" in (one.record or "")
    ],
    "the f32 page and its JSON agree row by row": lambda: [
        one
        for one in about("GEMM_bf16_in_fp32_out")
        if one.kind not in ("rule-contradicted", "column-missing")
        and "a table of settings" not in one.message
    ],
    "bold direct where no high method is faster": lambda: [
        one for one in of("bold-not-best") if "2048x1024x3072" in (one.record or "")
    ],
    "bold drain where low-precision direct is faster": lambda: [
        one for one in of("bold-not-best") if "512x512x512" in (one.record or "")
    ],
    "bold for another reason in a table of one method": lambda: [
        one for one in of("bold-not-best") if "/64x" in (one.record or "")
    ],
    "three shapes with only the low tier have their best": lambda: [
        one
        for one in of("best-missing")
        if any(shape in (one.record or "") for shape in ("896x4864", "1536x8960", "11008"))
    ],
    "no best is slower than a passing sibling": lambda: of("best-slower"),
    "no enforced constraint is broken": lambda: of("constraint-broken"),
    "notes about other tiles are no failures of the row": lambda: [
        one
        for one in of("verdict-failing")
        if any(shape in (one.record or "") for shape in ("896x896", "1536x8960", "11008", "12288"))
    ],
    "gates that trip on another method do not fail direct": lambda: [
        one for one in of("verdict-failing") if (one.record or "").endswith("+direct")
    ],
    "herds whose row says why": lambda: [
        one
        for one in of("herd-below-target")
        if any(text in (one.record or "") for text in ("12288x960", "/192x", "960x720", "720x960"))
    ],
    "a dash with the other method's tile is no misplaced value": lambda: [
        one for one in of("value-in-wrong-column") if one.found.startswith("—")
    ],
    "a shape marked as broken in the index need not be elsewhere": lambda: [
        one for one in of("variant-missing") if "11008" in (one.record or "")
    ],
    "nothing is wrong with the throughput of the other 84 timed rows": lambda: [
        one
        for one in of("throughput-contradicts-latency")
        if "GELU" not in (one.record or "") and "32x32x1" not in (one.record or "")
    ],
    "the same site in other words": lambda: [
        one for one in of("sites-disagree") if "/64x" in (one.record or "")
    ],
    "no shape of the flat kernels contradicts its two sizes": lambda: of("shape-contradicts"),
    "no row is listed twice": lambda: of("row-twice"),
    "harness and kernel sources are not evidence": lambda: [
        one for one in of("evidence-missing") if one.found.endswith(("run.py", ".cc", ".o", ".lit"))
    ],
    "the lookup's own module is not evidence": lambda: [
        one for one in of("evidence-missing") if "registry_lookup" in one.found
    ],
}


@pytest.mark.parametrize("what", list(NOT_FOUND))
def test_what_must_not_be_found(what: str) -> None:
    assert NOT_FOUND[what]() == []
