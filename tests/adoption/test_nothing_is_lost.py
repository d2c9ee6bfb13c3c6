"""Every word and number of a row's line is in its record, or said of rows that make none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

import pytest

from registry_tool import adoption
from registry_tool.adoption import drift, imported
from registry_tool.adoption.cells import is_nothing, unit_of
from registry_tool.adoption.model import Adoption, Claim, Quantity
from registry_tool.adoption.prose import propose
from registry_tool.records.record import Record
from tests.adoption import public, small
from tests.adoption.dialects import DIALECTS

MOMENT = datetime(2026, 8, 1, tzinfo=timezone.utc)
# Words that say what a number is, or that are one.
KNOWN = {"yes", "no", "true", "false", "causal", "gflop", "gb", "herd", "max", "abs", "rel"}


def everything(record: Record) -> str:
    """All words of a record that people read."""
    uses = [f"{use.model} {use.site}" for use in record.used_by]
    said = [record.variant or "", record.precision or "", *record.notes, *uses]
    return " ".join([*said, *record.provenance.values()]).casefold()


def numbers(record: Record) -> set[int]:
    return {*record.shape.values(), *record.tile.values(), *record.herd}


def is_held(record: Record, figure: Quantity, said: str) -> bool:
    speeds = record.performance
    value = (
        getattr(record, figure.field)
        if figure.field in ("mean_rel_L1", "max_abs", "max_rel")
        else getattr(speeds, figure.field, None)
    )
    slack = figure.half + 1e-9 * abs(figure.high)
    is_there = value is not None and figure.low - slack <= value <= figure.high + slack
    return is_there or figure.shared or figure.written.casefold() in said


def lost(adopted: Adoption) -> Iterator[str]:
    """Each word or number of a line that no record, and no row without one, has."""
    made, refused = imported.make(adopted, "npu2", MOMENT)
    records = {
        (one.record.kernel, tuple(one.record.shape.values()), one.record.variant): one.record
        for one in made
    }
    elsewhere = (
        " ".join(f"{claim.cells}" for one in refused for claim in one.row.claims).casefold()
        + " ".join(remark.text for remark in adopted.remarks).casefold()
    )
    for row in adopted.rows:
        record = records.get(row.key)
        if record is None:
            continue
        of_shape = [records[one.key] for one in adopted.siblings(row) if one.key in records]
        said = " ".join(everything(one) for one in of_shape) + elsewhere
        for claim in row.claims:
            if claim.kind != "row":
                continue
            for figure in claim.quantities:
                if not is_held(record, figure, said):
                    yield f"{claim.where}: {figure.field} {figure.written}"
            if claim.table is not None:
                yield from lost_words(adopted, claim, of_shape, said)


def lost_words(adopted: Adoption, claim: Claim, records: list[Record], said: str) -> Iterator[str]:
    names = {
        word
        for one in records
        for name in (*adopted.specs[one.kernel].tile, *adopted.specs[one.kernel].herd)
        for word in re.findall(r"[a-z]+", name.casefold())
    }
    sizes = set().union(*(numbers(one) for one in records))
    written = " ".join(
        figure.written
        for row in adopted.rows
        if row.key[:2] == (claim.kernel, tuple(claim.shape.values()))
        for figure in (one for each in row.claims for one in each.quantities)
    )
    for column in adopted.tables[claim.table or 0].columns:
        cell = claim.cells.get(column.title, "")
        if column.role in ("derived", None) or is_nothing(cell):
            continue
        for word in re.findall(r"[^\W\d_]{2,}", cell.casefold()):
            is_known = word in said or word in names or word in KNOWN
            if not is_known and unit_of(word) is None:
                yield f"{claim.where}: the word {word!r} of {cell!r}"
        for number in re.findall(r"\d+(?:\.\d+)?", cell):
            is_size = number.isdigit() and int(number) in sizes
            if not is_size and number not in written and number not in said:
                yield f"{claim.where}: the number {number} of {cell!r}"


def test_no_word_and_no_number_of_the_public_registry_is_lost() -> None:
    assert list(lost(public.adopted())) == []


def test_no_word_and_no_number_of_a_small_registry_is_lost(tmp_path: Path) -> None:
    assert list(lost(small.read(tmp_path))) == []


@pytest.mark.parametrize("name", DIALECTS)
def test_no_word_and_no_number_of_another_dialect_is_lost(name: str, tmp_path: Path) -> None:
    made = DIALECTS[name](tmp_path)
    assert list(lost(adoption.read(made.folder, made.specs))) == []


@pytest.mark.parametrize("name", DIALECTS)
def test_every_row_of_another_dialect_arrives(name: str, tmp_path: Path) -> None:
    made = DIALECTS[name](tmp_path)
    adopted = adoption.read(made.folder, made.specs)
    rows, refused = imported.make(adopted, "npu2", MOMENT)
    assert (len(rows), refused) == (made.rows, ())
    assert all(row.record.notes or row.record.used_by for row in rows)


@pytest.mark.parametrize("name", DIALECTS)
def test_another_dialect_has_a_report(name: str, tmp_path: Path) -> None:
    made = DIALECTS[name](tmp_path)
    adopted = adoption.read(made.folder, made.specs)
    pages = {one.name: one.data for one in adopted.sources}
    propose(pages, adopted, made.specs)
    assert {one.kind for one in drift.find(adopted, made.specs)} >= made.finds


def test_a_lost_word_would_be_seen(tmp_path: Path) -> None:
    adopted = small.read(tmp_path)
    texts: Mapping[str, str] = {}
    row = next(one for one in adopted.rows if one.kernel == "GEMV_bf16")
    record = next(
        one.record
        for one in imported.make(adopted, "npu2", MOMENT)[0]
        if one.record.shape == row.shape
    )
    assert list(lost_words(adopted, row.claims[0], [record], " ".join(texts))) != []
