"""Which row a version of a record is of: what its fields say, not where its file lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
"""A record as decoded JSON, of whatever format version it was written in."""


def row_at(path: str) -> str | None:
    """``target/kernel/key`` as a record's path gives it, or None if no record lies there."""
    parts = path.split("/")
    if len(parts) != 4 or parts[0] != "records" or not path.endswith(".json"):
        return None
    return path[8:-5]


def row_in(document: Document, path_row: str) -> str:
    """``target/kernel/key`` as the fields give it; ``path_row`` where they do not."""
    target, kernel = document.get("target"), document.get("kernel")
    shape, variant = document.get("shape"), document.get("variant")
    if not (isinstance(target, str) and isinstance(kernel, str) and isinstance(shape, dict)):
        return path_row
    key = "x".join(map(str, shape.values()))
    row = f"{target}/{kernel}/{key}+{variant}" if variant else f"{target}/{kernel}/{key}"
    # Of two that are the same most of the time one is kept.
    return path_row if row == path_row else row
