"""A sweep on the device: every verdict is kept, the fastest passing configuration is the row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.standin.bench import Bench
from tests.standin.rows import ROWS

ADD = next(row for row in ROWS if row.kernel == "EltwiseAdd_bf16")
ROPE = next(row for row in ROWS if row.kernel == "RoPE_bf16")


def configuration(verdict: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    subject = verdict["subject"]
    return tuple(subject["tile"].values()), tuple(subject["herd"])


def test_the_fastest_passing_configuration_becomes_the_row(bench: Bench) -> None:
    said = bench.passes(ADD, "--sweep", "--limit", "4")
    verdicts = bench.verdicts()
    assert len(verdicts) == 4
    assert len({configuration(verdict) for verdict in verdicts}) == 4
    record = bench.record()
    fastest = min(
        (verdict for verdict in verdicts if verdict["status"] == "pass"),
        key=lambda verdict: float(verdict["performance"]["latency_us"]),
    )
    assert record["performance"] == fastest["performance"]
    assert (record["tile"], record["herd"]) == (
        fastest["subject"]["tile"],
        fastest["subject"]["herd"],
    )
    assert "4 run now" in said
    assert bench.world.json("check")["findings"] == []


def test_a_sweep_goes_on_where_the_last_one_ended(bench: Bench) -> None:
    bench.passes(ADD, "--sweep", "--limit", "2")
    said = bench.passes(ADD, "--sweep", "--limit", "2")
    verdicts = bench.verdicts()
    assert len({configuration(verdict) for verdict in verdicts}) == len(verdicts) == 4
    assert "4 passed" in said
    record = bench.record()
    least = min(float(verdict["performance"]["latency_us"]) for verdict in verdicts)
    assert record["performance"]["latency_us"] == least


def test_what_does_not_place_is_tried_once_by_anybody(bench: Bench) -> None:
    bench.tree.misbehave({"kind": "compile-error", "text": "descriptors", "starts": [1, 2, 3, 4]})
    said = bench.passes(ADD, "--sweep", "--limit", "3")
    assert "do not place" in said
    refused = [verdict for verdict in bench.verdicts() if verdict.get("places") is False]
    assert refused
    assert all("buffer descriptor" in verdict["reason"] for verdict in refused)
    bench.tree.misbehave()
    known = {configuration(verdict) for verdict in refused}
    # Neither another sweep nor a plain verify of a fresh clone runs them again.
    bench.passes(ADD, "--sweep", "--limit", "2")
    bench.world.tool("retire", f"npu2/EltwiseAdd_bf16/{ADD.shape['N']}")
    bench.passes(ADD)
    later = [v for v in bench.verdicts() if v["run_id"] > max(r["run_id"] for r in refused)]
    assert later
    assert not known & {configuration(verdict) for verdict in later if "places" not in verdict}
    assert sum(verdict.get("places") is False for verdict in bench.verdicts()) == len(refused)


def test_a_row_with_fewer_tiles_says_what_the_sweep_measured(bench: Bench) -> None:
    # Everything on more than four columns is refused by the compiler.
    bench.tree.misbehave({"kind": "compile-error", "text": "descriptors", "starts": [1, 2]})
    bench.passes(ROPE, "--sweep", "--limit", "2")
    record = bench.record()
    if record["tiles_in_flight"] < 8:
        assert any("does not place" in note for note in record["notes"])
    assert bench.world.json("check")["findings"] == []


def test_a_sweep_without_a_pass_leaves_no_row(bench: Bench) -> None:
    bench.tree.misbehave({"kind": "zeros"})
    done = bench.verify(ADD, "--sweep", "--limit", "2")
    assert done.returncode == 1
    assert "no configuration passed" in done.stderr
    assert bench.world.records() == []
    assert [verdict["status"] for verdict in bench.verdicts()] == ["fail", "fail"]


def test_the_budget_of_time_ends_it(bench: Bench) -> None:
    done = bench.verify(ADD, "--sweep", "--limit", "50", "--budget", "0.001")
    assert done.returncode == 1
    assert "until the time budget was over" in done.stderr
    assert bench.tree.starts() == []
    bench.passes(ADD, "--sweep", "--limit", "50", "--budget", "3")
    assert 1 <= len(bench.verdicts()) < 50


def test_options_that_do_not_fit_are_refused(bench: Bench) -> None:
    for words in (
        ["--limit", "3"],
        ["--sweep", "--limit", "0"],
        ["--sweep", "--budget", "-1"],
        ["--sweep", "--herd", "8x1"],
    ):
        done = bench.verify(ADD, *words)
        assert (done.returncode, done.stdout) == (2, ""), words
    assert bench.tree.starts() == []


def test_a_dry_run_shows_what_would_be_tried(bench: Bench) -> None:
    said = bench.verify(ADD, "--sweep", "--limit", "3", "--dry-run").stdout
    assert said.count("PERF_ITERS=0") == 3
    assert bench.tree.starts() == []


def test_an_emulated_sweep_says_that_nothing_is_timed(tmp_path: Path, bench: Bench) -> None:
    done = bench.world.tool(
        "verify", "--target", "npu2-emu", "--kernel", "RMSNorm_bf16", "--shape", "64x256",
        "--sweep", "--limit", "2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "nothing is timed" in done.stderr
    (path,) = bench.world.records()
    assert json.loads(path.read_bytes())["performance"] is None
