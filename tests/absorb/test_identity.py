"""Shape, variant, tile and herd read from the cells of a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.absorb import identity
from registry_tool.absorb.expected import Column, ExpectedTable
from registry_tool.absorb.identity import UnclearError
from registry_tool.records import catalog
from registry_tool.records.kernel import shape_text
from registry_tool.records.spec import KernelSpec
from registry_tool.tables.columns import CELLS

SPECS = catalog.built_in()
GEMM = SPECS["GEMM_bf16_in_bf16_out"]
SIZES = st.integers(min_value=1, max_value=2**31)


def table(spec: KernelSpec) -> ExpectedTable:
    columns = [Column(one.title, one.cell, one.argument) for one in spec.columns]
    return ExpectedTable("details/X.md", "shapes", "npu2-emu", spec, columns, [])


@pytest.mark.parametrize("name", sorted(SPECS))
@given(data=st.data())
def test_every_page_names_its_rows_in_full(name: str, data: st.DataObject) -> None:
    spec = SPECS[name]
    shape = {dim: data.draw(SIZES) for dim in spec.dims}
    if "causal" in shape:
        shape["causal"] %= 2
    variant = data.draw(st.sampled_from(sorted(spec.variants))) if spec.variants else None

    class Shown:
        pass

    shown = Shown()
    shown.shape, shown.variant = shape, variant  # type: ignore[attr-defined]
    texts = [
        CELLS[one.cell](shown, spec, "emulated", one.argument)  # type: ignore[arg-type]
        if one.cell in ("shape", "dim", "template", "yes_no", "variant")
        else ""
        for one in spec.columns
    ]
    found = identity.identity(table(spec), texts)
    assert (found.shape, found.variant) == (shape, variant)


@given(st.lists(SIZES, min_size=3, max_size=3), st.sampled_from(["x", "×", " X ", "*", " × "]))
def test_a_shape_may_be_written_with_any_sign_of_times(sizes: list[int], times: str) -> None:
    shape = dict(zip("MKN", sizes, strict=True))
    assert identity.read_template(GEMM.shape_text, "M×K×N", times.join(map(str, sizes))) == shape
    assert identity.read_template(GEMM.shape_text, "M×K×N", shape_text(GEMM, shape)) == shape


@pytest.mark.parametrize("text", ["", "2048×2048", "2048×2048×a", "2048×2048×2048×1", "-1×1×1"])
def test_what_is_no_shape_is_unclear(text: str) -> None:
    with pytest.raises(UnclearError, match="M×K×N"):
        identity.read_template(GEMM.shape_text, "M×K×N", text)


TILE, HERD = Column("Tile", "tile"), Column("Herd", "herd")


def test_a_tile_and_a_herd_are_read_in_the_order_of_the_page() -> None:
    tile = {"tile_m": 64, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128}
    assert identity.configuration(GEMM, TILE, "64/256/32/128") == tile
    assert identity.configuration(GEMM, HERD, "8x4") == {"herd_m": 8, "herd_n": 4}
    assert identity.configuration(GEMM, TILE, "—") == {}
    mixed = Column("best", "configuration", "{tile_m}/{herd_m}")
    assert identity.configuration(GEMM, mixed, "64/8") == {"tile_m": 64, "herd_m": 8}
    assert identity.configuration(GEMM, mixed, "64/8 (herd 8×2)") == {
        "tile_m": 64,
        "herd_m": 8,
        "herd_n": 2,
    }
    for text in ("64/256", "64/256/32/0", "64/256/32/m"):
        with pytest.raises(UnclearError):
            identity.configuration(GEMM, TILE, text)


def test_a_tile_or_herd_that_is_not_given_in_full_is_none() -> None:
    sizes = {"tile_m": 64, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128, "herd_m": 8}
    assert identity.tile_and_herd(GEMM, sizes)[1] is None
    assert identity.tile_and_herd(GEMM, {**sizes, "herd_n": 4})[1] == [8, 4]
    assert identity.tile_and_herd(GEMM, {"tile_m": 64}) == (None, None)


def test_a_variant_must_be_one_that_the_kernel_has() -> None:
    texts = ["256×128×256", "fused"] + [""] * (len(GEMM.columns) - 2)
    with pytest.raises(UnclearError, match="fused-cast"):
        identity.identity(table(GEMM), texts)
    texts[1] = ""
    with pytest.raises(UnclearError, match="empty"):
        identity.identity(table(GEMM), texts)
