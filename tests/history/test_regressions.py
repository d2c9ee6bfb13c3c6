"""`log --regressions` and `log --plot` on a real repository."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical
from tests.examples.build import GEMM
from tests.examples.example import Example
from tests.history.world import KEY, ROW, SHAPE, measured


def found(runs: Example, *words: str) -> tuple[int, list[dict[str, Any]]]:
    status, out = runs.command("log", "--regressions", "--format", "json", *words)
    listed: list[dict[str, Any]] = json.loads(out)
    return status, listed


def test_the_step_is_told_with_its_commit_and_what_was_otherwise(runs: Example) -> None:
    status, (step,) = found(runs)
    assert status == 1
    assert step["record"] == ROW
    assert step["metric"] == "performance.latency_us"
    assert (step["before"]["value"], step["after"]["value"]) == (869.0, 1000.0)
    assert step["after"]["commit"] == runs.git("rev-parse", "HEAD~1").strip()
    assert step["environment_changed"] == {"driver": ["2.18", "2.19"]}
    assert step["allowed_by"] == "spread"
    assert step["confirmed"] is True


def test_text_names_the_first_bad_commit_and_the_driver(runs: Example) -> None:
    status, out = runs.command("log", "--regressions")
    assert status == 1
    bad = runs.git("rev-parse", "HEAD~1").strip()
    assert f"first bad commit  {bad[:12]}" in out
    assert "driver: 2.18 -> 2.19" in out
    assert "beyond 2.0%, recorded spread" in out
    assert "1 regression still standing" in out


def test_improvements_are_shown_where_they_are_asked_for(runs: Example) -> None:
    for at in (200, 201):
        runs.add(measured(700.0, at))
        runs.commit("Faster")
    status, (regression,) = found(runs)
    assert status == 0
    assert regression["undone"]["value"] == 700.0
    status, both = found(runs, "--improvements")
    assert [step["kind"] for step in both] == ["regression", "improvement"]
    assert status == 0


def test_a_larger_threshold_stands_only_for_spreads_that_were_not_recorded(runs: Example) -> None:
    assert found(runs, "--threshold", "0.5")[0] == 1
    assert runs.command("log", "--regressions", "--threshold", "-1")[0] == 2


def test_steps_before_since_are_not_told(runs: Example) -> None:
    assert found(runs, "--since", "HEAD~1") == (0, [])
    assert found(runs, "--since", "HEAD~2")[0] == 1
    assert found(runs, "--until", "HEAD~2") == (0, [])


def test_what_a_merge_threw_away_is_no_step(runs: Example) -> None:
    runs.git("checkout", "-q", "-b", "side", "HEAD~3")
    for at in (300, 301):
        runs.add(measured(5000.0, at))
        runs.commit("Slow")
    runs.git("checkout", "-q", "main")
    runs.git("merge", "-q", "-s", "ours", "--no-edit", "side")
    _, steps = found(runs)
    assert [step["after"]["value"] for step in steps] == [1000.0]


def plot(runs: Example, *words: str, columns: str = "60", **environment: str) -> list[str]:
    runs.environment.update({"COLUMNS": columns, **environment})
    status, out = runs.command("log", GEMM, SHAPE, "--plot", *words)
    assert status == 0
    return out.splitlines()


def test_a_plot_has_its_unit_its_ends_and_fits(runs: Example) -> None:
    environment = {**runs.environment, "COLUMNS": "60", "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    words = ["log", GEMM, SHAPE, "--plot", "--registry", str(runs.root)]
    done = subprocess.run(
        [sys.executable, "-m", "registry_tool", *words],
        env=environment, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[0] == f"{ROW}: performance.latency_us, us (8 runs)"
    assert lines[1].startswith("1200 │")
    assert lines[8].startswith(" 866 │")
    assert any("\u2800" < character <= "\u28ff" for character in done.stdout)
    assert max(map(len, lines[1:])) <= 60
    assert lines[-1].strip().startswith("20")
    assert lines[-1].endswith("2020-02-01")
    assert "\x1b" not in done.stdout


def test_a_plain_locale_gets_a_plain_plot(runs: Example) -> None:
    lines = plot(runs, "gflops", LC_ALL="C")
    assert "GFLOP/s" in lines[0]
    assert "".join(lines).isascii()
    assert "*" in lines[1]


def test_a_narrow_terminal_gets_forty_columns(runs: Example) -> None:
    lines = plot(runs, columns="3", LC_ALL="C")
    assert 30 < max(map(len, lines[1:])) <= 40


def test_a_figure_that_no_run_has_is_wrong_use(
    runs: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runs.command("log", GEMM, SHAPE, "--plot", "gbps")[0] == 2
    assert KEY in capsys.readouterr().err


def test_another_tile_is_told_with_the_step(runs: Example) -> None:
    slower = measured(1300.0, 300)
    retiled = {**slower.record.tile, "tile_n": 64}
    for second, row in ((300, slower), (301, measured(1301.0, 301))):
        record = replace(row.record, tile=retiled, herd=[8, 2])
        runs.add(row)
        runs.write({row.id.record_path: canonical.encode(record)})
        runs.commit(f"Tile {second}")
    *_, step = found(runs)[1]
    assert step["settings_changed"] == {"tile.tile_n": [128, 64], "herd": [[8, 4], [8, 2]]}
    _, out = runs.command("log", "--regressions")
    assert "tile.tile_n: 128 -> 64" in out
    assert "herd: [8, 4] -> [8, 2]" in out


def test_a_step_says_whether_it_crept(runs: Example) -> None:
    for at in range(20):
        runs.add(measured(1003.0 * 1.002**at, 300 + at))
        runs.commit(f"Slower {at}")
    first, crept = found(runs)[1]
    assert first["crept_since"] is None
    assert crept["crept_since"]["value"] == 1000.0
    assert crept["confirmed"] is True
    assert "crept away since" in runs.command("log", "--regressions")[1]
