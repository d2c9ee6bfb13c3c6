"""Plan and coverage on the imported public registry, for real models."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from registry_tool.models.load import load_model
from registry_tool.records import canonical
from tests.acceptance import world as worlds
from tests.acceptance.world import World
from tests.shared_data import shared

MODELS = (
    "llama-3.2-1b-instruct",
    "llama-3.2-3b",
    "qwen2-0.5b",
    "qwen2.5-3b",
    "qwen2.5-7b-instruct",
    "qwen3-0.6b",
    "qwen3-1.7b",
    "qwen3-8b",
    "smollm2-360m",
    "smollm2-1.7b",
)
GEMM = "GEMM_bf16_in_bf16_out"


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The public registry, imported and committed, with the models of the reference configs."""
    folder = tmp_path_factory.mktemp("adopted")
    repository = folder / "repo"
    shutil.copytree(shared("upstream_registry"), repository)
    world = World(repository, repository, worlds.environment(folder))
    world.git("init", "-q")
    world.git("add", "-A")
    world.git("commit", "-qm", "As it was")
    world.ok("import", ".", "--target", "npu2", "--mark")
    world.git("commit", "-qm", "Adopt")
    return world


@pytest.fixture(scope="module")
def plan(adopted: World) -> list[dict[str, Any]]:
    configs = [str(shared(f"hf_configs/{name}.json")) for name in MODELS]
    tasks: list[dict[str, Any]] = adopted.json("plan", "--common", *configs, status=1)
    return tasks


def recorded(kernel: str) -> set[tuple[int, ...]]:
    document = json.loads(shared(f"upstream_registry/details/{kernel}.json").read_bytes())
    return {(one["M"], one["K"], one["N"]) for one in document["shapes"]}


def test_each_prefill_gemm_is_found_or_missed_as_the_registry_has_it(
    plan: list[dict[str, Any]],
) -> None:
    expected = json.loads(shared("hf_configs/EXPECTED.json").read_bytes())
    needed = {tuple(shape) for name in MODELS for shape in expected[name]["gemm"].values()}
    states = {tuple(one["shape"].values()): one["state"] for one in plan if one["kernel"] == GEMM}
    assert set(states) == needed
    known = recorded(GEMM)
    assert {shape for shape, state in states.items() if state == "imported"} == needed & known
    assert {shape for shape, state in states.items() if state == "missing"} == needed - known
    assert needed & known
    assert needed - known


def test_nothing_imported_meets_a_need(plan: list[dict[str, Any]]) -> None:
    assert {one["state"] for one in plan} <= {"imported", "missing", "impossible", "no page"}


def test_an_imported_need_is_proposed_as_its_row_has_it(
    adopted: World, plan: list[dict[str, Any]]
) -> None:
    imported = [one for one in plan if one["state"] == "imported" and one["kernel"] == GEMM]
    assert imported
    for one in imported:
        path = adopted.registry / "records" / f"{one['row']}.json"
        record = json.loads(path.read_bytes())
        if "caveats" in record["provenance"]:
            continue
        same = [found for found in one["candidates"] if found["variant"] == record["variant"]]
        assert [(found["tile"], found["herd"]) for found in same] == [
            (record["tile"], record["herd"])
        ], one["row"]


def test_a_shape_that_more_models_need_comes_before_one_of_fewer(
    plan: list[dict[str, Any]],
) -> None:
    for state in ("missing", "imported"):
        counts = [one["models"] for one in plan if one["state"] == state]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > 1


def test_no_proposal_breaks_a_hard_constraint(plan: list[dict[str, Any]]) -> None:
    for one in plan:
        for candidate in one["candidates"]:
            assert all(check["holds"] for check in candidate["checks"] if check["kind"] == "hard")


def test_a_gemv_that_no_tile_fits_is_named_with_the_constraint(
    plan: list[dict[str, Any]],
) -> None:
    [one] = [one for one in plan if one["state"] == "impossible"]
    assert (one["kernel"], one["shape"]) == ("GEMV_bf16", {"M": 3584, "K": 18944})
    assert "65536" in one["obstacles"][0]


def test_coverage_counts_imported_rows_apart(adopted: World, plan: list[dict[str, Any]]) -> None:
    name = "qwen3-0.6b"
    model = load_model(shared(f"hf_configs/{name}.json"), "Qwen3-0.6B")
    folder = adopted.registry / "models"
    folder.mkdir()
    (folder / "Qwen3-0.6B.json").write_bytes(canonical.encode(model))
    try:
        found = adopted.json("status", "--models", "--target", "npu2")
    finally:
        shutil.rmtree(folder)
    cell = found["models"]["Qwen3-0.6B"][GEMM]
    mine = [
        one
        for one in plan
        if one["kernel"] == GEMM and name in {use["model"] for use in one["used_by"]}
    ]
    assert (cell["verified"], cell["needed"]) == (0, len(mine))
    assert cell["imported"] == sum(one["state"] == "imported" for one in mine) > 0
    for credit in found["credits"]:
        assert credit["model"] == "Qwen3-0.6B"
