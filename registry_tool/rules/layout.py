"""Which of a registry's paths is what; names only, no bytes."""

from __future__ import annotations

import re
from typing import Literal

PathKind = Literal[
    "policy", "spec", "model", "record", "verdict", "log", "page", "generated", "other"
]

_KINDS: tuple[tuple[PathKind, re.Pattern[str]], ...] = (
    ("record", re.compile(r"records/[^/]+/[^/]+/[^/]+\.json")),
    ("verdict", re.compile(r"verdicts/[^/]+/[^/]+/[^/]+/[^/]+\.json")),
    ("log", re.compile(r"verdicts/[^/]+/[^/]+/[^/]+/[^/]+\.(?:log|err)")),
    ("policy", re.compile(r"registry\.yaml")),
    ("spec", re.compile(r"kernels/[^/]+\.yaml")),
    ("model", re.compile(r"models/[^/]+\.json")),
    ("page", re.compile(r"supported_kernels\.md|details/(?:[^/]+/)?[^/]+\.md")),
    ("generated", re.compile(r"details/(?:[^/]+/)?[^/]+\.json|schemas/.*|registry_lookup\.py")),
)


def kind_of(path: str) -> PathKind:
    """What a path of the registry holds, by its name."""
    return next((kind for kind, pattern in _KINDS if pattern.fullmatch(path)), "other")


def row_of(path: str) -> str | None:
    """The row (``target/kernel/key``) that a file below records/ or verdicts/ belongs to."""
    parts = path.split("/")
    if parts[0] == "records" and len(parts) == 4 and path.endswith(".json"):
        return path[8:-5]
    if parts[0] == "verdicts" and len(parts) == 5 and path.endswith((".json", ".log", ".err")):
        return f"{parts[1]}/{parts[2]}/{parts[3]}"
    return None
