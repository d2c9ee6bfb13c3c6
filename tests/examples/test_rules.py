"""Every rule with a good and a bad example registry, through the real command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from registry_tool.records import catalog
from registry_tool.rules.catalog import RULES
from tests.examples import example
from tests.examples.build import GEMM, SMALL, Row, make_row
from tests.examples.cases import CASES, Case, World, sped_up
from tests.examples.example import Example


@pytest.fixture(scope="session")
def _world(tmp_path_factory: pytest.TempPathFactory, row: Row, other: Row) -> World:
    page = catalog.built_in()[GEMM]
    fast = make_row(page, SMALL, "drain", "npu2", second=100)
    slow = sped_up(latency_us=1200.0, gflops=3579.14)(
        make_row(page, SMALL, "fused-cast", "npu2", second=200)
    )
    made = example.make(tmp_path_factory.mktemp("world"), row, other, fast, slow)
    assert made.findings() == []
    return World(made, row, other, fast, slow)


@pytest.fixture
def world(tmp_path: Path, _world: World) -> World:
    repo = tmp_path / "repo"
    shutil.copytree(_world.at.repo, repo, symlinks=True)
    copy = Example(repo, repo)
    copy.git("update-index", "-q", "--refresh")
    return World(copy, _world.row, _world.other, _world.fast, _world.slow)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.says}")
def test_a_rule_accepts_its_good_example_and_refuses_its_bad_one(case: Case, world: World) -> None:
    case.good(world)
    assert world.at.rules(*case.words) == set()
    case.bad(world)
    found = [
        one
        for one in world.at.findings(*case.words)
        if one["rule"] == case.rule and one["severity"] == "error"
    ]
    assert found, f"{case.rule} does not refuse its bad example"
    assert any(case.says in one["message"] for one in found), [one["message"] for one in found]
    assert all(one["line"] >= 1 and one["fix"] for one in found)


def test_every_rule_has_a_bad_example() -> None:
    assert {case.rule for case in CASES} == {rule.id for rule in RULES}
