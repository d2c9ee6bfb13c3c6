"""Rows on the hardware target: every kernel, its speed, what surrounds it, and the gate behind."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest

from registry_tool.export import jsonl, tuned
from registry_tool.records import catalog, expressions, kernel
from registry_tool.store import registry, snapshot
from tests.acceptance.world import World
from tests.standin import bench as benches
from tests.standin.bench import Bench
from tests.standin.build import build_tree
from tests.standin.rows import ROWS, Row

BY_KERNEL = {row.kernel: row for row in ROWS}
LATENCY = re.compile(r"(?:^Latency \(us\)|Avg latency): ([0-9.]+)", re.MULTILINE)
ROPE, ADD = BY_KERNEL["RoPE_bf16"], BY_KERNEL["EltwiseAdd_bf16"]
GEMM, ATTENTION = BY_KERNEL["GEMM_bf16_in_bf16_out"], BY_KERNEL["FlashAttention_bf16"]


@pytest.fixture(scope="module")
def all_rows(tmp_path_factory: pytest.TempPathFactory, emulated_numbers: Path) -> Bench:
    """All kernels verified in one registry with hooks, and committed."""
    folder = tmp_path_factory.mktemp("rows")
    bench = benches.make(folder, build_tree(folder, emulated_numbers), hooks=True)
    bench.configure(timing_runs=3)
    for row in ROWS:
        bench.passes(row)
    bench.world.git("add", "registry.yaml")
    done = bench.world.commit("-m", "Every kernel on the device")
    assert done.returncode == 0, done.stdout + done.stderr
    return bench


def one(bench: Bench, row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """Record and verdict of a kernel's only row."""
    (path,) = (bench.world.registry / "records" / "npu2" / row.kernel).glob("*.json")
    record = json.loads(path.read_bytes())
    return record, json.loads((bench.world.registry / record["verdict"]["artifact"]).read_bytes())


def test_all_kernels_are_committed_through_the_hooks(all_rows: Bench) -> None:
    world = all_rows.world
    assert len(world.records()) == len(ROWS)
    assert world.git("status", "--porcelain") == ""
    assert "Every kernel" in world.git("log", "--oneline")
    assert world.json("check")["findings"] == []


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_has_the_speed_that_its_timing_runs_printed(all_rows: Bench, row: Row) -> None:
    record, verdict = one(all_rows, row)
    folder = (all_rows.world.registry / record["verdict"]["artifact"]).parent
    printed = []
    for run in verdict["profile"]:
        text = (folder / run["log"]["name"]).read_text()
        printed.append(float(LATENCY.findall(text)[-1]))
    assert len(printed) == 3
    speed = record["performance"]
    assert speed["latency_us"] == pytest.approx(statistics.median(printed))
    spread = (max(printed) - min(printed)) / statistics.median(printed)
    assert speed["spread"] == pytest.approx(spread, abs=1e-6)
    assert speed["spread"] > 0
    assert verdict["performance"] == speed


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_has_the_throughput_of_its_page(all_rows: Bench, row: Row) -> None:
    # Memory-bound harnesses print a latency only: the page's GB/s is the work over it.
    record, _ = one(all_rows, row)
    spec, speed = catalog.built_in()[row.kernel], record["performance"]
    text = spec.work.flops if spec.metric == "gflops" else spec.work.bytes
    assert text is not None
    amount = expressions.number(text, kernel.names(spec, row.shape))
    assert speed[spec.metric] == pytest.approx(amount / speed["latency_us"] / 1e3, rel=0.03)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_verdict_says_what_surrounded_it(all_rows: Bench, row: Row) -> None:
    _, verdict = one(all_rows, row)
    surroundings = verdict["environment"]
    assert "npu2" in surroundings["device"]["value"] or "Strix" in surroundings["device"]["value"]
    assert surroundings["driver"]["value"]
    assert surroundings["firmware"]["value"]
    assert surroundings["power_mode"]["value"] == "Performance"
    commit = all_rows.world.run("git", "rev-parse", "HEAD", cwd=all_rows.tree.top).stdout.strip()
    assert commit[:12] in json.dumps(surroundings["toolchain"])
    for name in ("host", "platform_profile"):
        fact = surroundings[name]
        assert (fact["value"] is None) == (fact["reason"] is not None)
    assert any(row.folder in name for name in verdict["sources"]), verdict["sources"]
    assert len([name for name in verdict["sources"] if name.endswith((".py", "Makefile"))]) >= 2
    assert verdict["kind"] == "harness"


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_verdict_holds_no_path_of_this_machine(all_rows: Bench, row: Row) -> None:
    record, verdict = one(all_rows, row)
    assert str(all_rows.tree.top.parent) not in json.dumps(verdict)
    assert str(all_rows.tree.top.parent) not in json.dumps(record)
    harness = catalog.built_in()[row.kernel].harness["npu2"]
    assert ("compile" in verdict) == (harness.compile is not None)


