"""KR111, KR112 and what an imported row owes, through the real command."""

from __future__ import annotations

import dataclasses
import json
from datetime import date, timedelta

import pytest
from msgspec.structs import replace

from registry_tool import baseline
from registry_tool.records import canonical
from registry_tool.records.record import Use
from tests.baseline import samples
from tests.baseline.samples import adopt, baseline_of, imported, with_waiver
from tests.examples.build import Row, make_row
from tests.examples.example import Example, ids
from tests.rules.test_tiles import PAGE, small_herd
from tests.rules.test_verdicts import put

SOON = (date.today() + timedelta(30)).isoformat()
OVER = (date.today() - timedelta(2)).isoformat()


@pytest.fixture
def owed() -> list[Row]:
    return samples.rows()


@pytest.fixture
def adopted(good: Example, owed: list[Row]) -> Example:
    """A registry that has committed an import."""
    adopt(good, *owed)
    good.commit("Adopt")
    return good


def only(example: Example, rule: str) -> dict[str, object]:
    """The one finding of ``rule``."""
    (found,) = [one for one in example.findings() if one["rule"] == rule]
    return found


# What is owed.


@pytest.mark.parametrize("target", ["npu2-emu", "npu2"])
def test_the_change_that_imports_rows_with_their_baseline_passes(
    good: Example, target: str
) -> None:
    adopt(good, *samples.rows(target))
    good.git("add", "-A")
    assert good.findings("--staged") == []
    good.git("commit", "-q", "-m", "Adopt")
    assert good.findings() == []
    assert good.findings("--ref", "HEAD") == []


def test_an_import_into_a_repository_without_commits_passes(tmp_path: object) -> None:
    from pathlib import Path

    from tests.examples.example import MODEL, POLICY

    assert isinstance(tmp_path, Path)
    fresh = Example(tmp_path, tmp_path)
    fresh.git("init", "-q", "-b", "main")
    fresh.write({"registry.yaml": POLICY, "models/Toy-1B.json": MODEL})
    adopt(fresh, *samples.rows())
    fresh.git("add", "-A")
    assert fresh.findings("--staged") == []


def test_an_imported_row_without_a_baseline_says_that_it_needs_a_run(
    good: Example, owed: list[Row]
) -> None:
    good.add(owed[0])
    good.render()
    (one,) = good.findings()
    assert one["rule"] == "KR103"
    assert "was imported" in one["message"]
    assert "details/A.md:12" in one["message"]
    assert "registry-tool verify --target npu2-emu --kernel GEMM" in one["fix"]


def test_a_herd_below_target_and_a_figure_out_of_the_band_are_owed(good: Example) -> None:
    row = imported(small_herd([4, 4], samples.SHAPES[0]))
    output = replace(row.verdict.outputs[0], mean_rel_L1=0.4, rtol=0.9)
    row = dataclasses.replace(row, verdict=replace(row.verdict, outputs=[output]))
    adopt(good, row)
    assert good.findings() == []
    good.path(baseline.PATH).unlink()
    assert good.rules() == {"KR103", "KR104", "KR108", "KR202"}


def test_what_people_own_may_change(adopted: Example, owed: list[Row]) -> None:
    adopted.command("note", str(owed[0].id), "slow on Tuesdays")
    adopted.command("use", str(owed[0].id), "Toy-1B", "prefill Q proj")
    assert adopted.findings() == []
    assert adopted.findings("--staged") == []


@pytest.mark.parametrize("number", [0, 1])
def test_a_changed_measured_field_is_refused(
    adopted: Example, owed: list[Row], number: int
) -> None:
    path = owed[number].id.record_path
    adopted.edit(path, '"max_abs": 0.000824', '"max_abs": 0.000624')
    adopted.render()
    assert {"KR103", "KR105", "KR111"} <= adopted.rules()
    one = only(adopted, "KR111")
    assert one["path"] == path
    assert f"git checkout HEAD -- {path}" in str(one["fix"])
    shape = owed[number].id.key.partition("+")[0]
    assert f"--shape {shape} --variant drain" in str(one["fix"])


