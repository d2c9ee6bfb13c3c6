"""Example registries for the commands' own tests."""

from __future__ import annotations

from tests.examples.fixtures import _template, good, other, row

__all__ = ["_template", "good", "other", "row"]