def test_every_run_of_the_device_held_the_lock_and_no_compile_did(all_rows: Bench) -> None:
    held: dict[str, set[str]] = {"compile": set(), "run": set(), "timing": set()}
    for entry in all_rows.tree.starts():
        held[entry["step"]].add(entry["outer_lock"])
    assert held == {"compile": {"free"}, "run": {"ours"}, "timing": {"ours"}}


def test_the_page_shows_the_measured_speed(all_rows: Bench) -> None:
    record, _ = one(all_rows, GEMM)
    page = (all_rows.world.registry / "details" / f"{GEMM.kernel}.md").read_text()
    assert "256×1024×256" in page
    assert f"{record['performance']['gflops']:.0f}" in page.replace(",", "").replace(" ", "")


def test_exports_hold_what_was_measured_and_call_nothing_of_it_emulated(
    all_rows: Bench, tmp_path: Path
) -> None:
    world = all_rows.world
    done = world.tool("export", "--form", "moe", "--out", str(tmp_path / "moe"))
    assert done.returncode == 0, done.stderr
    files = {str(p.relative_to(tmp_path / "moe")): p for p in (tmp_path / "moe").rglob("*.json")}
    names = {name: tuned.load_tuned(path.read_bytes()) for name, path in files.items()}
    assert {name.partition("/")[0] for name in names} == {
        "GEMM_bf16_in_bf16_out",
        "GEMM_bf16_in_fp32_out",
    }
    entry = names["GEMM_bf16_in_bf16_out/N=256,K=1024,device_name=npu2,dtype=bf16.json"][256]
    assert entry == {
        "BLOCK_SIZE_M": 32,
        "BLOCK_SIZE_N": 64,
        "BLOCK_SIZE_K": 32,
        "variant": GEMM.variant,
        **one(all_rows, GEMM)[0]["tile"],
        **dict(zip(("herd_m", "herd_n"), GEMM.herd, strict=True)),
    }
    assert "left out: GEMV_bf16" in done.stderr
    world.ok("export", "--form", "jsonl", "--out", str(tmp_path / "lines"))
    held = registry.load(snapshot.of_worktree(world.registry)).records
    data = (tmp_path / "lines" / "npu2.jsonl").read_bytes()
    assert jsonl.load_jsonl(data) == held
    assert b"emulated" not in data
    text = world.ok("export", "--form", "csv", "--kernel", GEMM.kernel)
    assert f",{one(all_rows, GEMM)[0]['performance']['gflops']}," in text


def test_a_measured_row_whose_verdict_was_touched_is_not_exported_as_tuned(
    all_rows: Bench, tmp_path: Path
) -> None:
    record, _ = one(all_rows, GEMM)
    path = all_rows.world.registry / record["verdict"]["artifact"]
    whole = path.read_bytes()
    try:
        path.write_bytes(whole.replace(b'"status": "pass"', b'"status":  "pass"'))
        words = ("export", "--form", "moe", "--kernel", GEMM.kernel, "--out", str(tmp_path))
        done = all_rows.world.tool(*words)
        assert done.returncode == 2
        assert "no such row has a passing verdict of its own" in done.stderr
    finally:
        path.write_bytes(whole)


def test_what_was_measured_is_not_run_again(all_rows: Bench) -> None:
    before = len(all_rows.tree.starts())
    assert "nothing to do" in all_rows.passes(ADD)
    assert len(all_rows.tree.starts()) == before


def test_an_edited_latency_is_refused_by_the_hook(all_rows: Bench, tmp_path: Path) -> None:
    world = all_rows.world
    (path,) = (world.registry / "records" / "npu2" / ROPE.kernel).glob("*.json")
    whole = path.read_text()
    try:
        latency = json.loads(whole)["performance"]["latency_us"]
        path.write_text(whole.replace(f'"latency_us": {latency!r}', '"latency_us": 12.5'))
        refused = world.commit("-am", "Faster")
        assert refused.returncode == 1
        assert "KR105" in refused.stdout + refused.stderr
    finally:
        world.git("reset", "-q", "--hard")


