"""Baselines are made of imports alone, and remember what was imported, not what people add."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool import baseline
from registry_tool.baseline import Imported, digests, read
from registry_tool.baseline.make import encode
from registry_tool.errors import RegistryError
from registry_tool.records import canonical
from registry_tool.records.baseline import Baseline, Entry
from registry_tool.records.record import Record, Use, Waiver
from tests.baseline import samples
from tests.examples.build import Row
from tests.examples.example import Example

OWED = samples.rows()


def test_a_baseline_is_canonical_and_in_the_order_of_the_rows() -> None:
    data = samples.baseline_of(*reversed(OWED))
    decoded = canonical.decode(data, Baseline)
    assert canonical.encode(decoded) == data
    names = [entry.row for entry in decoded.rows]
    assert names == sorted(str(row.id) for row in OWED)
    assert data == samples.baseline_of(*OWED)


def test_what_is_on_disk_gives_the_same_bytes(good: Example) -> None:
    path = samples.adopt(good, *OWED)
    assert baseline.of_disk(good.root, [row.id for row in OWED]) == path.read_bytes()


def test_only_an_import_that_claims_no_pass_can_be_owed(row: Row) -> None:
    measured = Imported(row.id, row.record, canonical.encode(row.verdict))
    with pytest.raises(RegistryError, match="'harness'"):
        baseline.make([measured])
    claimed = samples.imported(row, "pass")
    with pytest.raises(RegistryError, match="'pass'"):
        samples.baseline_of(claimed)


def test_a_row_twice_or_with_another_artifact_is_refused() -> None:
    with pytest.raises(RegistryError, match="twice"):
        samples.baseline_of(OWED[0], OWED[0])
    other = canonical.encode(OWED[1].verdict)
    with pytest.raises(RegistryError, match="another artifact"):
        baseline.make([Imported(OWED[0].id, OWED[0].record, other)])


words = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs",)), min_size=1, max_size=9)
uses = st.builds(Use, model=words, site=words)
waivers = st.builds(
    Waiver,
    rule=st.just("KR103"),
    reason=words,
    by=words,
    date=st.just("2025-01-01"),
    expires=st.just("2099-01-01"),
)


@given(st.lists(uses, max_size=2), st.lists(words, max_size=2), st.lists(waivers, max_size=2))
def test_what_people_own_is_not_in_the_digest(
    used_by: list[Use], notes: list[str], waived: list[Waiver]
) -> None:
    record = OWED[0].record
    edited = replace(record, used_by=used_by, notes=notes, waivers=waived)
    assert digests.of_record(edited) == digests.of_record(record)


HUMAN = {"used_by", "notes", "waivers"}
CHANGED = {
    "kernel": "GEMV_bf16",
    "target": "npu2",
    "shape": {"M": 1, "K": 1, "N": 1},
    "variant": "direct",
    "precision": "low",
    "tile": {"tile_m": 1},
    "herd": [1, 1],
    "tiles_in_flight": 1,
    "mean_rel_L1": 0.5,
    "max_abs": 0.5,
    "max_rel": 0.5,
    "performance": samples.rows("npu2")[0].record.performance,
    "verdict": replace(OWED[0].record.verdict, sha256="0" * 64),
    "provenance": {"max_abs": "inherited from elsewhere"},
}


@pytest.mark.parametrize("name", [*CHANGED])
def test_every_measured_field_is_in_the_digest(name: str) -> None:
    record = OWED[0].record
    changed = replace(record, **{name: CHANGED[name]})
    assert digests.of_record(changed) != digests.of_record(record)


def test_no_field_of_a_record_is_left_out_of_these_tests() -> None:
    fields = set(Record.__struct_fields__) - {"schema", "schema_version"}
    assert fields == HUMAN | set(CHANGED)


names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,9}", fullmatch=True)
hashes = st.binary(min_size=32, max_size=32).map(bytes.hex)
entries = st.builds(
    Entry,
    row=st.tuples(names, names, names).map("/".join),
    record=hashes,
    artifact=hashes,
)


@given(st.lists(entries, max_size=5))
def test_what_was_written_is_read_again(some: list[Entry]) -> None:
    data = encode(some)
    found = canonical.decode(data, Baseline)
    assert sorted(found.rows, key=repr) == sorted(some, key=repr)
    assert read.lenient(data) == found


@given(st.binary(max_size=60))
def test_any_bytes_are_a_baseline_or_none(data: bytes) -> None:
    found = read.lenient(data)
    assert found is None or isinstance(found, Baseline)
