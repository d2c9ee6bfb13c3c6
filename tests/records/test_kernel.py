"""The questions that a spec answers about a shape, a tile and a herd."""

from __future__ import annotations

import msgspec
import pytest

from registry_tool.records import catalog, kernel
from registry_tool.records.expressions import ExpressionError
from registry_tool.records.spec import BandRule, KnownBad

GEMM = catalog.built_in()["GEMM_bf16_in_bf16_out"]
GEMV = catalog.built_in()["GEMV_bf16"]
ATTENTION = catalog.built_in()["FlashAttention_bf16"]

SHAPE = {"M": 2048, "K": 2048, "N": 2048}
TILE = {"tile_m": 64, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128}


def test_expressions_read_dims_knobs_axes_tiles_and_variant() -> None:
    assert kernel.names(GEMM, SHAPE, "drain", TILE, [8, 4]) == {
        **SHAPE,
        **TILE,
        "herd_m": 8,
        "herd_n": 4,
        "tiles": 32,
        "variant": "drain",
    }
    assert kernel.names(GEMM, SHAPE) == {**SHAPE, "variant": None}


def test_tiles_in_flight_are_the_herd_s_product() -> None:
    assert kernel.tiles_in_flight([8, 4]) == 32
    assert kernel.tiles_in_flight([7]) == 7


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        (SHAPE, None),
        ({"M": 1, "K": 1, "N": 1}, None),
        ({"M": 1, "N": 1, "K": 1}, "has the dims M, K, N, in this order"),
        ({"M": 1, "K": 1}, "has the dims M, K, N, in this order"),
        ({"M": 1, "K": 1, "N": 1, "L": 1}, "has the dims M, K, N, in this order"),
        ({"M": 0, "K": 1, "N": 1}, "M must be at least 1, found 0"),
        ({"M": 1, "K": 1, "N": -4}, "N must be at least 1, found -4"),
    ],
)
def test_a_shape_has_the_dims_of_its_page(shape: dict[str, int], complaint: str | None) -> None:
    found = kernel.check_shape(GEMM, shape)
    assert found is complaint is None or (complaint is not None and complaint in (found or ""))


def test_causal_may_be_zero() -> None:
    shape = dict.fromkeys(ATTENTION.dims, 64)
    assert kernel.check_shape(ATTENTION, {**shape, "causal": 0}) is None
    assert kernel.check_shape(ATTENTION, {**shape, "lq": 0}) is not None


def test_a_shape_is_written_with_the_sign() -> None:
    assert kernel.shape_text(GEMM, {"M": 1, "K": 2, "N": 3}) == "1×2×3"


def test_tiers_and_tolerances() -> None:
    assert kernel.precision_of(GEMM, "drain") == "high"
    assert kernel.precision_of(GEMM, "direct") == "low"
    assert kernel.precision_of(GEMV, None) is None
    assert kernel.tolerance(GEMM, "low").atol == 4e-3
    assert kernel.tolerance(GEMV, None).atol == 1e-3
    for variant in (None, "nosuch"):
        with pytest.raises(KeyError):
            kernel.precision_of(GEMM, variant)
    with pytest.raises(KeyError):
        kernel.precision_of(GEMV, "drain")
    with pytest.raises(KeyError):
        kernel.tolerance(GEMM, None)


def test_variants_come_in_the_order_of_preference() -> None:
    assert kernel.variant_order(GEMV, {"M": 8, "K": 64}) == [None]
    assert kernel.variant_order(GEMM, SHAPE)[0] == "fused-cast"
    assert kernel.variant_order(GEMM, {**SHAPE, "M": 64})[0] == "drain"
    unsaid = msgspec.structs.replace(GEMM, preference=[])
    assert kernel.variant_order(unsaid, SHAPE) == ["fused-cast", "drain", "direct"]


def test_a_legal_configuration_breaks_nothing() -> None:
    assert kernel.violations(GEMM, SHAPE, "fused-cast", TILE, [8, 4]) == []


