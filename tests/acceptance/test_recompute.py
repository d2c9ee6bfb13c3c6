"""`check --recompute` through the real command: what a careful forger cannot make come out."""

from __future__ import annotations

import dataclasses
import json

from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.records.keys import RowId
from registry_tool.records.record import Record
from registry_tool.records.verdict import Verdict
from tests.acceptance.world import World
from tests.examples.build import Row, log_text, sealed

ROPE = ("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=64")


def verified(world: World) -> World:
    world.ok(*ROPE)
    world.git("commit", "-qm", "Verify")
    return world


def forge(world: World, **figures: float) -> None:
    """Replace the row's evidence by one with other figures, consistent to the last digest."""
    [path] = world.records()
    record = canonical.decode(path.read_bytes(), Record)
    old = world.registry / record.verdict.artifact
    verdict = canonical.decode(old.read_bytes(), Verdict)
    outputs = [replace(output, **figures) for output in verdict.outputs]
    verdict = replace(verdict, outputs=outputs)
    row = Row(RowId("npu2-emu", "RoPE_bf16", "64x64"), verdict, log_text(verdict, True), b"")
    for file in old.parent.iterdir():
        file.unlink()
    for name, data in (
        sealed(dataclasses.replace(row, used_by=tuple(record.used_by))).files().items()
    ):
        (world.registry / name).write_bytes(data)
    world.ok("render")


def test_honest_runs_come_out_again(world: World) -> None:
    world.ok(*ROPE)
    done = world.tool("check", "--recompute")
    assert done.returncode == 0, done.stdout
    assert "1 emulated verdict ran again" in done.stderr


def test_rows_that_did_not_change_are_not_run_again(world: World) -> None:
    verified(world)
    assert "nothing to compute again" in world.tool("check", "--recompute").stderr
    assert "1 emulated verdict ran again" in world.tool("check", "--recompute=all").stderr


def test_a_figure_forged_through_log_and_digests_does_not_come_out(world: World) -> None:
    verified(world)
    [output] = json.loads(next((world.registry / "verdicts").rglob("*.json")).read_bytes())[
        "outputs"
    ]
    world.git("checkout", "-q", "--orphan", "fresh")
    forge(world, mean_rel_L1=float(f"{output['mean_rel_L1'] * 1.02:.3e}"))
    world.git("add", "-A")
    world.git("commit", "-qm", "Forged from the first commit on")
    assert world.json("check")["findings"] == [], "no rule can see it in the files"
    [finding] = world.json("check", "--recompute=all", status=1)["findings"]
    assert finding["rule"] == "KR132"
    assert "mean_rel_L1" in finding["message"]


def test_what_differs_by_less_than_two_machines_do_is_no_finding(world: World) -> None:
    verified(world)
    [output] = json.loads(next((world.registry / "verdicts").rglob("*.json")).read_bytes())[
        "outputs"
    ]
    world.git("checkout", "-q", "--orphan", "fresh")
    forge(world, max_rel=float(f"{output['max_rel'] * 3:.3e}"))
    assert world.json("check", "--recompute=all")["findings"] == []


def test_the_staged_state_is_computed_with_its_own_emulators(world: World) -> None:
    from tests.acceptance.test_eleventh_kernel import add_kernel

    add_kernel(world)
    world.ok("verify", "--kernel", "Softmax_bf16", "--shape", "M=64,N=256")
    (world.registry / "kernels/Softmax_bf16.py").write_text("raise RuntimeError('not this one')\n")
    done = world.tool("check", "--staged", "--recompute")
    assert done.returncode == 0, done.stdout + done.stderr
    [finding] = world.json("check", "--recompute", status=1)["findings"]
    assert finding["rule"] == "KR132"
