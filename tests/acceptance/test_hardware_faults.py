"""A harness or a device that misbehaves: what is recorded, what is retried, what is ended."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.standin import bench as benches
from tests.standin.bench import Bench, processes_of, verify_words
from tests.standin.build import Tree, copy_tree
from tests.standin.rows import ROWS

BY_KERNEL = {row.kernel: row for row in ROWS}
ROPE, ADD = BY_KERNEL["RoPE_bf16"], BY_KERNEL["EltwiseAdd_bf16"]
GEMV = BY_KERNEL["GEMV_bf16"]


def page(bench: Bench, kernel: str) -> str:
    return (bench.world.registry / "details" / f"{kernel}.md").read_text()


WRONG = {
    "wrong": "fail",
    "zeros": "fail",
    "nan": "fail",
    "inf": "fail",
    "nan-pass": "fail",
    "loose": "fail",
    "exit-zero": "fail",
    "sampled": "unverified",
    "wrong-device": "unverified",
    "no-device": "unverified",
    "silent-pass": "unverified",
    "no-words": "unverified",
    "no-outputs": "unverified",
    "torn": "incomplete",
    "killed": "error",
    "aborted": "error",
    "compile-killed": "error",
    "busy": "error",
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, blank: Bench) -> Iterator[Bench]:
    """One bench for all that leaves no row behind; what it holds at the end passes the check."""
    folder = tmp_path_factory.mktemp("shared")
    bench = benches.copy(blank, folder, copy_tree(blank.tree, folder))
    yield bench
    assert bench.world.json("check")["findings"] == []


@pytest.mark.parametrize(("kind", "status"), WRONG.items())
def test_no_row_of_a_run_that_went_wrong(shared: Bench, kind: str, status: str) -> None:
    shared.tree.misbehave({"kind": kind, "folder": ROPE.folder})
    done = shared.verify(ROPE)
    assert done.returncode == 1, done.stdout + done.stderr
    assert shared.world.records() == []
    verdict = shared.verdicts(ROPE.kernel)[-1]
    assert verdict["status"] == status, verdict["reason"]
    assert verdict["reason"]
    assert verdict["performance"] is None
    assert len(verdict["attempts"]) == 2


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("push-queue", "k_split"),
        ("descriptors", "1024"),
        ("l2", "tile_m"),
        ("stride", "tile_k_l2"),
    ],
)
def test_what_does_not_compile_is_explained(shared: Bench, text: str, cause: str) -> None:
    shared.tree.misbehave({"kind": "compile-error", "text": text})
    done = shared.verify(GEMV)
    assert done.returncode == 1
    assert cause in done.stdout + done.stderr
    assert shared.verdicts(GEMV.kernel)[-1]["status"] == "error"


def test_noise_around_the_lines_changes_nothing(bench: Bench) -> None:
    bench.tree.misbehave({"kind": "noise"})
    bench.passes(ROPE)
    assert bench.world.json("check")["findings"] == []


def test_a_long_log_is_kept_as_an_excerpt(bench: Bench) -> None:
    bench.tree.misbehave({"kind": "flood", "amount": 20, "step": "run"})
    bench.passes(ROPE)
    (attempt,) = bench.verdict()["attempts"]
    assert attempt["log"]["size"] > 20_000_000
    assert attempt["log"]["excerpt_sha256"]
    assert all(path.stat().st_size < 2_000_000 for path in bench.logs())
    assert bench.world.json("check")["findings"] == []


def test_a_pass_on_the_second_try_is_flaky_in_record_and_page(bench: Bench) -> None:
    bench.tree.misbehave({"kind": "wrong", "folder": ROPE.folder, "step": "run", "starts": [1]})
    said = bench.passes(ROPE)
    assert "flaky" in said
    record, verdict = bench.record(), bench.verdict()
    assert record["verdict"]["flaky"] is True
    assert "flaky" in page(bench, ROPE.kernel)
    first, second = verdict["attempts"]
    assert (first["status"], second["status"]) == ("fail", "pass")
    assert first["reason"]
    assert len(bench.tree.starts(step="timing")) == 1
    for attempt in (first, second):
        assert any(path.name == attempt["log"]["name"] for path in bench.logs())
    assert bench.world.json("check")["findings"] == []


def test_a_pass_at_once_is_not_flaky(bench: Bench) -> None:
    assert "flaky" not in bench.passes(ROPE)
    assert "flaky" not in bench.record()["verdict"]
    assert "flaky" not in page(bench, ROPE.kernel)


def test_a_pass_on_the_third_try_is_none(bench: Bench) -> None:
    bench.tree.misbehave({"kind": "wrong", "folder": ROPE.folder, "step": "run", "starts": [1, 2]})
    done = bench.verify(ROPE)
    assert done.returncode == 1
    assert bench.world.records() == []
    statuses = [attempt["status"] for attempt in bench.verdict()["attempts"]]
    assert statuses == ["fail", "fail"]
    # Typed again, the third try passes, and the row says that others did not.
    bench.passes(ROPE)
    assert bench.record()["verdict"]["flaky"] is True
    assert bench.verdicts()[-1]["earlier_failures"] == 1
    assert bench.world.json("check")["findings"] == []


def test_a_flag_of_flakiness_cannot_be_edited_away(bench: Bench) -> None:
    bench.tree.misbehave({"kind": "wrong", "folder": ROPE.folder, "step": "run", "starts": [1]})
    bench.passes(ROPE)
    (path,) = bench.world.records()
    record = json.loads(path.read_bytes())
    del record["verdict"]["flaky"]
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    assert bench.world.tool("render").returncode == 0
    assert bench.world.tool("check").returncode == 1


@pytest.mark.parametrize("kind", ["wrong", "killed", "slow"])
def test_a_failure_in_the_timing_run_fails_the_attempt(bench: Bench, kind: str) -> None:
    bench.configure(timing_runs=2)
    bench.tree.misbehave({"kind": kind, "folder": ROPE.folder, "step": "timing", "starts": [2]})
    bench.passes(ROPE)
    verdict = bench.verdicts(ROPE.kernel)[-1]
    first, second = verdict["attempts"]
    assert first["step"] == "timing"
    assert first["status"] != "pass"
    assert "step" not in second
    assert len(verdict["profile"]) == 2
    assert bench.record()["verdict"]["flaky"] is True
    assert bench.record()["performance"]["latency_us"] < 1000
    assert bench.world.json("check")["findings"] == []


@pytest.mark.parametrize("unit", ["us", "ms"])
def test_the_times_of_a_profile_program_are_read_in_their_unit(bench: Bench, unit: str) -> None:
    bench.tree.misbehave({"kind": "cpp-timing", "text": unit})
    bench.passes(ROPE)
    (timing,) = bench.verdict()["profile"]
    (log,) = (path for path in bench.logs() if path.name == timing["log"]["name"])
    printed = re.findall(r"^Avg NPU time: ([0-9.]+)[mu]s\.$", log.read_text(), re.MULTILINE)
    scale = 1000 if unit == "ms" else 1
    assert bench.record()["performance"]["latency_us"] == pytest.approx(float(printed[0]) * scale)
    assert bench.world.json("check")["findings"] == []


def test_a_latency_of_zero_is_no_speed(bench: Bench) -> None:
    bench.tree.misbehave({"kind": "zero-latency", "folder": ROPE.folder})
    bench.passes(ROPE)
    assert bench.record()["performance"] is None
    assert bench.world.json("check")["findings"] == []


def test_a_device_that_times_out_on_the_second_dispatch_only(bench: Bench) -> None:
    bench.tree.misbehave({"kind": "timeout", "dispatches": [2]})
    said = bench.passes(ROPE)
    assert "timed out" in said
    first, second = next(
        verdict["attempts"] for verdict in bench.verdicts() if len(verdict["attempts"]) == 2
    )
    assert (first["step"], first["status"], second["status"]) == ("timing", "timeout", "pass")
    assert bench.record()["verdict"]["flaky"] is True
    # Between the two, a row that is known to pass tried the device.
    folders = [start["folder"] for start in bench.tree.starts() if start["step"] != "compile"]
    canary = folders[2]
    assert folders == [ROPE.folder, ROPE.folder, canary, ROPE.folder, ROPE.folder]
    assert canary != ROPE.folder
    assert bench.world.json("check")["findings"] == []


def needs(bench: Bench, count: int) -> list[str]:
    """The words that select ``count`` RMSNorm rows, from a model that has that many."""
    configuration = {
        "model_type": "qwen3", "hidden_size": 256, "intermediate_size": 512,
        "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4,
        "head_dim": 64, "hidden_act": "silu", "vocab_size": 16384, "rms_norm_eps": 1e-6,
    }  # fmt: skip
    path = bench.world.write_config(configuration)
    words = ["verify", "--target", "npu2", "--config", str(path), "--model", "Tiny"]
    words += ["--seq", "256", "--kernel", "RMSNorm_bf16"]
    plan = bench.world.ok(*words, "--dry-run")
    assert plan.count("cd ") >= count
    return words


def shapes(starts: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(start["shape"]) for start in starts]


def test_after_a_time_out_the_plan_goes_on_if_the_canary_passes(bench: Bench) -> None:
    bench.passes(ROPE)
    words = needs(bench, 3)
    bench.tree.forget()
    bench.tree.misbehave(
        {"kind": "timeout", "folder": "weighted_rms_norm", "step": "run", "starts": [1, 2]}
    )
    done = bench.world.tool(*words)
    assert done.returncode == 1, done.stdout + done.stderr
    ran = shapes(bench.tree.starts("weighted_rms_norm", "run"))
    assert ran[0] == ran[1]
    assert len(set(ran)) >= 3
    assert bench.tree.starts(ROPE.folder, "run")
    verdicts = bench.verdicts("RMSNorm_bf16")
    assert [verdict["status"] for verdict in verdicts].count("timeout") == 1
    assert len(bench.world.records()) == len(set(ran))  # RoPE's, and all but one
    # The next verify does what is left.
    bench.world.ok(*words)
    assert len(bench.world.records()) == len(set(ran)) + 1


def test_a_failing_canary_ends_the_plan(bench: Bench) -> None:
    words = needs(bench, 3)
    # The first row is one gated run and one timing run of two dispatches; then the device is gone.
    bench.tree.misbehave({"kind": "timeout", "dispatches": list(range(4, 40))})
    done = bench.world.tool(*words)
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "suspect" in said
    tried = set(shapes(bench.tree.starts("weighted_rms_norm")))
    assert len(tried) == 2
    assert len(bench.world.records()) == 1
    assert {verdict["status"] for verdict in bench.verdicts()} == {"pass", "timeout"}
    assert bench.world.ok("check")  # a canary says nothing of its row
    assert bench.world.git("diff", "--cached", "--name-only")
    # A device that has come back takes the rest.
    bench.tree.misbehave()
    bench.world.ok(*words)
    assert len(bench.world.records()) >= 3


def test_a_hang_while_compiling_is_ended_without_the_lock(bench: Bench) -> None:
    bench.configure(compile_limit_s=1)
    bench.tree.misbehave({"kind": "compile-hang", "folder": ADD.folder})
    words = verify_words(ADD)
    done = bench.world.run("flock", "-x", str(bench.tree.lock), "registry-tool", *words)
    assert done.returncode == 1, done.stdout + done.stderr
    verdict = bench.verdict()
    assert verdict["status"] == "timeout"
    assert "compil" in verdict["reason"]
    (start,) = bench.tree.starts()  # not tried again
    assert start["step"] == "compile"
    assert processes_of(bench.tree) == []


def test_a_compile_only_run_waits_for_nobody(bench: Bench, tree: Tree) -> None:
    with (
        psutil.Popen(
            ["flock", "-x", str(tree.lock), "sleep", "60"], start_new_session=True
        ) as holder,
        bench.verifying(ADD) as running,
    ):
        entry = bench.wait_for("end", ADD.folder)
        assert (entry["step"], entry["status"]) == ("compile", 0)
        assert bench.tree.starts(step="run") == []
        for process in [*holder.children(), holder]:
            process.kill()
        assert running.wait(30) == 0
    assert [start["outer_lock"] for start in bench.tree.starts()] == ["other", "ours", "ours"]


def test_a_hang_on_the_device_is_ended_with_all_its_processes(bench: Bench) -> None:
    bench.configure(run_limit_s=2)
    bench.tree.misbehave({"kind": "hang", "folder": ROPE.folder})
    began = time.monotonic()
    done = bench.verify(ROPE)
    assert done.returncode == 1
    assert time.monotonic() - began < 20
    assert processes_of(bench.tree) == []
    verdict = bench.verdicts(ROPE.kernel)[0]
    assert verdict["status"] == "timeout"
    assert verdict["attempts"][0]["timed_out"] is True
    assert verdict["attempts"][0]["exit_status"] is None
    texts = [path.read_text() for path in bench.logs() if ROPE.kernel in str(path)]
    assert texts
    assert all("Detected NPU device: npu2" in text for text in texts)


@pytest.mark.parametrize("text", ["child", "detached"])
def test_a_grandchild_that_keeps_the_streams_is_ended(bench: Bench, text: str) -> None:
    bench.tree.misbehave({"kind": "grandchild", "text": text, "folder": ROPE.folder, "step": "run"})
    began = time.monotonic()
    bench.passes(ROPE)
    assert time.monotonic() - began < 20
    assert processes_of(bench.tree) == []
    (attempt,) = bench.verdict()["attempts"]
    assert any("time.sleep" in survivor for survivor in attempt["survivors"])