def test_a_violation_names_the_condition_the_values_and_the_reason() -> None:
    found = kernel.violations(GEMM, {**SHAPE, "N": 2080}, "fused-cast", TILE, [8, 4])
    assert [(violation.id, violation.hard) for violation in found] == [("n-divides", True)]
    assert found[0].message == (
        "N % (tile_n * herd_n) == 0 does not hold (N=2080, herd_n=4, tile_n=128): nothing asserts "
        "it for you; the trailing columns stay unwritten, silently"
    )


def test_hard_ones_come_first_and_guidelines_follow() -> None:
    shape = {"M": 2048, "K": 2048, "N": 8200}
    found = kernel.violations(GEMM, shape, "fused-cast", TILE, [8, 1])
    assert [violation.hard for violation in found] == [True, False, False]
    assert {violation.id for violation in found[1:]} == {"dma-stride", "herd-n-above-one"}


def test_a_constraint_counts_only_where_it_applies() -> None:
    ids = {found.id for found in kernel.violations(GEMM, SHAPE, "direct", TILE, [8, 1])}
    assert "herd-n-above-one" not in ids
    drained = {found.id for found in kernel.violations(GEMM, SHAPE, "drain", TILE, [8, 4])}
    assert drained == {"l1-drain", "drain-tile-m"}


def test_a_known_bad_tiling_is_hard_and_says_what_was_measured() -> None:
    shape = {"M": 256, "K": 960, "N": 960}
    tile = {"tile_m": 32, "tile_k_l2": 160, "tile_k_l1": 32, "tile_n": 80}
    bad = [one for one in kernel.violations(GEMM, shape, "drain", tile, [8, 4]) if one.hard]
    assert [violation.id for violation in bad] == ["known-bad"]
    assert "mean_rel_L1 0.77" in bad[0].message
    assert not any(
        violation.hard
        for violation in kernel.violations(GEMM, shape, "drain", {**tile, "tile_k_l2": 320}, [8, 4])
    )


def test_each_known_bad_tiling_is_reported_on_its_own() -> None:
    twice = [KnownBad(when="tile_m == 64", reason="one"), KnownBad(when="True", reason="two")]
    spec = msgspec.structs.replace(GEMM, known_bad=twice, constraints=[])
    found = kernel.violations(spec, SHAPE, "drain", TILE, [8, 4])
    assert [violation.message for violation in found] == [
        "known-bad tiling: one",
        "known-bad tiling: two",
    ]


def test_a_configuration_that_lacks_a_knob_is_an_error_and_no_pass() -> None:
    with pytest.raises(ExpressionError, match="tile_m"):
        kernel.violations(GEMM, SHAPE, "drain", {}, [8, 4])
    with pytest.raises(ExpressionError, match="herd_"):
        kernel.violations(GEMM, SHAPE, "drain", TILE, [])


def test_the_first_band_that_applies_is_taken_and_never_below_zero() -> None:
    rules = [
        BandRule(when="M < 8", low="0 - 1 / M", high="1 / M", source="few rows"),
        BandRule(when="variant == 'drain'", low="0.1", high="0.2", source="drain"),
    ]
    spec = msgspec.structs.replace(GEMM, band=rules)
    few = kernel.band(spec, {**SHAPE, "M": 4}, "drain", TILE, [8, 4])
    assert few is not None
    assert (few.low, few.high) == (0.0, 0.25)
    many = kernel.band(spec, SHAPE, "drain", TILE, [8, 4])
    assert many is not None
    assert (many.low, many.high) == (0.1, 0.2)
    assert kernel.band(spec, SHAPE, "direct", TILE, [8, 4]) is None


def test_output_elements_are_whole_numbers() -> None:
    assert kernel.output_elements(GEMM, SHAPE) == [2048 * 2048]
    half = [msgspec.structs.replace(GEMM.outputs[0], elements="M * N / 3")]
    with pytest.raises(ExpressionError, match="not a whole number"):
        kernel.output_elements(msgspec.structs.replace(GEMM, outputs=half), SHAPE)
