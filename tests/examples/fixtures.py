"""Example registries for tests: built once, copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from registry_tool.records import catalog
from tests.examples import example
from tests.examples.build import GEMM, OTHER, SMALL, Row, make_row
from tests.examples.example import Example


@pytest.fixture(scope="session")
def row() -> Row:
    """An emulated GEMM row that reaches its tiles target."""
    return make_row(catalog.built_in()[GEMM], SMALL, "drain")


@pytest.fixture(scope="session")
def other() -> Row:
    """Another row of the same kernel."""
    return make_row(catalog.built_in()[GEMM], OTHER, "drain", second=6)


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory, row: Row, other: Row) -> Path:
    return example.make(tmp_path_factory.mktemp("template"), row, other).repo


@pytest.fixture
def good(tmp_path: Path, _template: Path) -> Example:
    """A committed registry with the rows ``row`` and ``other``, at the top of its repository."""
    repo = tmp_path / "repo"
    shutil.copytree(_template, repo, symlinks=True)
    made = Example(repo, repo)
    # Copies have other file times than the index remembers.
    made.git("update-index", "-q", "--refresh")
    return made
