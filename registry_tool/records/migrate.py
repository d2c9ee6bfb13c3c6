"""The way from an older format version to today's; verdicts are never rewritten.

A migration takes the decoded JSON of version N and returns that of N + 1. `fmt` applies them to
records, models and registry.yaml; a verdict stays as it was written and is read through them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from registry_tool.errors import InputError

Migration = Callable[[dict[str, Any]], dict[str, Any]]

CURRENT: Mapping[str, int] = {
    "record": 1,
    "verdict": 1,
    "kernel": 1,
    "registry": 1,
    "model": 1,
    "baseline": 1,
    "layout": 1,
}

# (file kind, version that it starts from) -> migration. Empty: version 1 is the first.
MIGRATIONS: Mapping[tuple[str, int], Migration] = {}


def migrate(
    kind: str,
    document: dict[str, Any],
    migrations: Mapping[tuple[str, int], Migration] = MIGRATIONS,
    current: Mapping[str, int] = CURRENT,
) -> dict[str, Any]:
    """``document`` in today's version of ``kind``; raises InputError if there is no way."""
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InputError(f"schema_version must be a whole number from 1, found {version!r}")
    if version > current[kind]:
        raise InputError(
            f"this {kind} has format version {version}, and this registry-tool knows "
            f"{current[kind]} at the most",
            fix="pip install --upgrade registry-tool",
        )
    while version < current[kind]:
        step = migrations.get((kind, version))
        if step is None:
            raise InputError(f"no migration of a {kind} from format version {version}")
        document = step(document)
        version += 1
    return document
