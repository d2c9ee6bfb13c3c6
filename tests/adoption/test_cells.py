"""Cells as people write them: what becomes a value, what a note, and that nothing is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from registry_tool.adoption import cells
from registry_tool.adoption.cells import Reading, Text, text_of
from registry_tool.adoption.columns import Words
from registry_tool.records import catalog

GEMM = Words(catalog.built_in()["GEMM_bf16_in_bf16_out"])
VARIANTS = tuple(GEMM.spec.variants)


def reading(source: str, shown: str | None = None) -> Reading:
    """A cell whose source has no other markup than bold and code."""
    return Reading(text_of(source, re.sub(r"\*\*|`", "", source) if shown is None else shown))


def joined(cell: Reading) -> str:
    return "".join(text for _, text in cell.pieces())


@pytest.mark.parametrize(
    ("source", "low", "high", "written"),
    [
        ("7034†", 7034, 7034, "7034"),
        ("1065–1116", 1065, 1116, "1065–1116"),
        ("1065 - 1116", 1065, 1116, "1065 - 1116"),
        ("15.4–16.1 ms", 15400, 16100, "15.4–16.1 ms"),
        ("15.4 ms – 16.1 ms", 15400, 16100, "15.4 ms – 16.1 ms"),
        ("911 µs", 911, 911, "911 µs"),
        ("911 μs", 911, 911, "911 μs"),
        ("911 us", 911, 911, "911 us"),
        ("0.73 ms", 730, 730, "0.73 ms"),
        ("850 ns", 0.85, 0.85, "850 ns"),
        ("12,345 µs", 12345, 12345, "12,345 µs"),
        ("12 345 µs", 12345, 12345, "12 345 µs"),
        ("12\u202f345 µs", 12345, 12345, "12\u202f345 µs"),
        ("2.03 TFLOP/s", 2030, 2030, "2.03 TFLOP/s"),
        ("57.7 GB/s", 57.7, 57.7, "57.7 GB/s"),
        ("9.7e-3", 0.0097, 0.0097, "9.7e-3"),
        ("9.7E-3", 0.0097, 0.0097, "9.7E-3"),
        ("9.7×10⁻³", 0.0097, 0.0097, "9.7×10⁻³"),
        ("9.7 × 10^-3", 0.0097, 0.0097, "9.7 × 10^-3"),
        ("4.0e+0", 4, 4, "4.0e+0"),
        ("5.0 ± 0.2 ms", 4800, 5200, "5.0 ± 0.2 ms"),
        ("7034<sup>1</sup>", 7034, 7034, "7034"),
        ("0.0", 0, 0, "0.0"),
    ],
)
def test_a_number_is_read_with_its_range_unit_and_mark(
    source: str, low: float, high: float, written: str
) -> None:
    cell = reading(source)
    (found,) = cells.take_quantities(cell)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.written == written
    assert cell.notes() == []


@pytest.mark.parametrize(
    ("source", "mark"), [("7034†", "†"), ("7034 ‡", "‡"), ("7034[^2]", "[^2]")]
)
def test_a_footnote_mark_is_kept_beside_its_number(source: str, mark: str) -> None:
    (found,) = cells.take_quantities(reading(source))
    assert found.mark == mark


@pytest.mark.parametrize(
    "source", ["9,7e-3", "12.345.678", "see below", "1e999", "v2", "3x faster", "n240"]
)
def test_what_is_no_number_for_certain_is_a_note(source: str) -> None:
    cell = reading(source)
    assert cells.take_quantities(cell) == []
    assert cell.notes() == [source]


@pytest.mark.parametrize("sign", ["-", "\u2212", "\u2013", "- ", "+", "±", "~-", "-~", "\uff0d"])
@pytest.mark.parametrize("figure", ["324 µs", "**324**", ".5e-3", "324–330 µs", "324†"])
def test_a_number_with_a_sign_is_words_and_never_a_figure(sign: str, figure: str) -> None:
    cell = reading(sign + figure)
    assert cells.take_quantities(cell) == []
    assert cell.notes() == [cell.shown]


def test_a_sign_among_values_side_by_side_spoils_only_its_own() -> None:
    cell = reading("-9.7e-3 / 1.3e-2")
    assert [(one.part, one.low) for one in cells.take_quantities(cell, 2)] == [(1, 0.013)]
    assert cell.notes() == ["-9.7e-3"]


def test_half_a_unit_of_the_last_digit_is_what_rounding_hides() -> None:
    halves = [
        cells.take_quantities(reading(text))[0].half
        for text in ("8898", "24.9", "9.7e-3", "0.73 ms", "0.0")
    ]
    assert halves == pytest.approx([0.5, 0.05, 5e-5, 5.0, 0.0])


def test_bold_is_of_the_number_and_not_of_the_cell() -> None:
    assert cells.take_quantities(reading("**4276** (n64)"))[0].bold
    assert not cells.take_quantities(reading("4276 (**n64**)"))[0].bold


def test_a_name_before_a_number_says_what_it_is() -> None:
    (found,) = cells.take_quantities(reading("max_abs 1.22e-3"))
    assert found.name == "max_abs"
    assert found.low == pytest.approx(1.22e-3)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("9.7e-3 / 1.3e-2", {0: 9.7e-3, 1: 1.3e-2}),
        ("9.9e-3 / —", {0: 9.9e-3}),
        ("— / 1.11e-2", {1: 1.11e-2}),
        ("— / max_abs 2.93e-3", {1: 2.93e-3}),
        ("1.22e-3", {0: 1.22e-3}),
    ],
)
def test_values_side_by_side_keep_their_places(source: str, wanted: dict[int, float]) -> None:
    cell = reading(source)
    found = cells.take_quantities(cell, 2)
    assert {one.part: one.low for one in found} == pytest.approx(wanted)
    assert cell.notes() == []


@pytest.mark.parametrize(
    ("source", "tile", "herd", "variant"),
    [
        ("(n64)", {"tile_n": 64}, None, None),
        ("(n80/k320)", {"tile_n": 80, "tile_k_l2": 320}, None, None),
        ("(n64, tile_k_l2=128)", {"tile_n": 64, "tile_k_l2": 128}, None, None),
        ("(drain m32/n32)", {"tile_m": 32, "tile_n": 32}, None, "drain"),
        ("(herd **4×3**)", {}, (4, 3), None),
        (
            "(m16/**n240**/k384, herd 4x4)",
            {"tile_m": 16, "tile_n": 240, "tile_k_l2": 384},
            (4, 4),
            None,
        ),
        (
            "**fused-cast (m64/k256/n128)**",
            {"tile_m": 64, "tile_k_l2": 256, "tile_n": 128},
            None,
            "fused-cast",
        ),
    ],
)
def test_tile_herd_and_method_in_parentheses_are_data(
    source: str, tile: dict[str, int], herd: tuple[int, ...] | None, variant: str | None
) -> None:
    cell = reading(source)
    (hint,) = cells.take_hints(cell, GEMM.resolve, VARIANTS)
    assert (hint.tile, hint.herd, hint.variant) == (tile, herd, variant)
    assert cell.notes() == []


@pytest.mark.parametrize("inside", ["decoupled", "m64, then more", "x3", "herd", "2026-07-27"])
def test_parentheses_that_are_not_all_tile_stay_words(inside: str) -> None:
    cell = reading(f"— ({inside})")
    assert cells.take_hints(cell, GEMM.resolve, VARIANTS) == []
    cells.take_dash(cell)
    assert cell.notes() == [inside]


def test_a_dash_with_a_hint_leaves_nothing_over() -> None:
    cell = reading("— (drain n64)")
    (hint,) = cells.take_hints(cell, GEMM.resolve, VARIANTS)
    assert cells.take_dash(cell)
    assert (hint.variant, hint.tile, cell.notes()) == ("drain", {"tile_n": 64}, [])


@pytest.mark.parametrize("text", ["", "-", "–", "—", "\u2212", "―", "--", "n/a", "N/A", "…"])
def test_every_way_to_say_nothing(text: str) -> None:
    assert cells.is_nothing(text)


@pytest.mark.parametrize("source", ["64/**64**/32/128", "64×64×32×128", "64 / 64 / 32 / 128"])
def test_a_tile_is_read_whatever_stands_between_its_sizes(source: str) -> None:
    assert cells.take_numbers(reading(source), 4) == [64, 64, 32, 128]


@pytest.mark.parametrize(
    "source", ["64/64/32", "64/64/32/128/2", "auto", "64.5/64/32/128", "64/a", "12345678901/1/1/1"]
)
def test_a_tile_of_another_length_is_none(source: str) -> None:
    assert cells.take_numbers(reading(source), 4) is None


def test_the_layout_after_a_size_is_taken_apart() -> None:
    cell = reading("1835008 (2048×896)")
    assert cells.take_layout(cell) == "2048×896"
    assert cells.take_numbers(cell, 1) == [1835008]
    assert cell.notes() == []


@pytest.mark.parametrize(("text", "truth"), [("✓", 1), ("✗", 0), ("yes", 1), ("non-causal", 0)])
def test_a_yes_or_no_of_any_kind(text: str, truth: int) -> None:
    assert cells.take_truth(reading(text)) == truth


def test_a_glyph_is_taken_and_its_words_are_left() -> None:
    cell = reading("✅ Qwen3-4B Q proj")
    assert cells.take_glyphs(cell) == "✅"
    assert cell.notes() == ["Qwen3-4B Q proj"]


_WORDS = (
    *("**", "`", "†", "✅", "⚠️", "—", "–", "/", " / ", "(", ")", "herd ", "4×4", "n64", "m16"),
    *("drain", "fused-cast", "max_abs ", "9.7e-3", "1065–1116", "15.4 ms", "µs", "×10⁻³", "7034"),
    *("1,234", ", ", "=", "tile_n=", "~", "±", " ", "<sup>1</sup>", "[^1]", "†‡", "¹", "1e999"),
)
CELLS = st.lists(
    st.one_of(
        st.sampled_from(_WORDS),
        st.text(max_size=4),
    ),
    max_size=12,
).map("".join)


@given(CELLS)
@example("((9.7e-3")
@example("fused-cast (m64)(n64) 12 (")
@example("— / — / —")
def test_no_character_of_a_cell_is_lost(shown: str) -> None:
    cell = Reading(Text(shown))
    cells.take_hints(cell, GEMM.resolve, VARIANTS)
    cells.take_herd(cell, 2)
    cells.take_dash(cell)
    cells.take_glyphs(cell)
    cells.take_quantities(cell, 2)
    assert joined(cell) == shown
    assert cell.notes() == [text for kind, text in cell.pieces() if kind == "note"]
    dropped = "".join(text for kind, text in cell.pieces() if kind == "blank")
    assert not re.search(r"[^\W_]", dropped), "a letter or digit became neither value nor note"


@given(CELLS)
def test_numbers_and_layouts_lose_nothing_either(shown: str) -> None:
    cell = Reading(Text(shown))
    cells.take_layout(cell)
    cells.take_numbers(cell, 1)
    assert joined(cell) == shown


@given(st.integers(1, 10**7), st.sampled_from(["", "**"]), st.sampled_from(["", "†", " GFLOP/s"]))
def test_a_written_number_is_read_back(value: int, bold: str, after: str) -> None:
    (found,) = cells.take_quantities(reading(f"{bold}{value}{bold}{after}"))
    assert (found.low, found.bold) == (value, bool(bold))
