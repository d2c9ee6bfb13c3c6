"""A block's row meets the needs that its spec covers, and no other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from registry_tool.errors import InputError
from registry_tool.planning.covers import covering
from registry_tool.records.catalog import built_in
from registry_tool.records.keys import RowId
from registry_tool.records.spec import Cover, KernelSpec
from tests.records.examples import RECORD

GEMM = "GEMM_bf16_in_bf16_out"


def block(*covers: Cover) -> dict[str, KernelSpec]:
    """The built-in specs, with a GEMM page that covers other needs."""
    specs = dict(built_in())
    specs[GEMM] = replace(specs[GEMM], covers=list(covers))
    return specs


ROW = RowId("npu2", GEMM, "2048x8192x2048+fused-cast")
BACKED = {ROW: RECORD}


def test_the_sizes_are_computed_from_the_dims_of_the_block() -> None:
    specs = block(
        Cover(kernel="SiLU_Mul_bf16", shape={"N": "M * K"}),
        Cover(kernel="GEMV_bf16", shape={"K": "K", "M": "N // 2"}),
    )
    assert covering(specs, BACKED) == {
        ("SiLU_Mul_bf16", (2048 * 8192,)): ROW,
        # In the order of the kernel's dims, whatever order the page gives.
        ("GEMV_bf16", (1024, 8192)): ROW,
    }


def test_a_row_that_is_not_backed_covers_nothing() -> None:
    assert covering(block(Cover(kernel="GELU_bf16", shape={"N": "M"})), {}) == {}


def test_a_size_that_is_not_whole_is_no_need() -> None:
    specs = block(Cover(kernel="GELU_bf16", shape={"N": "M / 3"}))
    assert covering(specs, BACKED) == {}
    specs = block(Cover(kernel="GELU_bf16", shape={"N": "M - K"}))
    assert covering(specs, BACKED) == {}


def test_of_two_rows_the_first_name_covers_whatever_their_order() -> None:
    specs = block(Cover(kernel="GELU_bf16", shape={"N": "M"}))
    other = RowId("npu2", GEMM, "2048x8192x2048+drain")
    for backed in ({ROW: RECORD, other: RECORD}, {other: RECORD, ROW: RECORD}):
        assert covering(specs, backed) == {("GELU_bf16", (2048,)): other}


@pytest.mark.parametrize(
    ("cover", "words"),
    [
        (Cover(kernel="Nothing", shape={"N": "M"}), "unknown kernel 'Nothing'"),
        (Cover(kernel="GELU_bf16", shape={"M": "M"}), "exactly N"),
        (Cover(kernel="GELU_bf16", shape={"N": "Q"}), "'Q', which is not defined"),
        (Cover(kernel="GELU_bf16", shape={"N": "M // (K - K)"}), "cannot be computed"),
    ],
)
def test_a_page_that_does_not_fit_is_named(cover: Cover, words: str) -> None:
    with pytest.raises(InputError, match="GEMM_bf16_in_bf16_out") as caught:
        covering(block(cover), BACKED)
    assert "kernels/GEMM_bf16_in_bf16_out.yaml: " in str(caught.value)
    assert words in str(caught.value)
