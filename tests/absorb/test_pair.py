"""Which row a line shows: by its key however it is spelled, and never by a guess."""

from __future__ import annotations

from collections.abc import Sequence

from registry_tool.absorb.expected import Column, ExpectedRow, ExpectedTable
from registry_tool.absorb.found import FoundRow
from registry_tool.absorb.pair import Pairing, pair
from registry_tool.records import catalog
from registry_tool.records.keys import RowId

GEMM = catalog.built_in()["GEMM_bf16_in_bf16_out"]


def table(keys: Sequence[str], columns: Sequence[Column]) -> ExpectedTable:
    rows = []
    for key in keys:
        shape, _, variant = key.partition("+")
        cells = {"shape": shape.replace("x", "×"), "variant": variant, "notes": ""}
        texts = [cells[column.cell] for column in columns]
        rows.append(ExpectedRow((RowId("npu2", GEMM.kernel, key),), texts))
    return ExpectedTable("details/X.md", "shapes", "npu2", GEMM, columns, rows)


def found(texts: Sequence[Sequence[str]]) -> list[FoundRow]:
    return [FoundRow(10 + at, list(row), list(row)) for at, row in enumerate(texts)]


def rows(pairing: Pairing) -> list[tuple[int, str]]:
    return [(line.line, str(row.row).rpartition("/")[2]) for line, row in pairing.pairs]


SHAPE, METHOD, NOTES = Column("M×K×N", "shape"), Column("Method", "variant"), Column("N", "notes")
KEYS = ("1x2x3+drain", "1x2x3+direct", "4x5x6+drain")


def test_order_and_spelling_do_not_matter() -> None:
    lines = found([["4 x 5 x 6", "Drain"], ["1×2×3", "direct"], ["1*2*3", "drain"]])
    pairing = pair(table(KEYS, [SHAPE, METHOD]), lines)
    assert rows(pairing) == [(10, KEYS[2]), (11, KEYS[1]), (12, KEYS[0])]
    assert not pairing.added
    assert not pairing.missing
    assert not pairing.refusals


def test_rows_that_a_table_does_not_tell_apart_are_refused_once_one_is_changed() -> None:
    expected = table(KEYS, [SHAPE, NOTES])
    lines = found([["1×2×3", ""], ["1×2×3", ""], ["4×5×6", ""]])
    assert not pair(expected, lines).refusals
    changed = found([["1×2×3", "which?"], ["1×2×3", ""], ["4×5×6", ""]])
    (refusal,) = pair(expected, changed).refusals
    assert refusal.place.line == 10
    assert "1x2x3+drain" in refusal.message
    assert "1x2x3+direct" in refusal.message
    # What the line may show is not called missing beside it.
    assert not pair(expected, changed).missing


def test_a_second_line_of_a_row_and_of_an_added_one_is_refused() -> None:
    lines = found([["1×2×3", "drain"], ["1x2x3", "drain"], ["7×8×9", "drain"], ["7x8x9", "drain"]])
    pairing = pair(table(KEYS, [SHAPE, METHOD]), lines)
    assert [(one.place.line, one.message[-2:]) for one in pairing.refusals] == [
        (11, "10"),
        (13, "12"),
    ]
    assert [row.line for row in pairing.added] == [12]
    assert [str(row.row).rpartition("/")[2] for row in pairing.missing] == list(KEYS[1:])
