"""One command per model: from a clone with a device to committed rows and an open gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.standin import bench as benches
from tests.standin.bench import Bench
from tests.standin.build import build_tree

CONFIGURATION = {
    "model_type": "llama",
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "hidden_act": "silu",
    "vocab_size": 16384,
}


@pytest.fixture
def hooked(tmp_path: Path, emulated_numbers: Path) -> Bench:
    """A registry with hooks beside a device."""
    bench = benches.make(tmp_path, build_tree(tmp_path, emulated_numbers), hooks=True)
    bench.configure(model_folders={"Tiny": "tiny_llama"})
    bench.world.git("add", "registry.yaml")
    return bench


def test_a_model_is_verified_committed_and_through_its_gate(hooked: Bench) -> None:
    world, tree = hooked.world, hooked.tree
    path = world.write_config(CONFIGURATION)
    # The device times out once; nobody has to do anything about it.
    tree.misbehave({"kind": "timeout", "folder": "silu_and_mul", "step": "run", "starts": [1]})
    done = world.tool("verify", "--config", str(path), "--model", "Tiny", "--seq", "256")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "flaky" in said
    flaky = [
        record
        for record in map(Path.read_bytes, world.records())
        if json.loads(record)["verdict"].get("flaky")
    ]
    assert [json.loads(record)["kernel"] for record in flaky][:1] == ["SiLU_Mul_bf16"]
    assert world.commit("-m", "Verify Tiny").returncode == 0
    gate = world.json("model", "Tiny")
    needs = gate["needs"]
    assert len({need["kernel"] for need in needs}) >= 6
    folder = tree.root / "tiny_llama"
    before = (folder / "Makefile").read_bytes()
    (folder / "TODO.md").write_text("# Tiny\n\nWords of a person.\n")
    world.ok("model", "Tiny", "--write")
    todo = (folder / "TODO.md").read_text()
    assert "Words of a person." in todo
    assert f"Phase 1 ({len(needs)}/{len(needs)} kernels PASSED)" in todo
    written = {each: each.read_bytes() for each in folder.rglob("*.md")}
    assert len(written) == 3
    world.ok("model", "Tiny", "--write")
    assert {each: each.read_bytes() for each in folder.rglob("*.md")} == written
    assert (folder / "Makefile").read_bytes() == before
    assert world.json("check")["findings"] == []


def test_what_fails_twice_is_an_active_blocker_with_its_cause(hooked: Bench) -> None:
    world, tree = hooked.world, hooked.tree
    path = world.write_config(CONFIGURATION)
    tree.misbehave({"kind": "compile-error", "text": "descriptors", "folder": "eltwise_add"})
    words = ("--config", str(path), "--model", "Tiny", "--seq", "256")
    done = world.tool("verify", *words, "--kernel", "EltwiseAdd_bf16")
    assert done.returncode == 1
    assert world.tool("model", "Tiny").returncode == 1
    assert world.tool("model", "Tiny", "--write").returncode == 1
    todo = (tree.root / "tiny_llama" / "TODO.md").read_text()
    blockers = todo.partition("Active blockers")[2]
    assert "EltwiseAdd_bf16" in blockers
    assert "buffer descriptor" in blockers
    assert ".log" in blockers or ".err" in blockers
