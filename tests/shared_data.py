"""Reference material beside the checkout that tests read in place and never copy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(path: str) -> Path:
    """A file or folder of the reference material; skips where it is absent, unless CI insists."""
    found = SHARED / path
    if not found.exists():
        if os.environ.get("REGISTRY_TOOL_REQUIRE_SHARED"):
            pytest.fail(f"{found} is required here")
        pytest.skip(f"{found} is not on this machine")
    return found