def test_a_careful_forger_of_record_and_artifact_is_refused(
    adopted: Example, owed: list[Row]
) -> None:
    verdict = owed[0].verdict
    better = replace(verdict, outputs=[replace(verdict.outputs[0], max_abs=0.0006)])
    put(adopted, dataclasses.replace(owed[0], verdict=better))
    assert {"KR106", "KR111"} <= adopted.rules()
    adopted.write(
        {baseline.PATH: baseline_of(owed[1], dataclasses.replace(owed[0], verdict=better))}
    )
    found = adopted.findings()
    assert "KR112" in ids(found)
    assert any("a digest of" in one["message"] for one in found)


def test_a_new_artifact_beside_the_old_one_does_not_help(adopted: Example, owed: list[Row]) -> None:
    verdict = owed[0].verdict
    better = replace(
        verdict,
        run_id="20250102T000000Z-00000000",
        outputs=[replace(verdict.outputs[0], max_abs=0.0006)],
    )
    adopted.add(dataclasses.replace(owed[0], verdict=better))
    adopted.render()
    assert adopted.rules() == {"KR103", "KR111"}


# Growth.


def another() -> Row:
    return imported(make_row(PAGE, {"M": 8192, "K": 1024, "N": 1024}, "drain"))


def test_a_row_cannot_be_added_to_the_baseline_later(adopted: Example, owed: list[Row]) -> None:
    adopt(adopted, another(), *owed)
    adopted.git("add", "-A")
    for state in ((), ("--staged",)):
        assert adopted.rules(*state) == {"KR112"}
    adopted.git("commit", "-q", "--no-verify", "-m", "Launder")
    assert adopted.rules("--ref", "HEAD") == {"KR112"}
    one = next(one for one in adopted.findings("--ref", "HEAD") if one["path"] == baseline.PATH)
    line = adopted.path(baseline.PATH).read_text().splitlines()[one["line"] - 1]
    assert str(another().id) in line


def test_a_row_that_is_imported_later_needs_a_run_even_with_a_waiver(
    adopted: Example,
) -> None:
    adopted.add(with_waiver(another(), SOON))
    adopted.render()
    assert adopted.rules() == {"KR111", "KR112"}


def test_a_baseline_of_rows_that_were_there_is_refused(good: Example, owed: list[Row]) -> None:
    good.add(*owed)
    good.render()
    good.commit("Import past the hook")
    good.write({baseline.PATH: baseline_of(*owed)})
    assert good.rules() == {"KR112"}


def test_a_baseline_names_no_row_that_is_still_to_come(good: Example, owed: list[Row]) -> None:
    adopt(good, *owed)
    good.write({baseline.PATH: baseline_of(another(), *owed)})
    assert good.rules() == {"KR112"}


def test_a_deleted_baseline_does_not_come_back_with_more(adopted: Example, owed: list[Row]) -> None:
    data = adopted.path(baseline.PATH).read_bytes()
    for row in owed:
        adopted.path(row.id.record_path).unlink()
    adopted.path(baseline.PATH).unlink()
    adopted.render()
    assert adopted.findings() == []
    adopted.commit("Retire all")
    adopt(adopted, another())
    assert adopted.rules() == {"KR112"}
    adopted.path(another().id.record_path).unlink()
    adopted.write({baseline.PATH: data})
    adopted.render()
    assert adopted.rules() == set(), "the same entries again, of rows that are gone"


def waive_all(example: Example, owed: list[Row]) -> None:
    example.add(*[with_waiver(row, SOON) for row in owed])
    example.render()


def better(row: Row) -> Row:
    """``row`` with a finer figure, on an import of its own."""
    verdict = replace(
        row.verdict,
        run_id="20250102T000000Z-00000000",
        outputs=[replace(row.verdict.outputs[0], max_abs=0.0006)],
    )
    return dataclasses.replace(row, verdict=verdict)


