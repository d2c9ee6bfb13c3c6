"""Adopting an existing registry: its pages and JSON files read as claims, and merged into rows.

`read` is the one way in; it writes nothing.
"""

from __future__ import annotations

from registry_tool.adoption.folder import read

__all__ = ["read"]
