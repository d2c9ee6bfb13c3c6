"""The search for legal tiles and herds, against a brute-force enumeration."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.planning.padding import suggested
from registry_tool.planning.search import (
    best,
    blocking_constraints,
    is_possible,
    legal_herds,
    search,
    under_target_note,
)
from registry_tool.records.catalog import built_in
from registry_tool.records.kernel import tiles_in_flight, violations

GEMM = built_in()["GEMM_bf16_in_bf16_out"]
ROPE = built_in()["RoPE_bf16"]
RMS = built_in()["RMSNorm_bf16"]


@settings(max_examples=25, deadline=None)
@given(
    rows=st.integers(1, 80),
    head_dim=st.sampled_from([16, 48, 64, 100, 128]),
)
def test_the_best_herd_is_the_one_that_brute_force_finds(rows: int, head_dim: int) -> None:
    shape = {"rows": rows, "head_dim": head_dim}
    legal = [
        herd
        for herd in itertools.product(*(axis.choices for axis in ROPE.herd.values()))
        if not any(v.hard for v in violations(ROPE, shape, None, {}, herd))
    ]
    assert sorted(legal_herds(ROPE, shape, None)) == sorted(legal)
    found = best(ROPE, shape, None)
    assert (found is None) == (not legal)
    if found:
        assert tiles_in_flight(found.herd) == max(map(tiles_in_flight, legal))


@settings(max_examples=15, deadline=None)
@given(
    m=st.sampled_from([64, 192, 256, 1000, 2048]),
    k=st.sampled_from([64, 320, 720, 896, 2048]),
    n=st.sampled_from([64, 320, 896, 2048, 4864]),
    variant=st.sampled_from(["drain", "fused-cast", "direct"]),
)
def test_every_configuration_that_is_found_breaks_no_hard_constraint(
    m: int, k: int, n: int, variant: str
) -> None:
    shape = {"M": m, "K": k, "N": n}
    for found in itertools.islice(search(GEMM, shape, variant), 5):
        broken = violations(GEMM, shape, variant, found.tile, found.herd)
        assert not any(violation.hard for violation in broken)


def test_more_tiles_in_flight_come_first() -> None:
    tiles = [
        tiles_in_flight(found.herd)
        for found in itertools.islice(search(GEMM, {"M": 192, "K": 256, "N": 64}, "drain"), 50)
    ]
    assert tiles == sorted(tiles, reverse=True)


def test_a_shape_without_legal_tile_names_the_constraint_in_the_way() -> None:
    shape = {"M": 2048, "K": 2047, "N": 2048}
    assert best(GEMM, shape, "drain") is None
    assert any("K %" in reason for reason in blocking_constraints(GEMM, shape, "drain"))


def test_a_legal_shape_is_blocked_by_nothing() -> None:
    assert blocking_constraints(GEMM, {"M": 2048, "K": 2048, "N": 512}, "drain") == []


def test_the_reason_for_fewer_tiles_is_computed_from_the_shape() -> None:
    note = under_target_note(RMS, {"M": 1, "N": 2048}, None)
    assert note is not None
    assert note.startswith("computed: ")
    assert "1 of 8 tiles" in note
    assert under_target_note(RMS, {"M": 2048, "N": 2048}, None) is None


@pytest.mark.parametrize("kernel", sorted(built_in()))
def test_a_known_bad_tiling_is_never_found(kernel: str) -> None:
    spec = built_in()[kernel]
    for shape in ({"M": 64, "K": 720, "N": 960}, {"M": 192, "K": 320, "N": 64}):
        if list(shape) != spec.dims:
            continue
        for variant in spec.variants or [None]:
            for found in itertools.islice(search(spec, shape, variant), 200):
                broken = violations(spec, shape, variant, found.tile, found.herd)
                assert "known-bad" not in {violation.id for violation in broken}


@settings(max_examples=12, deadline=None)
@given(
    k=st.sampled_from([588, 720, 1000, 4304]),
    m=st.sampled_from([64, 100, 256, 4096]),
    variant=st.sampled_from(["drain", "fused-cast", "direct"]),
)
def test_a_shape_is_possible_if_and_only_if_the_search_finds_something(
    m: int, k: int, variant: str
) -> None:
    shape = {"M": m, "K": k, "N": 1024}
    possible = best(GEMM, shape, variant) is not None
    assert is_possible(GEMM, shape, variant) == possible
    assert bool(blocking_constraints(GEMM, shape, variant)) != possible


@pytest.mark.parametrize("kernel", ["GEMM_bf16_in_bf16_out", "GEMV_bf16"])
@pytest.mark.parametrize("k", [588, 4304, 100])
def test_the_padding_that_is_suggested_makes_the_shape_legal(kernel: str, k: int) -> None:
    spec = built_in()[kernel]
    shape = {"M": 1024, "K": k, **({"N": 1152} if "N" in spec.dims else {})}
    variants: list[str | None] = [*spec.variants] or [None]
    if any(is_possible(spec, shape, variant) for variant in variants):
        return
    words = suggested(spec, shape, variants)
    assert words is not None
    dim, multiple = words.removeprefix("--pad ").split("=")
    shape[dim] = -(-shape[dim] // int(multiple)) * int(multiple)
    assert any(is_possible(spec, shape, variant) for variant in variants)


def test_no_padding_is_suggested_where_none_helps() -> None:
    gemv = built_in()["GEMV_bf16"]
    assert suggested(gemv, {"M": 3584, "K": 18944}, [None]) is None
    assert suggested(ROPE, {"rows": 3, "head_dim": 6}, [None]) is None
