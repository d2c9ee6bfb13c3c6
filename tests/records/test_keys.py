"""Keys and paths are derived from the fields, and lead back to them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.records import catalog, keys
from registry_tool.records.keys import RowId

GEMM = ["M", "K", "N"]


def test_a_key_is_the_shape_in_the_order_of_the_dims_and_the_variant() -> None:
    shape = {"N": 512, "M": 2048, "K": 8192}
    assert keys.key_of(GEMM, shape, "fused-cast") == "2048x8192x512+fused-cast"
    assert keys.key_of(GEMM, shape, None) == "2048x8192x512"
    assert keys.key_of(["N"], {"N": 7}, None) == "7"
    with pytest.raises(KeyError):
        keys.key_of(GEMM, {"M": 1, "K": 2}, None)


def test_paths_are_derived_from_the_row() -> None:
    row = keys.row_id("npu2", "GEMM_bf16_in_bf16_out", GEMM, {"M": 1, "K": 2, "N": 3}, "drain")
    assert row == RowId("npu2", "GEMM_bf16_in_bf16_out", "1x2x3+drain")
    assert str(row) == "npu2/GEMM_bf16_in_bf16_out/1x2x3+drain"
    assert row.record_path == "records/npu2/GEMM_bf16_in_bf16_out/1x2x3+drain.json"
    assert row.verdict_folder == "verdicts/npu2/GEMM_bf16_in_bf16_out/1x2x3+drain"


_shapes = st.lists(st.integers(0, 10**12), min_size=1, max_size=7)
_variants = st.none() | st.sampled_from(["drain", "fused-cast", "direct", "v2.1_x", "9"])


@settings(max_examples=100)
@given(_shapes, _variants)
def test_a_key_leads_back_to_shape_and_variant(sizes: list[int], variant: str | None) -> None:
    dims = [f"d{index}" for index in range(len(sizes))]
    shape = dict(zip(dims, sizes, strict=True))
    key = keys.key_of(dims, shape, variant)
    assert keys.parse_key(dims, key) == (shape, variant)
    row = RowId("npu2-emu", "GEMV_bf16", key)
    assert keys.parse_record_path(row.record_path) == row
    for suffix in ("json", "log", "err"):
        found = keys.parse_verdict_path(f"{row.verdict_folder}/20260801T000000Z-0123abcd.{suffix}")
        assert found == keys.VerdictFile(row, "20260801T000000Z-0123abcd", suffix)


@pytest.mark.parametrize("name", sorted(catalog.built_in()))
def test_keys_of_two_rows_of_a_kernel_never_coincide(name: str) -> None:
    spec = catalog.built_in()[name]
    shapes = [dict(zip(spec.dims, sizes, strict=True)) for sizes in _near(len(spec.dims))]
    variants: list[str | None] = [*spec.variants] or [None]
    rows = [(shape, variant) for shape in shapes for variant in variants]
    assert len({keys.key_of(spec.dims, shape, variant) for shape, variant in rows}) == len(rows)


def _near(count: int) -> list[list[int]]:
    return [[12, *[1] * (count - 1)], [1, *[12] * (count - 1)], [*[1] * (count - 1), 121]]


@pytest.mark.parametrize(
    "key",
    [
        "",
        "1x2",
        "1x2x3x4",
        "1x2x3+",
        "1x2x3+a b",
        "1x2x3+a/b",
        "1x2x3++drain",
        "+drain",
        "1x2x3\n",
        "1 x2x3",
        "1X2X3",
        "1×2×3",
        "-1x2x3",
        "1.0x2x3",
        "1x2x٣",
        "١x2x3",
        "ax2x3",
    ],
)
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="is not MxKxN"):
        keys.parse_key(GEMM, key)


@pytest.mark.parametrize(
    "path",
    [
        "records/npu2/GEMV_bf16.json",
        "records/npu2/GEMV_bf16/a/b.json",
        "records/npu2/GEMV_bf16/1x2.JSON",
        "records/npu2/GEMV_bf16/1x2.json~",
        "/records/npu2/GEMV_bf16/1x2.json",
        "x/records/npu2/GEMV_bf16/1x2.json",
        "records//GEMV_bf16/1x2.json",
        "records\\npu2\\GEMV_bf16\\1x2.json",
    ],
)
def test_other_paths_are_no_records(path: str) -> None:
    assert keys.parse_record_path(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "verdicts/npu2/GEMV_bf16/1x2.json",
        "verdicts/npu2/GEMV_bf16/1x2/run.txt",
        "verdicts/npu2/GEMV_bf16/1x2/x/run.json",
        "verdicts/npu2/GEMV_bf16/1x2/.json/",
        "records/npu2/GEMV_bf16/1x2/run.json",
    ],
)
def test_other_paths_are_no_verdicts(path: str) -> None:
    assert keys.parse_verdict_path(path) is None
