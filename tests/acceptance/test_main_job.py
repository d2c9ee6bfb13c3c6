"""config.json -> verified rows -> tables -> a commit that the gate accepts, with the real tools."""

from __future__ import annotations

import json
from pathlib import Path

from tests.acceptance import world as worlds
from tests.acceptance.world import World

ROPE = ("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=64")


def test_verify_and_commit_work_in_a_new_registry_with_hooks(hooked: World) -> None:
    config = hooked.write_config()
    words = ("--config", str(config), "--model", "Tiny", "--seq", "256")
    hooked.ok("verify", *words, "--jobs", "2")
    assert hooked.git("status", "--porcelain", "--untracked-files=all").count("??") == 0
    done = hooked.commit("-m", "Verify Tiny")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rows have passing verdicts" in done.stdout + done.stderr
    assert hooked.git("status", "--porcelain") == ""
    assert hooked.ok("verify") == "nothing to do: every selected need is met\n"


def test_a_row_says_who_uses_it_and_on_what_it_stands(world: World) -> None:
    config = world.write_config()
    words = ("--config", str(config), "--model", "Tiny", "--seq", "256", "--kernel", "RoPE_bf16")
    world.ok("verify", *words)
    for path in world.records():
        record = json.loads(path.read_bytes())
        assert record["used_by"], path
        assert record["verdict"]["status"] == "pass"
        verdict = json.loads((world.registry / record["verdict"]["artifact"]).read_bytes())
        assert verdict["subject"]["shape"] == record["shape"]
        assert record["performance"] is None
        assert verdict["environment"]["device"]["value"] == "npu2-emu"


def test_a_second_model_is_credited_to_the_rows_that_it_shares(world: World) -> None:
    config = world.write_config()
    counts = []
    for name in ("First", "Second"):
        words = ("--config", str(config), "--model", name, "--seq", "256", "--kernel", "RoPE_bf16")
        world.ok("verify", *words)
        counts.append(len(world.verdicts()))
    record = json.loads(world.records()[0].read_bytes())
    assert {use["model"] for use in record["used_by"]} == {"First", "Second"}
    assert counts[0] == counts[1] == len(world.records())


def test_the_saved_model_lets_a_bare_verify_take_what_is_unmet(world: World) -> None:
    config = world.write_config()
    world.ok(
        "verify",
        "--config",
        str(config),
        "--model",
        "Tiny",
        "--seq",
        "256",
        "--kernel",
        "RoPE_bf16",
    )
    before = len(world.records())
    out = world.ok("verify")
    assert len(world.records()) > before
    assert "needs verified" in out
    assert world.json("status")["models"]["Tiny"]["unmet"] == []


def test_verified_rows_are_run_again_only_by_force(world: World) -> None:
    world.ok(*ROPE)
    assert "nothing to do" in world.ok(*ROPE)
    assert len(world.verdicts()) == 1
    world.ok(*ROPE, "--force")
    assert len(world.verdicts()) == 2
    assert len(world.records()) == 1


def test_a_dry_run_prints_the_commands_and_writes_nothing(world: World) -> None:
    out = world.ok(*ROPE, "--dry-run")
    assert "registry_tool.emulator RoPE_bf16" in out
    assert "flock -x" in out
    assert world.records() == []


def test_exactly_what_was_written_is_staged(world: World) -> None:
    world.git("add", ".")
    world.git("commit", "-qm", "Start")
    (world.registry / "mine.txt").write_text("not the tool's\n")
    world.ok(*ROPE)
    staged = world.git("diff", "--cached", "--name-only").split()
    assert "mine.txt" not in staged
    assert any(path.startswith("records/") for path in staged)
    assert any(path.endswith(".log") for path in staged)
    assert "details/RoPE_bf16.md" in staged


def test_no_stage_leaves_the_index_alone(world: World) -> None:
    world.git("add", ".")
    world.git("commit", "-qm", "Start")
    world.ok(*ROPE, "--no-stage")
    assert world.git("diff", "--cached", "--name-only") == ""
    assert len(world.records()) == 1


def test_a_registry_in_a_subfolder_works_the_same(tmp_path: Path) -> None:
    world = worlds.make(tmp_path, inside="sub folder/régistre", hooks=True)
    world.ok(*ROPE)
    done = world.commit("-m", "Verify")
    assert done.returncode == 0, done.stdout + done.stderr
    record = world.records()[0]
    record.write_text(record.read_text().replace('"mean_rel_L1": 0.00', '"mean_rel_L1": 0.01'))
    refused = world.commit("-am", "Improve")
    assert refused.returncode == 1
    assert "KR105" in refused.stdout + refused.stderr


def test_jobs_side_by_side_write_the_same_rows(world: World, tmp_path: Path) -> None:
    config = world.write_config()
    words = ("verify", "--config", str(config), "--model", "Tiny", "--seq", "256")
    words = (*words, "--kernel", "GEMV_bf16")
    world.ok(*words, "--jobs", "2")
    (tmp_path / "other").mkdir()
    other = worlds.make(tmp_path / "other")
    other.ok(*words)
    names = [path.relative_to(world.registry) for path in world.records()]
    assert names == [path.relative_to(other.registry) for path in other.records()]
    assert world.json("check")["findings"] == other.json("check")["findings"] == []


def test_more_jobs_than_the_target_allows_are_refused(world: World) -> None:
    assert world.tool(*ROPE, "--jobs", "3").returncode == 2
    assert world.tool(*ROPE, "--jobs", "2", "--target", "npu2").returncode == 2


def test_a_shape_without_legal_tile_is_unmet_with_the_constraint(world: World) -> None:
    done = world.tool("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=50")
    assert done.returncode == 1
    assert "head_dim %" in done.stderr
    assert world.verdicts() == []


def test_a_tier_down_is_written_into_the_notes(world: World) -> None:
    world.ok("verify", "--kernel", "GEMM_bf16_in_bf16_out", "--shape", "512x512x512")
    (path,) = world.records()
    record = json.loads(path.read_bytes())
    assert record["variant"] == "direct"
    assert record["precision"] == "low"
    (note,) = [note for note in record["notes"] if "tier-down" in note]
    assert "drain did not pass" in note
    assert "fused-cast did not pass" in note
    statuses = [json.loads(verdict.read_bytes())["status"] for verdict in world.verdicts()]
    assert sorted(statuses) == ["fail", "fail", "pass"]
    assert world.ok("check")


def test_a_forced_variant_that_fails_leaves_a_verdict_and_no_row(world: World) -> None:
    done = world.tool(
        "verify", "--kernel", "GEMM_bf16_in_bf16_out", "--shape", "M=512,K=512,N=512",
        "--variant", "drain",
    )  # fmt: skip
    assert done.returncode == 1
    assert "14 of 262144" in done.stderr
    assert world.records() == []
    assert len(world.verdicts()) == 1
    world.git("commit", "-qm", "Keep the failing verdict")
    assert world.ok("check")
