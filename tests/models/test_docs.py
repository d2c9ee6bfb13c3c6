"""docs/models.md names every family, option and key that it is about."""

from __future__ import annotations

import re
from pathlib import Path

from registry_tool.models.families import FAMILIES
from registry_tool.models.options import FUSES, PADS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text("utf-8")


def test_the_page_lists_exactly_the_families_that_are_read() -> None:
    section = PAGE.split("## Families")[1].split("The text tower")[0]
    listed = [name for name in re.findall(r"`([^`]+)`", section) if name != "model_type"]
    assert sorted(listed) == sorted(FAMILIES)


def test_the_page_has_every_choice() -> None:
    for option in ("--seq", "--batch", "--fuse", "--pad", "--image", "--as", "--defaults"):
        assert option in PAGE
    for word in (*FUSES, *(f"{dim}=N" for dim in PADS)):
        assert word in PAGE
