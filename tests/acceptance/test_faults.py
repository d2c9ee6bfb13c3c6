"""A harness that misbehaves leaves a failing verdict and no row, whatever it does."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.world import World

GEMM = (
    "verify", "--kernel", "GEMM_bf16_in_fp32_out", "--shape", "256x1024x512",
    "--variant", "external",
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("unwritten=64", "fail"),
        ("dropped-k=0.25", "fail"),
        ("zeros", "fail"),
        ("nan", "fail"),
        ("inf", "fail"),
        ("loose-tolerance", "fail"),
        ("exit", "error"),
        ("torn", "incomplete"),
    ],
)
def test_a_fault_makes_no_row(world: World, fault: str, status: str) -> None:
    done = world.tool(*GEMM, "--inject", fault)
    assert done.returncode == 1, done.stdout + done.stderr
    assert world.records() == []
    (path,) = world.verdicts()
    verdict = json.loads(path.read_bytes())
    assert verdict["status"] == status
    assert verdict["reason"]
    assert "--inject" in verdict["attempts"][0]["command"]


def test_a_hang_is_ended_by_the_time_limit(world: World) -> None:
    policy = world.registry / "registry.yaml"
    policy.write_text(policy.read_text().replace("run_limit_s: 1800", "run_limit_s: 3", 1))
    for fault in ("hang", "grandchild"):
        done = world.tool(*GEMM, "--inject", fault)
        assert done.returncode == 1, done.stdout + done.stderr
    statuses = {json.loads(path.read_bytes())["status"] for path in world.verdicts()}
    assert "timeout" in statuses
    assert "pass" not in statuses
    assert world.records() == []


def test_without_a_fault_the_same_run_makes_the_row(world: World) -> None:
    world.ok(*GEMM)
    assert len(world.records()) == 1


def test_a_row_from_a_run_with_a_fault_is_refused_even_if_it_says_pass(world: World) -> None:
    world.ok(*GEMM)
    (path,) = world.verdicts()
    verdict = json.loads(path.read_bytes())
    verdict["attempts"][0]["command"] += ["--inject", "zeros"]
    path.write_text(json.dumps(verdict, indent=2) + "\n")
    assert world.tool("check").returncode == 1
