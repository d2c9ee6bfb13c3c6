from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor.world import World, make


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make(tmp_path)
