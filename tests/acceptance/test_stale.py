"""Stale evidence through the real commands: shown, refreshed, and refused only by policy."""

from __future__ import annotations

from tests.acceptance.test_eleventh_kernel import add_kernel
from tests.acceptance.world import World

SOFTMAX = ("verify", "--kernel", "Softmax_bf16", "--shape", "M=64,N=256")
ROW = "npu2-emu/Softmax_bf16/64x256"


def with_moved_emulator(world: World) -> World:
    """A committed row of the registry's own kernel, whose emulator was edited afterwards."""
    add_kernel(world)
    world.ok(*SOFTMAX)
    world.git("commit", "-qm", "Add softmax")
    emulator = world.registry / "kernels/Softmax_bf16.py"
    emulator.write_text(emulator.read_text() + "\n# another thought\n")
    world.git("commit", "-qam", "Edit the emulator")
    return world


def test_a_row_is_not_stale_after_its_run(world: World) -> None:
    add_kernel(world)
    world.ok(*SOFTMAX)
    assert world.json("status")["stale"] == {}
    assert "no row is stale" in world.ok("verify", "--stale")


def test_status_and_plan_show_what_moved(world: World) -> None:
    with_moved_emulator(world)
    [(row, [reason])] = world.json("status")["stale"].items()
    assert row == ROW
    assert reason.startswith("changed since: kernels/Softmax_bf16.py")
    assert "stale (what ran has moved since): 1 row" in world.ok("status")
    [task] = world.json("plan", "--kernel", "Softmax_bf16", "--shape", "M=64,N=256")
    assert (task["state"], task["stale"]) == ("stale", [reason])


def test_verify_stale_runs_what_is_stale_and_nothing_else(world: World) -> None:
    with_moved_emulator(world)
    world.ok("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=64")
    before = {path: path.read_bytes() for path in world.records()}
    world.ok("verify", "--stale")
    changed = [path for path in world.records() if before[path] != path.read_bytes()]
    assert [path.parent.name for path in changed] == ["Softmax_bf16"]
    assert world.json("status")["stale"] == {}


def test_the_gate_refuses_a_stale_row_only_by_policy(world: World) -> None:
    with_moved_emulator(world)
    assert world.json("check")["findings"] == []
    policy = world.registry / "registry.yaml"
    policy.write_text(policy.read_text() + "rules: {KR131: error}\n")
    [finding] = world.json("check", status=1)["findings"]
    assert (finding["rule"], finding["record"]) == ("KR131", ROW)
    assert finding["fix"] == "registry-tool verify --stale"
    world.ok("verify", "--stale")
    assert world.json("check")["findings"] == []


def test_a_state_is_held_against_its_own_emulator_not_the_one_on_disk(world: World) -> None:
    add_kernel(world)
    policy = world.registry / "registry.yaml"
    policy.write_text(policy.read_text() + "rules: {KR131: error}\n")
    world.ok(*SOFTMAX)
    world.git("add", "-A")
    world.git("commit", "-qm", "Add softmax")
    emulator = world.registry / "kernels/Softmax_bf16.py"
    emulator.write_text(emulator.read_text() + "\n# another thought\n")
    assert world.json("check", "--ref", "HEAD")["findings"] == []
    assert world.json("check", "--staged")["findings"] == []
    assert [one["rule"] for one in world.json("check", status=1)["findings"]] == ["KR131"]
    emulator.unlink()
    assert world.json("check", "--ref", "HEAD")["findings"] == []
    assert world.json("check")["findings"] == [], "nobody can tell what would run"
