"""KR201-KR203: herds and tilings, through the real command."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from registry_tool.planning.search import COMPUTED, legal_herds, search, under_target_note
from registry_tool.records import canonical, catalog, kernel
from tests.examples.build import GEMM, SMALL, Row, make_row
from tests.examples.example import Example, ids
from tests.rules.test_verdicts import put

PAGE = catalog.built_in()[GEMM]


def small_herd(herd: Sequence[int], shape: Mapping[str, int] = SMALL) -> Row:
    """A row with a legal tile for ``herd``, and no note."""
    found = next(one for one in search(PAGE, shape, "drain") if list(one.herd) == list(herd))
    return make_row(PAGE, shape, "drain", tile=found.tile, herd=found.herd)


def test_an_edited_product_is_found(good: Example, row: Row) -> None:
    data = canonical.encode(replace(row.record, tiles_in_flight=64))
    good.write({row.id.record_path: data})
    assert "KR201" in good.rules()


def test_a_small_herd_without_a_note_is_refused_with_the_larger_ones(good: Example) -> None:
    put(good, small_herd([4, 4]))
    (one,) = good.findings()
    assert one["rule"] == "KR202"
    assert "16 of 32" in one["message"]
    assert "8×4" in one["message"]


def test_a_small_herd_with_a_persons_reason_is_accepted(good: Example) -> None:
    put(good, dataclasses.replace(small_herd([4, 4]), notes=("8x4 hangs on driver 1.2",)))
    assert good.findings() == []


@pytest.mark.parametrize(
    "note",
    [
        f"{COMPUTED}no legal herd of {GEMM} at 2048×1024×1024 has more than 16 of 32 tiles",
        f"{COMPUTED}tier-down from high to low: drain did not pass",
    ],
)
def test_a_computed_note_that_is_not_true_is_refused(good: Example, note: str) -> None:
    put(good, dataclasses.replace(small_herd([4, 4]), notes=(note,)))
    assert good.rules() == {"KR202"}


def narrow() -> tuple[dict[str, int], Row]:
    """A shape for which no legal herd reaches the target."""
    for n in (48, 80, 96, 112, 144):
        shape = {"M": 512, "K": 1024, "N": n}
        note = under_target_note(PAGE, shape, "drain")
        if note is not None:
            return shape, make_row(PAGE, shape, "drain")
    raise AssertionError("every shape reaches the target")


def test_a_computed_note_is_computed_again_and_holds(good: Example) -> None:
    shape, mine = narrow()
    put(good, mine)
    assert good.rules() == {"KR202"}
    note = under_target_note(PAGE, shape, "drain")
    assert note is not None
    put(good, dataclasses.replace(mine, notes=(note,)))
    assert good.findings() == []


def test_a_true_note_does_not_excuse_a_smaller_herd_than_it_says(good: Example) -> None:
    shape, mine = narrow()
    note = under_target_note(PAGE, shape, "drain")
    assert note is not None
    best = kernel.tiles_in_flight(mine.record.herd)
    smaller = [
        herd for herd in legal_herds(PAGE, shape, "drain") if kernel.tiles_in_flight(herd) < best
    ]
    put(good, dataclasses.replace(small_herd(smaller[0], shape), notes=(note,)))
    assert good.rules() == {"KR202"}


def test_a_hard_constraint_is_refused(good: Example) -> None:
    tile = {"tile_m": 32, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 100}
    put(good, make_row(PAGE, SMALL, "drain", tile=tile, herd=[8, 4]))
    assert "KR203" in good.rules()


def test_a_known_bad_tiling_is_refused(good: Example) -> None:
    page = catalog.built_in()["EltwiseAdd_bf16"]
    put(good, make_row(page, {"N": 245760}, tile={"tile": 2048}, herd=[8, 1]))
    messages = [one["message"] for one in good.findings() if one["rule"] == "KR203"]
    assert any("leaves zeros" in words for words in messages)


def test_a_guideline_only_warns(good: Example) -> None:
    """The first legal configuration of some kernel that breaks a guideline and nothing else."""
    for shape in (SMALL, {"M": 2048, "K": 2048, "N": 8192}, {"M": 512, "K": 8192, "N": 16384}):
        for one in search(PAGE, shape, "drain"):
            broken = kernel.violations(PAGE, shape, "drain", one.tile, one.herd)
            if broken and kernel.tiles_in_flight(one.herd) == PAGE.tiles_target:
                put(good, make_row(PAGE, shape, "drain", tile=one.tile, herd=one.herd))
                found = good.findings()
                assert ids(found) == set()
                assert ids(found, "warning") == {"KR203"}
                return
            if kernel.tiles_in_flight(one.herd) < PAGE.tiles_target:
                break
    raise AssertionError("no guideline was broken")
