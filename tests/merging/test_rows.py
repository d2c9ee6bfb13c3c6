"""Rows merged by field: what people own is joined, what was measured is never mixed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool.merging import files, rows
from registry_tool.merging.rows import MEASURED, ConflictError
from registry_tool.records import canonical, catalog
from registry_tool.records.baseline import Baseline, Entry
from registry_tool.records.model import Model
from registry_tool.records.record import Performance, Record, Use, VerdictLink, Waiver
from registry_tool.records.remarks import COMPUTED
from tests.examples.build import GEMM, SMALL, make_row

ROW = make_row(catalog.built_in()[GEMM], SMALL, "drain").record
HUMAN = ("used_by", "notes", "waivers")


def run(second: int, status: str = "pass", kind: str = "harness", **fields: object) -> Record:
    """The row as a run at ``second`` measured it; each figure tells which run it is of."""
    artifact = f"verdicts/{ROW.target}/{ROW.kernel}/k/20260101T0000{second:02d}Z-{second:08x}.json"
    link = VerdictLink(status=status, kind=kind, artifact=artifact, sha256=f"{second:064x}")
    return replace(
        ROW,
        tile=dict.fromkeys(ROW.tile, 32 * (second + 1)),
        herd=[second + 1, 4],
        tiles_in_flight=4 * (second + 1),
        mean_rel_L1=second / 1000,
        max_abs=second / 100,
        max_rel=float(second),
        performance=Performance(latency_us=1.0 + second, gflops=1.0, gbps=None, spread=None),
        verdict=link,
        provenance={"from": str(second)},
        **fields,
    )


uses = st.builds(Use, model=st.sampled_from(["a", "b"]), site=st.sampled_from(["x", "y", "z"]))
waivers = st.builds(
    Waiver,
    rule=st.sampled_from(["KR202", "KR501"]),
    reason=st.sampled_from(["r", "s"]),
    by=st.just("somebody"),
    date=st.just("2026-01-01"),
    expires=st.just("2026-02-01"),
)
notes = st.sampled_from(["one", "two", "three", "naïve ☃", f"{COMPUTED}of a run"])
records = st.builds(
    run,
    st.integers(0, 5),
    status=st.sampled_from(["pass", "pass", "fail"]),
    kind=st.sampled_from(["harness", "harness", "imported"]),
    used_by=st.lists(uses, unique_by=repr, max_size=4),
    notes=st.lists(notes, unique=True, max_size=4),
    waivers=st.lists(waivers, unique_by=repr, max_size=3),
)


def measured(record: Record) -> list[object]:
    return [getattr(record, name) for name in MEASURED]


def people_say(record: Record) -> dict[str, set[str]]:
    """The human-owned lists as sets, without what the tool computed."""
    return {
        name: {repr(one) for one in getattr(record, name) if not repr(one).startswith("'computed")}
        for name in HUMAN
    }


@given(records | st.none(), records, records)
def test_every_merge_is_a_row_that_somebody_measured(
    base: Record | None, ours: Record, theirs: Record
) -> None:
    merged = rows.record(base, ours, theirs)
    assert measured(merged) in (measured(ours), measured(theirs))
    data = canonical.encode(merged)
    assert canonical.decode(data, Record) == merged


@given(records | st.none(), records, records)
def test_who_merges_whom_does_not_matter(base: Record | None, ours: Record, theirs: Record) -> None:
    one, other = rows.record(base, ours, theirs), rows.record(base, theirs, ours)
    assert people_say(one) == people_say(other)
    tied = ours.verdict.artifact == theirs.verdict.artifact and ours.verdict != theirs.verdict
    if not tied:
        assert measured(one) == measured(other)


@given(records | st.none(), records, records)
def test_merging_again_changes_nothing(base: Record | None, ours: Record, theirs: Record) -> None:
    merged = rows.record(base, ours, theirs)
    assert rows.record(base, ours, ours) == replace(
        ours, **{name: list({repr(x): x for x in getattr(ours, name)}.values()) for name in HUMAN}
    )
    assert rows.record(theirs, merged, theirs) == merged
    assert people_say(rows.record(ours, merged, ours)) == people_say(merged)


@given(records, records, records)
def test_what_either_side_removed_or_added_is_so(
    base: Record, ours: Record, theirs: Record
) -> None:
    was, mine, other, merged = map(
        people_say, (base, ours, theirs, rows.record(base, ours, theirs))
    )
    for name in HUMAN:
        kept = was[name] & mine[name] & other[name]
        added = (mine[name] | other[name]) - was[name]
        assert merged[name] == kept | added


@given(records, records)
def test_a_side_that_changed_nothing_has_nothing_to_say(base: Record, ours: Record) -> None:
    for merged in (rows.record(base, ours, base), rows.record(base, base, ours)):
        assert measured(merged) == measured(ours)
        assert people_say(merged) == people_say(ours)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (run(2), run(1)),
        (run(1), run(2, status="fail")),
        (run(1), run(2, kind="imported")),
        (run(2, status="fail"), run(1, status="fail")),
    ],
)
def test_of_two_new_runs_the_better_one_is_taken(better: Record, worse: Record) -> None:
    base = run(0)
    for merged in (rows.record(base, better, worse), rows.record(base, worse, better)):
        assert measured(merged) == measured(better)


def test_an_older_run_that_one_side_went_back_to_is_taken() -> None:
    assert measured(rows.record(run(3), run(3), run(1))) == measured(run(1))


def test_what_the_tool_computed_goes_with_its_run() -> None:
    base = run(0, notes=["kept"])
    ours = run(1, notes=["kept", f"{COMPUTED}of one", "mine"])
    theirs = run(2, notes=["kept", f"{COMPUTED}of two", "other"])
    merged = rows.record(base, ours, theirs)
    assert merged.notes == ["kept", "mine", f"{COMPUTED}of two", "other"]


def test_two_rows_in_one_file_are_a_conflict() -> None:
    with pytest.raises(ConflictError):
        rows.record(None, run(1), replace(run(1), variant="other"))


@given(st.binary(max_size=40))
def test_bytes_that_are_no_row_are_a_conflict(data: bytes) -> None:
    good = canonical.encode(ROW)
    for sides in ((good, data), (data, good)):
        with pytest.raises(ConflictError, match="cannot be read"):
            files.merged(Record, good, *sides)


@pytest.mark.parametrize("base", [b"", b"{", b"\xff", None])
def test_a_broken_base_tells_nothing(base: bytes | None) -> None:
    ours, theirs = run(1, notes=["a"]), run(2, notes=["b"])
    data = files.merged(Record, base, canonical.encode(ours), canonical.encode(theirs))
    assert canonical.decode(data, Record).notes == ["a", "b"]


def test_a_side_in_another_form_comes_out_canonical() -> None:
    data = canonical.encode(ROW)
    loose = b"\xef\xbb\xbf" + data.replace(b"  ", b"\t").replace(b"\n", b"\r\n")
    assert files.merged(Record, data, loose, data) == data


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("records/t/K/1.json", Record),
        ("a b/é\n/records/t/K/1.json", Record),
        ("models/M.json", Model),
        ("baseline.json", Baseline),
        ("x/baseline.json", Baseline),
        ("records/t/K/deep/1.json", None),
        ("not-baseline.json", None),
        ("records/t/1.json", None),
    ],
)
def test_a_path_says_what_a_file_is(path: str, type_: type | None) -> None:
    assert files.kind_of(path) is type_


def entry(row: str, digest: int = 0) -> Entry:
    return Entry(row=f"t/K/{row}", record=f"{digest:064x}", artifact=f"{digest:064x}")


entries = st.lists(
    st.builds(entry, st.sampled_from("abcd"), st.integers(0, 2)), unique_by=lambda e: e.row
).map(lambda found: Baseline(rows=sorted(found, key=lambda one: one.row)))


@given(entries, entries, entries)
def test_debt_that_either_side_settled_is_settled(
    base: Baseline, ours: Baseline, theirs: Baseline
) -> None:
    merged = rows.baseline(base, ours, theirs)
    assert merged == rows.baseline(base, theirs, ours)
    names = [{one.row for one in some.rows} for some in (base, ours, theirs, merged)]
    assert not (names[0] - (names[1] & names[2])) & names[3]
    assert names[3] <= names[1] | names[2]
    assert [one.row for one in merged.rows] == sorted(names[3])
    assert set(map(repr, merged.rows)) <= set(map(repr, [*ours.rows, *theirs.rows]))


def model(config: str, *notes: str) -> Model:
    return Model(
        model="M", config_sha256=config * 64, seq=1, needs=[], uncovered=[], notes=list(notes)
    )


def test_a_model_comes_whole_from_the_side_that_derived_it_anew() -> None:
    merged = rows.model(model("0", "x"), model("0", "x", "y"), model("1"))
    assert (merged.config_sha256[0], merged.notes) == ("1", ["y"])


def test_a_model_derived_anew_on_both_sides_is_a_conflict() -> None:
    with pytest.raises(ConflictError):
        rows.model(model("0"), model("1"), model("2"))


def test_every_choice_that_a_models_needs_follow_from_belongs_to_its_derivation() -> None:
    people = {"schema", "schema_version", "model", "notes"}
    assert set(rows._DERIVED) | people == set(Model.__struct_fields__)


def test_a_choice_alone_makes_a_derivation_another_one() -> None:
    before = model("0")
    batched = replace(before, batch=4)
    assert rows.model(before, before, batched).batch == 4
    assert rows.model(before, batched, before).batch == 4