def rules_that_refuse(world: World) -> set[str]:
    return {finding["rule"] for finding in world.json("check", status=1)["findings"]}


def test_an_emulated_verdict_makes_no_row_of_the_device(bench: Bench) -> None:
    world = bench.world
    words = ("--kernel", ROPE.kernel, "--shape", ROPE.shape_words)
    world.ok("verify", "--target", "npu2-emu", *words)
    (emulated,) = world.records()
    forged = Path(str(emulated).replace("npu2-emu", "npu2"))
    forged.parent.mkdir(parents=True)
    record = json.loads(emulated.read_bytes())
    forged.write_text(json.dumps({**record, "target": "npu2"}, indent=2) + "\n")
    assert "KR102" in rules_that_refuse(world)
    # Nor does it help to move the verdict and its log along.
    artifact = record["verdict"]["artifact"]
    source = world.registry / artifact
    target = Path(str(source).replace("npu2-emu", "npu2"))
    shutil.copytree(source.parent, target.parent)
    text = source.read_text().replace('"target": "npu2-emu"', '"target": "npu2"')
    target.write_text(text)
    link = {**record["verdict"], "artifact": artifact.replace("npu2-emu", "npu2")}
    forged.write_text(json.dumps({**record, "target": "npu2", "verdict": link}, indent=2) + "\n")
    assert "KR107" in rules_that_refuse(world)
    bench.passes(ROPE, "--force")
    assert bench.tree.starts(ROPE.folder)


def test_the_timing_of_a_stateful_kernel_may_spoil_its_outputs(bench: Bench) -> None:
    bench.passes(ATTENTION)
    verdict = bench.verdict()
    (timing,) = verdict["profile"]
    log = next(path for path in bench.logs() if path.name == timing["log"]["name"])
    assert "failed." in log.read_text().splitlines()
    assert verdict["performance"]["latency_us"] > 0
    assert bench.world.ok("check")


def test_each_verdict_has_a_build_folder_of_its_own(bench: Bench) -> None:
    build = bench.tree.root / ADD.folder / "build_peano"
    (build / "air_project").mkdir(parents=True)
    (build / "air_project" / "built.json").write_text('{"kernel": "EltwiseAdd_bf16", "tile": 16}')
    (build / "of-another-run").touch()
    bench.passes(ADD)
    assert not (build / "of-another-run").exists()


def test_a_dry_run_starts_nothing_and_prints_what_a_shell_can_run(bench: Bench) -> None:
    for row in (GEMM, ADD):
        out = bench.world.ok(*benches.verify_words(row), "--dry-run")
        assert bench.tree.starts() == []
        assert bench.world.records() == []
        assert "rm -rf" in out
        assert f"flock -x -w 30 {bench.tree.lock}" in out
        done = bench.world.run("sh", "-e", "-c", out)
        assert done.returncode == 0, out + done.stdout + done.stderr
        assert done.stdout.splitlines().count("PASS!") == 2
        steps = [(entry["step"], entry["outer_lock"]) for entry in bench.tree.starts(row.folder)]
        assert steps == [("compile", "free"), ("run", "ours"), ("timing", "ours")]
        bench.tree.forget()


def test_a_dry_run_needs_neither_tree_nor_compiler(bench: Bench) -> None:
    bench.configure(harness_root=None)
    del bench.world.environment["PEANO_INSTALL_DIR"]
    out = bench.world.ok(*benches.verify_words(ADD), "--dry-run")
    assert "$HARNESS_ROOT" in out
    assert "$PEANO_INSTALL_DIR" in out


def test_what_runs_is_what_the_dry_run_printed(bench: Bench) -> None:
    out = bench.world.ok(*benches.verify_words(ADD), "--dry-run")
    bench.passes(ADD)
    (start,) = bench.tree.starts(ADD.folder, "run")
    for name, value in zip(start["argv"][1::2], start["argv"][2::2], strict=False):
        if name == "--tile":
            assert f"TILE={value}" in out


def test_the_verdict_runs_again_by_its_own_command(all_rows: Bench) -> None:
    _, verdict = one(all_rows, BY_KERNEL["GEMV_bf16"])
    words = [
        word.replace("$PEANO_INSTALL_DIR", str(all_rows.tree.peano))
        for word in verdict["attempts"][0]["command"]
    ]
    folder = all_rows.tree.root / BY_KERNEL["GEMV_bf16"].folder
    done = subprocess.run(
        words, cwd=folder, env=all_rows.world.environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert "PASS!" in done.stdout.splitlines()
