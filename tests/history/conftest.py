"""The example registries."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.examples import example
from tests.examples.example import Example
from tests.examples.fixtures import _template, good, other, row
from tests.history.world import measured, run_after_run

__all__ = ["_template", "good", "other", "row"]

LATENCIES = (868.0, 870.0, 866.0, 1200.0, 869.0, 1000.0, 1003.0)
DRIVERS = ("2.18",) * 5 + ("2.19",) * 2


@pytest.fixture(scope="session")
def _runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = example.make(tmp_path_factory.mktemp("runs"), measured(868.4, 1), inside="deep/reg")
    run_after_run(made, LATENCIES, DRIVERS)
    return made.repo


@pytest.fixture
def runs(_runs: Path, tmp_path: Path) -> Example:
    """One row on hardware, eight runs: steady, one spike (run 3), and slower for good (run 5)."""
    repo = tmp_path / "repo"
    shutil.copytree(_runs, repo)
    return Example(repo, repo / "deep" / "reg")
