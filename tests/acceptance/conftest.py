"""Worlds for the acceptance tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance import world as worlds
from tests.acceptance.world import World
from tests.standin import bench as benches
from tests.standin.bench import Bench
from tests.standin.build import Tree, build_tree, copy_tree


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry in a new repository, without hooks."""
    return worlds.make(tmp_path)


@pytest.fixture
def hooked(tmp_path: Path) -> World:
    """A registry in a new repository, with the hooks installed through pre-commit."""
    return worlds.make(tmp_path, hooks=True)


@pytest.fixture(scope="session")
def emulated_numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where stand-in harnesses keep what they computed, for all tests of the session."""
    return tmp_path_factory.mktemp("emulated")


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory, emulated_numbers: Path) -> Bench:
    """What `tree` and `bench` are copies of; nobody runs anything in it."""
    folder = tmp_path_factory.mktemp("blank")
    return benches.make(folder, build_tree(folder, emulated_numbers))


@pytest.fixture
def tree(tmp_path: Path, blank: Bench) -> Tree:
    """A stand-in tree of harnesses."""
    return copy_tree(blank.tree, tmp_path)


@pytest.fixture
def bench(tmp_path: Path, blank: Bench, tree: Tree) -> Bench:
    """A registry, without hooks, beside a stand-in device."""
    return benches.copy(blank, tmp_path, tree)
