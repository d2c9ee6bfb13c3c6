"""Worlds for the acceptance tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance import world as worlds
from tests.acceptance.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry in a new repository, without hooks."""
    return worlds.make(tmp_path)


@pytest.fixture
def hooked(tmp_path: Path) -> World:
    """A registry in a new repository, with the hooks installed through pre-commit."""
    return worlds.make(tmp_path, hooks=True)
