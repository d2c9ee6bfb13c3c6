"""The constraints of the specs, held to every row, sweep and remark of the upstream registry."""

from __future__ import annotations

from collections import Counter
from functools import cache

import msgspec
import pytest

from registry_tool.records import catalog, kernel
from registry_tool.records.spec import KernelSpec
from tests.kernels import prose, upstream
from tests.shared_data import shared

# Guidelines that no recorded row breaks; each says in its reason what it stands on instead.
INFERRED = {
    ("EltwiseAdd_bf16", "even-chunks"),
    ("GEMM_bf16_in_fp32_out", "k-steps"),
    ("SiLU_Mul_bf16", "pipelined-loop"),
}

every_kernel = pytest.mark.parametrize("name", upstream.KERNELS)


@cache
def _rows(name: str) -> list[upstream.Row]:
    return upstream.rows(name, shared("upstream_registry")) + prose.rows(name)


def _violations(spec: KernelSpec, row: upstream.Row) -> list[kernel.Violation]:
    return kernel.violations(spec, row.shape, row.variant, row.tile, row.herd)


def _refused_although_it_worked(spec: KernelSpec, rows: list[upstream.Row]) -> list[str]:
    return [
        f"{row}: {violation.id}"
        for row in rows
        if row.works
        for violation in _violations(spec, row)
        if violation.hard
    ]


@every_kernel
def test_no_recorded_row_breaks_a_hard_constraint(name: str) -> None:
    assert not _refused_although_it_worked(catalog.built_in()[name], _rows(name))


@every_kernel
def test_whatever_failed_upstream_is_refused(name: str) -> None:
    spec = catalog.built_in()[name]
    allowed = [
        str(row)
        for row in _rows(name)
        if not row.works and not any(violation.hard for violation in _violations(spec, row))
    ]
    assert not allowed


@every_kernel
def test_every_guideline_is_broken_by_a_row_or_says_why_it_is_one(name: str) -> None:
    spec = catalog.built_in()[name]
    broken = {
        violation.id for row in _rows(name) if row.works for violation in _violations(spec, row)
    }
    guidelines = {rule.id: rule.reason for rule in spec.constraints if rule.kind == "guideline"}
    unbroken = {(name, rule) for rule in guidelines if rule not in broken}
    assert unbroken == {entry for entry in INFERRED if entry[0] == name}
    assert all(guidelines[rule].startswith("inferred") for _, rule in unbroken)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("EltwiseAdd_bf16", "one-row"),
        ("FlashAttention_bf16", "four-stages"),
        ("GEMM_bf16_in_bf16_out", "dma-stride"),
        ("GEMM_bf16_in_bf16_out", "drain-tile-m"),
        ("GEMM_bf16_in_bf16_out", "herd-n-above-one"),
        ("GEMM_bf16_in_fp32_out", "dma-stride"),
        ("GEMV_bf16", "launch-repeats"),
        ("SiLU_Mul_bf16", "one-row"),
    ],
)
def test_what_the_page_calls_hard_would_refuse_a_recorded_row(name: str, rule: str) -> None:
    spec = catalog.built_in()[name]
    constraints = [
        msgspec.structs.replace(found, kind="hard") if found.id == rule else found
        for found in spec.constraints
    ]
    stricter = msgspec.structs.replace(spec, constraints=constraints)
    assert any(entry.endswith(rule) for entry in _refused_although_it_worked(stricter, _rows(name)))


def test_nineteen_rows_exceed_the_dma_stride() -> None:
    spec = catalog.built_in()["GEMM_bf16_in_bf16_out"]
    of_json = [row for row in _rows(spec.kernel) if row.where.endswith(".json")]
    found = Counter(violation.id for row in of_json for violation in _violations(spec, row))
    assert found["dma-stride"] == 19


def test_the_reader_overlooks_no_row() -> None:
    found = {
        name: Counter(row.where.partition(":")[0] for row in _rows(name) if ".md" in row.where)
        for name in upstream.KERNELS
    }
    of_pages = {name: sum(counts.values()) for name, counts in found.items()}
    # Tested shapes and sweeps of the page, and the rows of the index that give a configuration.
    assert of_pages == {
        "EltwiseAdd_bf16": 18 + 9,
        "FlashAttention_bf16": 21 + 15,
        "GELU_bf16": 20 + 5,
        "GEMM_bf16_in_bf16_out": 78,
        "GEMM_bf16_in_fp32_out": 14 + 14,
        "GEMV_bf16": 37 + 37,
        "LayerNorm_bf16": 5 + 1,
        "RMSNorm_bf16": 12 + 8,
        "RoPE_bf16": 21 + 13,
        "SiLU_Mul_bf16": 26 + 11,
    }


@every_kernel
def test_a_known_bad_tiling_says_what_was_seen_and_where(name: str) -> None:
    spec = catalog.built_in()[name]
    for bad in spec.known_bad:
        assert any(digit in bad.reason for digit in "0123456789"), bad
        assert ("mean_rel_L1" in bad.reason) == ("corrupts" in bad.reason or "zeros" in bad.reason)


@every_kernel
def test_constraint_ids_are_distinct(name: str) -> None:
    ids = [rule.id for rule in catalog.built_in()[name].constraints]
    assert len(ids) == len(set(ids))