def test_waivers_do_not_replace_a_baseline_that_is_deleted(
    adopted: Example, owed: list[Row]
) -> None:
    waive_all(adopted, owed)
    adopted.path(baseline.PATH).unlink()
    adopted.git("add", "-A")
    for state in ((), ("--staged",)):
        assert adopted.rules(*state) == {"KR112"}
    one = only(adopted, "KR112")
    assert one["path"] == baseline.PATH
    assert "2 imported rows stand" in str(one["message"])
    adopted.git("commit", "-q", "--no-verify", "-m", "Lose it")
    (one,) = adopted.findings("--ref", "HEAD")
    adopted.git(*str(one["fix"]).split()[1:])
    assert adopted.findings() == []


def test_an_emptied_baseline_is_refused_whatever_is_waived(
    adopted: Example, owed: list[Row]
) -> None:
    waive_all(adopted, owed)
    adopted.write({baseline.PATH: baseline_of()})
    assert adopted.rules() == {"KR111"}


def test_no_import_is_changed_or_added_once_the_baseline_was_deleted(
    adopted: Example, owed: list[Row]
) -> None:
    waive_all(adopted, owed)
    adopted.path(baseline.PATH).unlink()
    adopted.commit("Lose it past the hook")
    adopted.add(with_waiver(better(owed[0]), SOON), with_waiver(another(), SOON))
    adopted.render()
    adopted.git("add", "-A")
    found = adopted.findings("--staged")
    assert ids(found) == {"KR112"}
    assert {one["path"] for one in found} == {
        baseline.PATH,
        owed[0].id.record_path,
        another().id.record_path,
    }


def test_rows_that_are_retired_let_the_baseline_go_and_nothing_new_in(
    adopted: Example, owed: list[Row]
) -> None:
    for row in owed:
        adopted.path(row.id.record_path).unlink()
    adopted.path(baseline.PATH).unlink()
    adopted.render()
    assert adopted.findings() == []
    adopted.commit("Retire all")
    adopted.add(with_waiver(another(), SOON))
    adopted.render()
    assert adopted.rules() == {"KR112"}


def test_a_merge_does_not_throw_the_baseline_away(good: Example, owed: list[Row]) -> None:
    good.git("branch", "older")
    adopt(good, *[with_waiver(row, SOON) for row in owed])
    good.commit("Adopt")
    good.git("checkout", "-q", "older")
    good.write({"README.md": "Nothing\n"})
    good.commit("Something else")
    good.git("merge", "-q", "--no-commit", "main")
    good.git("rm", "-q", "-f", baseline.PATH)
    assert good.rules("--staged") == {"KR112"}
    good.git("commit", "-q", "--no-verify", "-m", "Merge")
    assert good.rules("--ref", "HEAD") == {"KR112"}
    good.add(with_waiver(another(), SOON))
    good.render()
    assert good.rules() == {"KR112"}


def test_a_waived_import_where_there_never_was_a_baseline_passes(
    good: Example, owed: list[Row]
) -> None:
    waive_all(good, owed)
    good.commit("Waived")
    waive_all(good, [another()])
    assert good.findings() == []


def test_a_broken_baseline_in_between_hides_nothing(adopted: Example, owed: list[Row]) -> None:
    adopted.write({baseline.PATH: "not JSON\n"})
    adopted.commit("Break it")
    adopt(adopted, another(), *owed)
    assert adopted.rules() == {"KR112"}


def test_an_import_does_not_take_the_place_of_a_verdict(
    good: Example, row: Row, owed: list[Row]
) -> None:
    mine = imported(row)
    adopt(good, mine, *owed)
    good.commit("Import over a verified row")
    assert good.rules() == set()
    put(good, row)
    good.write({baseline.PATH: baseline_of(mine, *owed)})
    good.git("checkout", "-q", "HEAD", "--", mine.artifact)
    assert [(one["rule"], one["severity"]) for one in good.findings()] == [("KR111", "warning")]
    good.commit("Verify it, and leave the entry")
    put(good, mine)
    good.git("checkout", "-q", "HEAD", "--", row.id.verdict_folder)
    assert "KR112" in good.rules()


