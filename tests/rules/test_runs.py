"""KR113-KR115, KR107 and KR601: evidence that was cut, timed by hand, or left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical, catalog
from registry_tool.records.verdict import Fact, Verdict
from tests.examples.build import GEMM, SMALL, Row, make_row, sealed
from tests.examples.cases import cut_timings, failed, relabelled_log, with_run
from tests.examples.example import Example, ids
from tests.rules.test_verdicts import put

Edit = Callable[[Verdict], Verdict]


@pytest.fixture
def measured(good: Example) -> Row:
    mine = make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2")
    good.add(mine)
    good.render()
    assert good.findings() == []
    return mine


def edited(row: Row, edit: Edit) -> Row:
    return sealed(dataclasses.replace(row, verdict=edit(row.verdict)))


def test_a_pass_on_hardware_names_the_files_of_its_harness(good: Example, measured: Row) -> None:
    put(good, edited(measured, lambda verdict: replace(verdict, sources={})))
    assert good.rules() == {"KR113"}


def test_a_speed_of_fewer_timing_runs_than_asked_for_is_refused(
    good: Example, measured: Row
) -> None:
    put(good, cut_timings(measured))
    (one,) = good.findings()
    assert one["rule"] == "KR113"
    assert "1 timing run, registry.yaml asks for 3" in one["message"]
    good.edit("registry.yaml", "  npu2:\n", "  npu2:\n    timing_runs: 1\n")
    assert good.rules() == {"KR110"}


def test_a_speed_without_any_timing_run_is_refused(good: Example, measured: Row) -> None:
    assert measured.verdict.performance is not None
    bare = replace(measured.verdict.performance, spread=None)
    mine = edited(measured, lambda verdict: replace(verdict, profile=None, performance=bare))
    put(good, dataclasses.replace(mine, timings=()))
    assert "KR113" in good.rules()


def test_a_row_that_was_not_timed_needs_no_timing_runs(good: Example, measured: Row) -> None:
    log = b"\n".join(line for line in measured.log.split(b"\n") if b"Latency" not in line)
    mine = edited(
        dataclasses.replace(measured, log=log, timings=()),
        lambda verdict: replace(verdict, profile=None, performance=None),
    )
    put(good, mine)
    assert good.findings() == []


def test_an_emulated_log_without_its_label_is_known_by_what_only_it_prints(
    good: Example, row: Row, measured: Row
) -> None:
    put(good, relabelled_log(row, measured))
    found = [one for one in good.findings() if one["rule"] == "KR107"]
    assert any("only the emulator prints" in one["message"] for one in found)


@pytest.mark.parametrize("seconds", [0.0, -0.0])
def test_a_run_that_took_no_time_is_none(good: Example, row: Row, seconds: float) -> None:
    put(good, with_run(seconds=seconds)(row))
    assert "KR114" in good.rules()


def test_a_timing_run_of_no_time_is_none(good: Example, measured: Row) -> None:
    assert measured.verdict.profile is not None
    first, *others = measured.verdict.profile
    put(
        good,
        edited(
            measured,
            lambda verdict: replace(verdict, profile=[replace(first, seconds=0.0), *others]),
        ),
    )
    assert good.rules() == {"KR114"}


def test_an_attempt_that_starts_long_before_the_one_before_it_ends_is_refused(
    good: Example, row: Row
) -> None:
    gated = row.verdict.attempts[-1]
    first = replace(gated, status="fail", reason="one element", seconds=900.0)
    mine = edited(row, lambda verdict: replace(verdict, attempts=[first, gated]))
    put(good, mine)
    assert "KR114" in good.rules()


def test_a_clock_that_was_set_by_a_little_makes_no_forger(good: Example, measured: Row) -> None:
    assert measured.verdict.profile is not None
    first, second, *others = measured.verdict.profile
    # Thirty seconds longer than the start of the next one leaves.
    early = replace(first, seconds=first.seconds + 30.0)
    put(good, edited(measured, lambda verdict: replace(verdict, profile=[early, second, *others])))
    assert good.findings() == []


def test_a_run_of_a_day_to_come_is_refused(good: Example, row: Row) -> None:
    put(good, with_run(started="2999-01-01T00:00:00Z")(row))
    assert "KR114" in good.rules()
    good.git("add", "-A")
    assert "KR114" in good.rules("--staged")


def test_a_run_may_not_be_younger_than_the_commit_that_brings_it(good: Example) -> None:
    mine = make_row(catalog.built_in()[GEMM], {"M": 4096, "K": 1024, "N": 1024}, "drain")
    good.add(mine)
    good.render()
    good.environment |= {"GIT_COMMITTER_DATE": "2025-12-01T00:00:00Z"}
    good.commit("Verify")
    assert good.rules("--ref", "HEAD") == {"KR114"}


def test_two_runs_at_once_on_one_device_warn(good: Example) -> None:
    page = catalog.built_in()[GEMM]
    one = make_row(page, SMALL, "drain", "npu2")
    two = make_row(page, {"M": 2048, "K": 2048, "N": 512}, "drain", "npu2")
    good.add(one, two)
    good.render()
    found = good.findings()
    assert (ids(found), ids(found, "warning")) == (set(), {"KR114"})
    elsewhere = replace(two.verdict.environment, host=Fact(value="1e" * 8, reason=None))
    put(good, edited(two, lambda verdict: replace(verdict, environment=elsewhere)))
    assert good.findings() == []


# KR115.


def test_a_failure_of_the_same_recipe_that_the_pass_does_not_count_is_found(
    good: Example, row: Row
) -> None:
    good.write(failed(row, "2025-12-31T00:00:00Z").evidence())
    (one,) = good.findings()
    assert (one["rule"], one["path"]) == ("KR115", row.artifact)
    assert "one element" in one["message"]


def test_a_failure_that_the_pass_counts_is_told(good: Example, row: Row) -> None:
    mine = edited(row, lambda verdict: replace(verdict, earlier_failures=1))
    put(good, mine)
    good.write(failed(row, "2025-12-31T00:00:00Z").evidence())
    assert good.findings() == []
    good.write(failed(row, "2025-12-30T00:00:00Z").evidence())
    assert good.rules() == {"KR115"}


@pytest.mark.parametrize(
    "edit",
    [
        lambda verdict: replace(verdict, sources={"other.py": "0" * 64}),
        lambda verdict: replace(verdict, subject=replace(verdict.subject, herd=[4, 4])),
        lambda verdict: replace(verdict, canary=True),
        lambda verdict: replace(verdict, status="timeout"),
    ],
)
def test_what_verify_does_not_count_is_not_held_against_the_row(
    good: Example, row: Row, edit: Edit
) -> None:
    good.write(edited(failed(row, "2025-12-31T00:00:00Z"), edit).evidence())
    assert "KR115" not in good.rules()


def test_a_failure_on_another_machine_only_warns(good: Example, row: Row) -> None:
    other = replace(row.verdict.environment, host=Fact(value="1e" * 8, reason=None))
    good.write(failed(row, "2025-12-31T00:00:00Z", environment=other).evidence())
    found = good.findings()
    assert (ids(found), ids(found, "warning")) == (set(), {"KR115"})


def test_a_failure_may_not_be_deleted_beside_a_pass_that_does_not_count_it(
    good: Example, row: Row
) -> None:
    mine = edited(row, lambda verdict: replace(verdict, earlier_failures=1))
    before = failed(row, "2025-12-31T00:00:00Z")
    put(good, mine)
    good.write(before.evidence())
    good.commit("Verify at the second try")
    assert good.findings("--ref", "HEAD") == []
    for name in before.evidence():
        good.path(name).unlink()
    # The pass tells of it, so that it may go.
    assert good.findings() == []
    put(good, row)
    found = [one for one in good.findings() if one["rule"] == "KR115"]
    assert [one["path"] for one in found] == [before.artifact]
    assert "tells of none" in found[0]["message"]


# KR601.


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"max_abs": 0.000124}, "/max_abs"),
        ({"tiles_in_flight": 64}, "/tiles_in_flight"),
        ({"provenance": {"tile": "guessed"}}, "/provenance"),
    ],
)
def test_a_field_of_a_run_does_not_change_without_one(
    good: Example, row: Row, changes: dict[str, object], pointer: str
) -> None:
    good.write({row.id.record_path: canonical.encode(replace(row.record, **changes))})
    good.render()
    (one,) = [one for one in good.findings() if one["rule"] == "KR601"]
    assert one["pointer"] == pointer
    line = good.path(row.id.record_path).read_text().splitlines()[one["line"] - 1]
    assert pointer[1:] in line


def test_a_new_run_may_change_everything(good: Example, row: Row) -> None:
    mine = with_run(started="2026-02-01T00:00:00Z")(row)
    better = replace(mine.verdict.outputs[0], max_abs=0.0008)
    log = mine.log.replace(b"8.240e-04", b"8.000e-04")
    verdict = replace(mine.verdict, outputs=[better])
    good.write(sealed(dataclasses.replace(mine, verdict=verdict, log=log)).files())
    good.render()
    assert good.findings() == []
    good.commit("Verify again")
    good.write({row.id.record_path: canonical.encode(row.record)})
    good.render()
    found = good.findings()
    assert ids(found) == set()
    assert ids(found, "warning") == set()  # it is an earlier version of itself


def test_an_edit_may_be_taken_back_together_with_a_remark(good: Example, row: Row) -> None:
    path = row.id.record_path
    good.edit(path, '"max_abs": 0.000824', '"max_abs": 0.0007')
    good.commit("Past every hook")
    good.edit(path, '"max_abs": 0.0007', '"max_abs": 0.000824')
    good.edit(path, '"notes": []', '"notes": [\n    "taken back"\n  ]')
    good.render()
    assert good.rules() == set()


def test_an_edit_is_no_repair_because_another_one_was_taken_back(good: Example, row: Row) -> None:
    path = row.id.record_path
    good.edit(path, '"max_abs": 0.000824', '"max_abs": 0.0007')
    good.commit("Past every hook")
    good.edit(path, '"max_abs": 0.0007', '"max_abs": 0.000824')
    good.edit(path, '"max_rel": 3118.0', '"max_rel": 3000.0')
    good.render()
    assert "KR601" in good.rules()
