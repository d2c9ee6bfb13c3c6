"""Levels of rules in registry.yaml, and what --select and --ignore look at."""

from __future__ import annotations

import pytest

from registry_tool.rules.catalog import RULES
from registry_tool.rules.selection import parse
from tests.examples.build import Row
from tests.examples.example import Example, ids
from tests.rules.test_tiles import small_herd
from tests.rules.test_verdicts import put

HEAD = "schema_version: 1\n"


def level(good: Example, text: str) -> None:
    """Say something at the top of registry.yaml, in a change of its own."""
    good.edit("registry.yaml", HEAD, f"{HEAD}{text}\n")
    good.commit("Set levels")


def level_of_target(good: Example, target: str, text: str) -> None:
    good.edit("registry.yaml", f"  {target}:\n", f"  {target}:\n    rules: {text}\n")
    good.commit("Set levels")


@pytest.mark.parametrize(
    ("value", "severity"), [("error", "error"), ("warning", "warning"), ("off", None)]
)
def test_a_rule_counts_as_the_registry_says(
    good: Example, value: str, severity: str | None
) -> None:
    level(good, f"rules: {{KR202: {value}}}")
    put(good, small_herd([4, 4]))
    found = [one["severity"] for one in good.findings() if one["rule"] == "KR202"]
    assert found == ([severity] if severity else [])


def test_the_level_of_a_target_wins_over_the_one_for_all(good: Example) -> None:
    level(good, "rules: {KR202: off}")
    level_of_target(good, "npu2-emu", "{KR202: warning}")
    put(good, small_herd([4, 4]))
    found = good.findings()
    assert (ids(found), ids(found, "warning")) == (set(), {"KR202"})


def test_the_level_of_another_target_changes_nothing(good: Example) -> None:
    level_of_target(good, "npu2", "{KR202: off}")
    put(good, small_herd([4, 4]))
    assert good.rules() == {"KR202"}


def test_a_warning_can_be_raised(good: Example, row: Row) -> None:
    good.edit(
        row.id.record_path,
        '"used_by": []',
        '"used_by": [\n    {\n      "model": "Nobody-7B",\n      "site": "x"\n    }\n  ]',
    )
    good.render()
    assert ids(good.findings(), "warning") == {"KR006"}
    good.edit("registry.yaml", HEAD, f"{HEAD}rules: {{KR006: error}}\n")
    assert good.rules() == {"KR006"}


@pytest.mark.parametrize("value", ["warning", "off"])
@pytest.mark.parametrize("where", ["", "npu2-emu"])
def test_what_no_row_may_waive_cannot_be_lowered(
    good: Example, row: Row, value: str, where: str
) -> None:
    if where:
        level_of_target(good, where, f"{{KR105: {value}}}")
    else:
        level(good, f"rules: {{KR105: {value}}}")
    (one,) = good.findings()
    lines = good.path("registry.yaml").read_text().splitlines()
    assert (one["rule"], one["path"]) == ("KR110", "registry.yaml")
    assert "KR105" in lines[one["line"] - 1]
    assert "cannot be lowered" in one["message"]
    good.edit(row.id.record_path, '"max_abs": 0.000824', '"max_abs": 0.000124')
    good.render()
    assert "KR105" in good.rules()


def test_lowering_a_rule_in_the_change_that_needs_it_is_refused(good: Example) -> None:
    good.edit("registry.yaml", HEAD, f"{HEAD}rules: {{KR202: warning}}\n")
    assert good.rules() == set()
    put(good, small_herd([4, 4]))
    found = good.findings()
    assert ids(found) == {"KR110"}
    (one,) = [one for one in found if one["rule"] == "KR110"]
    assert "lowers KR202" in one["message"]
    assert "16 of 32" in one["message"]


def test_raising_a_limit_in_the_change_that_needs_it_is_refused(good: Example) -> None:
    from registry_tool.records import catalog
    from tests.examples.build import GEMM, SMALL, make_row
    from tests.examples.cases import sped_up

    level_of_target(good, "npu2", "{}")
    good.edit("registry.yaml", "    rules: {}\n", "    limits: {gflops: 4000}\n")
    good.commit("Limit the device")
    mine = make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2")
    put(good, mine)
    assert good.rules() == {"KR502"}
    good.edit("registry.yaml", "4000", "9000")
    assert good.rules() == {"KR110"}
    good.edit("registry.yaml", "9000", "4000")
    put(good, sped_up(latency_us=1200.0, gflops=3579.14)(mine))
    assert good.rules() == set()


def test_a_rule_that_is_not_there_is_named_with_its_line(good: Example) -> None:
    level(good, "rules: {KR299: off}")
    (one,) = good.findings()
    assert (one["rule"], one["path"], one["line"]) == ("KR006", "registry.yaml", 2)
    assert "KR299" in one["message"]


# --select and --ignore.