def test_entries_may_go(adopted: Example, owed: list[Row]) -> None:
    adopted.path(owed[0].id.record_path).unlink()
    adopted.render()
    found = adopted.findings()
    assert ids(found) == set()
    (one,) = found
    assert (one["rule"], one["severity"], one["path"]) == ("KR111", "warning", baseline.PATH)
    assert str(owed[0].id) in one["message"]
    adopted.write({baseline.PATH: baseline_of(owed[1])})
    assert adopted.findings() == []


def test_an_entry_that_goes_without_its_row_leaves_a_row_to_verify(
    adopted: Example, owed: list[Row]
) -> None:
    adopted.write({baseline.PATH: baseline_of(owed[1])})
    assert adopted.rules() == {"KR103", "KR111"}
    assert "needs a run" in str(only(adopted, "KR111")["message"])


def test_a_merge_of_an_older_branch_passes(good: Example, owed: list[Row]) -> None:
    good.git("branch", "older")
    adopt(good, *owed)
    good.commit("Adopt")
    good.git("checkout", "-q", "older")
    good.write({"README.md": "Nothing\n"})
    good.commit("Something else")
    good.git("merge", "-q", "--no-commit", "main")
    assert good.findings("--staged") == []


# Files.


def test_a_broken_baseline_is_one_finding(adopted: Example) -> None:
    adopted.edit(baseline.PATH, '"rows": [', '"rows": [,')
    (one,) = adopted.findings()
    assert (one["rule"], one["path"]) == ("KR001", baseline.PATH)


def test_a_reformatted_baseline_is_found(adopted: Example) -> None:
    document = json.loads(adopted.path(baseline.PATH).read_bytes())
    adopted.write({baseline.PATH: json.dumps(document)})
    assert adopted.rules() == {"KR009"}
    adopted.command("fmt")
    assert adopted.findings() == []


def test_an_unreadable_record_is_not_called_gone(adopted: Example, owed: list[Row]) -> None:
    adopted.write({owed[0].id.record_path: "{}\n"})
    assert "KR111" not in {one["rule"] for one in adopted.findings()}


# Waivers.


def test_a_waived_row_that_is_owed_passes_until_the_waiver_ends(good: Example) -> None:
    owed = samples.rows()
    adopt(good, with_waiver(owed[0], SOON), owed[1])
    assert good.findings() == []
    good.add(with_waiver(owed[0], OVER))
    good.render()
    (one,) = good.findings()
    assert (one["rule"], one["severity"], one["pointer"]) == ("KR103", "error", "/waivers/0")
    assert "ended on" in one["message"]


def test_a_waiver_of_what_cannot_be_waived_is_found_on_an_owed_row(good: Example) -> None:
    owed = samples.rows()
    adopt(good, with_waiver(owed[0], SOON, "KR105"), owed[1])
    assert good.rules() == {"KR105"}


# What is remembered.


def test_every_state_is_judged_alike_with_and_without_memory(
    adopted: Example, owed: list[Row]
) -> None:
    data = adopted.path(baseline.PATH).read_bytes()
    states = [
        {baseline.PATH: baseline_of(owed[1])},
        {baseline.PATH: data},
        {owed[0].id.record_path: canonical.encode(replace(owed[0].record, max_abs=0.5))},
        {owed[0].id.record_path: canonical.encode(owed[0].record)},
        {
            owed[1].id.record_path: canonical.encode(
                replace(owed[1].record, used_by=[Use(model="Toy-1B", site="x")])
            )
        },
        {baseline.PATH: "broken\n"},
        {baseline.PATH: data},
    ]
    for state in states:
        adopted.write(state)
        remembered = adopted.findings()
        again = adopted.findings()
        for path in (adopted.repo / ".git" / "registry-tool").iterdir():
            path.unlink()
        assert remembered == again == adopted.findings()
