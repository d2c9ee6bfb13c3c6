"""What counts as moved between a verdict and today."""

from __future__ import annotations

from msgspec.structs import replace

from registry_tool.records.verdict import Fact, Verdict
from registry_tool.stale.current import NEWEST, of_newest
from registry_tool.stale.moved import Current, moved
from tests.examples.build import Row

A, B = "a" * 64, "b" * 64


def ran_with(row: Row, sources: dict[str, str], **toolchain: str) -> Verdict:
    known = {name: Fact(value=value, reason=None) for name, value in toolchain.items()}
    environment = replace(row.verdict.environment, toolchain=known)
    return replace(row.verdict, sources=sources, environment=environment)


def test_the_same_sources_are_not_stale(row: Row) -> None:
    assert moved(ran_with(row, {"x.py": A}), Current("now", {"x.py": A})) == []


def test_a_changed_a_new_and_a_lost_file_are_told_apart(row: Row) -> None:
    verdict = ran_with(row, {"same.py": A, "edited.py": A, "lost.py": A})
    found = moved(verdict, Current("now", {"same.py": A, "edited.py": B, "new.py": A}))
    assert found == [
        "changed since: edited.py (now)",
        "gone since: lost.py (now)",
        "new since: new.py (now)",
    ]


def test_many_files_are_counted(row: Row) -> None:
    before = {f"{at}.py": A for at in range(5)}
    [words] = moved(ran_with(row, before), Current("now", dict.fromkeys(before, B)))
    assert words == "changed since: 0.py, 1.py, 2.py and 2 more (now)"


def test_what_nobody_knows_is_not_stale(row: Row) -> None:
    assert moved(ran_with(row, {}), Current("now", {"x.py": A})) == []
    assert moved(ran_with(row, {"x.py": A}), Current("now")) == []


def test_a_toolchain_counts_where_both_sides_know_it(row: Row) -> None:
    verdict = ran_with(row, {}, compiler="1" * 40, runtime="2.1", other="x")
    now = {
        "compiler": Fact(value="2" * 40, reason=None),
        "runtime": Fact(value="2.1", reason=None),
        "other": Fact(value=None, reason="not asked"),
    }
    assert moved(verdict, Current("now", {}, now)) == [
        f"compiler was {'1' * 12}, is {'2' * 12} (now)"
    ]


def test_the_newest_run_shows_what_is_current(row: Row) -> None:
    old = replace(ran_with(row, {"x.cc": A}), run_id="20260101T000000Z-00000000")
    new = replace(ran_with(row, {"x.cc": B}), run_id="20260301T000000Z-00000000")
    unknown = replace(ran_with(row, {}), run_id="20260401T000000Z-00000000")
    current = of_newest([old, new, unknown])
    assert moved(old, current) == [f"changed since: x.cc ({NEWEST}, {new.run_id})"]
    assert moved(new, current) == []


def test_without_any_sources_nothing_is_current(row: Row) -> None:
    assert of_newest([ran_with(row, {})]).sources == {}
