"""What a configuration will meet, said before anything is compiled."""

from __future__ import annotations

from registry_tool.planning.outlook import outlook
from registry_tool.planning.search import best, legal_herds
from registry_tool.planning.tiling import Candidate
from registry_tool.records.catalog import built_in
from registry_tool.records.kernel import tiles_in_flight, violations

GEMM = built_in()["GEMM_bf16_in_bf16_out"]
SHAPE = {"M": 2048, "K": 2048, "N": 2048}
TILE = {"tile_m": 64, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128}


def at(shape: dict[str, int], **tile: int) -> Candidate:
    return Candidate("fused-cast", {**TILE, **tile}, [8, 4], "test")


def test_every_constraint_that_applies_is_checked_with_its_numbers() -> None:
    found = outlook(GEMM, SHAPE, at(SHAPE))
    ids = [check.id for check in found.checks]
    assert {"m-divides", "l1-fused-cast", "dma-stride", "known-bad"} <= set(ids)
    assert "l1-drain" not in ids, "the constraint of another variant"
    [check] = [check for check in found.checks if check.id == "m-divides"]
    assert check.text == "M % (tile_m * herd_m) == 0  [M=2048, herd_m=8, tile_m=64]"
    assert check.holds


def test_a_stride_beyond_the_range_is_a_warning_and_no_wall() -> None:
    shape = {"M": 2048, "K": 2048, "N": 11264}
    found = outlook(GEMM, shape, at(shape))
    assert [(check.id, check.hard) for check in found.warnings] == [("dma-stride", False)]


def test_what_is_predicted_is_what_the_gate_would_refuse() -> None:
    bad = at(SHAPE, tile_n=120, tile_k_l2=250)
    predicted = {check.id for check in outlook(GEMM, SHAPE, bad).warnings}
    assert predicted == {
        one.id for one in violations(GEMM, SHAPE, "fused-cast", bad.tile, bad.herd)
    }


def test_below_the_target_the_legal_herds_with_more_are_named() -> None:
    small = Candidate("fused-cast", TILE, [4, 4], "test")
    found = outlook(GEMM, SHAPE, small)
    assert (found.tiles, found.target) == (16, 32)
    assert found.larger_herds == tuple(
        herd for herd in legal_herds(GEMM, SHAPE, "fused-cast") if tiles_in_flight(herd) > 16
    )
    assert outlook(GEMM, SHAPE, at(SHAPE)).larger_herds == ()


def test_the_expected_band_is_the_pages() -> None:
    band = outlook(GEMM, SHAPE, at(SHAPE)).band
    assert band is not None
    assert 0.0 < band.low < band.high < 0.05


def test_the_searchs_own_choice_meets_no_wall() -> None:
    shape = {"M": 2048, "K": 960, "N": 2560}
    found = best(GEMM, shape, "drain")
    assert found is not None
    candidate = Candidate("drain", found.tile, list(found.herd), "search")
    assert not [check for check in outlook(GEMM, shape, candidate).warnings if check.hard]