def test_only_what_is_selected_is_said(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '"tiles_in_flight": 32', '"tiles_in_flight": 64')
    everything = good.rules()
    assert everything >= {"KR201", "KR601", "KR301"}
    assert good.rules("--select", "KR2") == {"KR201"}
    assert good.rules("--select", "kr201,KR6") == {"KR201", "KR601"}
    assert good.rules("--select", "KR2", "--select", "6") == {"KR201", "KR601"}
    assert good.rules("--ignore", "KR2,KR301") == everything - {"KR201", "KR301"}
    assert good.rules("--select", "KR2", "--ignore", "KR201") == set()
    assert good.command("check", "--ignore", "KR")[0] == 0


def test_an_option_changes_nothing_of_what_a_hook_finds_next(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '"tiles_in_flight": 32', '"tiles_in_flight": 64')
    good.git("add", "-A")
    assert good.rules("--staged", "--ignore", "KR") == set()
    found = good.rules("--staged")
    assert "KR201" in found
    assert good.rules("--staged", "--select", "KR0") == set()
    assert good.rules("--staged") == found


@pytest.mark.parametrize("option", ["--select", "--ignore"])
@pytest.mark.parametrize("prefix", ["KR7", "XY", "", "KR1,", "KR1055"])
def test_an_unknown_prefix_is_wrong_use_and_names_the_known_ones(
    good: Example, option: str, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert good.command("check", option, prefix)[0] == 2
    said = capsys.readouterr().err
    assert "KR1 (verdicts)" in said
    assert "registry-tool explain" in said


def test_each_rule_is_selected_by_its_own_id_and_family() -> None:
    for rule in RULES:
        assert parse([rule.id], []).wants(rule.id)
        assert parse([rule.id[:3]], []).wants(rule.id)
        assert not parse([], [rule.id]).wants(rule.id)


# Lowering a rule in a change of its own.


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("{}", "{KR202: off}", ["KR202 (unused array) was 'error' and is 'off'"]),
        ("{KR202: warning}", "{KR202: off}", ["was 'warning' and is 'off'"]),
        ("{KR131: error}", "{}", ["KR131 (stale evidence) was 'error' and is 'off'"]),
        ("{}", "{KR402: warning}", ["was 'error' and is 'warning'"]),
        ("{}", "{KR131: warning}", []),
        ("{KR202: warning}", "{}", []),
        ("{KR402: error}", "{KR402: error, KR202: error}", []),
    ],
)
def test_a_rule_that_is_lowered_before_any_row_needs_it_warns(
    good: Example, before: str, after: str, words: list[str]
) -> None:
    level(good, f"rules: {before}")
    good.edit("registry.yaml", f"rules: {before}", f"rules: {after}")
    found = good.findings()
    assert ids(found) == set()
    told = [one["message"] for one in found if one["rule"] == "KR110"]
    assert len(told) == len(words)
    assert all(word in one for word, one in zip(words, told, strict=True)), told
    good.commit("Set levels")
    assert [one for one in good.findings() if one["rule"] == "KR110"] == []


def test_a_rule_that_is_lowered_for_a_target_names_it(good: Example) -> None:
    good.edit("registry.yaml", "  npu2:\n", "  npu2:\n    rules: {KR202: warning}\n")
    [found] = good.findings()
    assert "was 'error' for npu2 and is 'warning'" in found["message"]


# The policy of another state.


def test_rows_can_be_measured_by_the_policy_of_the_base(good: Example) -> None:
    base = good.git("rev-parse", "HEAD").strip()
    level(good, "rules: {KR202: off}")
    put(good, small_herd([4, 4]))
    good.commit("Use less of the array")
    assert good.findings("--ref", "HEAD") == []
    assert good.rules("--ref", "HEAD", "--policy-of", base) == {"KR202"}
    assert good.findings("--ref", "HEAD") == []
    assert good.rules("--ref", "HEAD", "--base", base) == {"KR110"}


def test_rows_can_be_measured_by_the_pages_of_the_base(good: Example, row: Row) -> None:
    from tests.examples.build import GEMM

    tight = "tolerances:\n  high: {rtol: 0.016, atol: 0.0005}\n  low: {rtol: 0.01, atol: 0.004}\n"
    path = f"kernels/{GEMM}.yaml"
    good.write({path: f"schema_version: 1\nkernel: {GEMM}\n{tight}"})
    good.commit("Tighten")
    good.path(path).unlink()
    good.commit("Loosen again")
    # Against its own base the row needs the edit; by the base's measure it is simply too loose.
    assert good.rules("--ref", "HEAD") == {"KR110"}
    assert good.rules("--ref", "HEAD", "--policy-of", "HEAD~1") == {"KR104"}


@pytest.mark.parametrize(
    "words",
    [
        ("--base", "HEAD"),
        ("--staged", "--base", "HEAD"),
        ("--ref", "HEAD", "--base", "nothing"),
        ("--policy-of", "nothing"),
        ("--range", "HEAD~0..HEAD", "--policy-of", "HEAD"),
    ],
)
def test_what_does_not_fit_together_is_wrong_use(good: Example, words: tuple[str, ...]) -> None:
    assert good.command("check", *words)[0] == 2
