"""Waivers: which findings they silence, until when, and when they are findings themselves."""

from __future__ import annotations

import dataclasses
from datetime import date, timedelta

import pytest
from msgspec.structs import replace

from registry_tool.records.record import Waiver
from registry_tool.rules.catalog import RULES
from tests.examples.build import Row, sealed
from tests.examples.example import Example, ids
from tests.rules.test_tiles import small_herd
from tests.rules.test_verdicts import put

TODAY = date.today()


def waiver(rule: str, days: int = 30) -> Waiver:
    return Waiver(
        rule=rule,
        reason="accepted for now",
        by="A. Tester",
        date=min(TODAY, TODAY + timedelta(days)).isoformat(),
        expires=(TODAY + timedelta(days)).isoformat(),
    )


def with_waivers(row: Row, *waivers: Waiver) -> Row:
    return dataclasses.replace(row, waivers=waivers)


def test_a_waived_finding_is_silent(good: Example) -> None:
    put(good, with_waivers(small_herd([4, 4]), waiver("KR202")))
    assert good.findings() == []


def test_a_waiver_holds_on_its_last_day(good: Example) -> None:
    # The day may turn in UTC while this runs, so that its last day is tomorrow at the most.
    put(good, with_waivers(small_herd([4, 4]), waiver("KR202", 1)))
    assert good.findings() == []


def test_an_expired_waiver_silences_nothing_and_is_found(good: Example) -> None:
    put(good, with_waivers(small_herd([4, 4]), waiver("KR202", -2)))
    found = good.findings()
    assert [one["rule"] for one in found] == ["KR202", "KR202"]
    assert ids(found) == {"KR202"}
    about = next(one for one in found if one["pointer"] == "/waivers/0")
    assert "ended on" in about["message"]
    assert about["line"] > 1


def test_an_expired_waiver_of_nothing_only_warns(good: Example, row: Row) -> None:
    put(good, with_waivers(row, waiver("KR202", -2)))
    found = good.findings()
    assert ids(found) == set()
    assert ids(found, "warning") == {"KR202"}


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if rule.waivable == "never"])
def test_what_cannot_be_waived_is_said(good: Example, row: Row, rule: str) -> None:
    put(good, with_waivers(row, waiver(rule)))
    (one,) = good.findings()
    assert (one["rule"], one["pointer"]) == (rule, "/waivers/0")
    assert "cannot be waived" in one["message"]


def test_a_waiver_of_an_unknown_rule_is_found(good: Example, row: Row) -> None:
    put(good, with_waivers(row, waiver("KR999")))
    assert good.rules() == {"KR006"}


def test_a_failing_row_is_not_waived_unless_it_was_imported(good: Example, row: Row) -> None:
    run = replace(row.verdict.attempts[-1], exit_status=255)
    verdict = replace(row.verdict, attempts=[run])
    mine = sealed(dataclasses.replace(row, verdict=verdict))
    put(good, with_waivers(mine, waiver("KR103")))
    assert "KR103" in good.rules()
    imported = sealed(dataclasses.replace(mine, verdict=replace(verdict, kind="imported")))
    put(good, with_waivers(imported, waiver("KR103")))
    assert "KR103" not in good.rules()


def test_a_waiver_that_ends_before_it_begins_is_found(good: Example, row: Row) -> None:
    backwards = replace(waiver("KR202"), date="2099-01-01")
    put(good, with_waivers(row, backwards))
    assert "KR006" in good.rules()
