"""From where a format's paths are given: the working folder, the registry, or the repository."""

from __future__ import annotations

import os
from pathlib import Path

_FROM_TOP = ("sarif", "junit", "github", "codequality", "md")
"""What code hosts read: they know nothing of the folder in which a CI stood."""


def way_to(root: Path, format_: str) -> str:
    """What is put before a registry's paths (empty, or with a slash at its end)."""
    if format_ in _FROM_TOP:
        from registry_tool.store import git

        repository = git.open_repository(root)
        if repository is not None:
            return repository.prefix
    way = os.path.relpath(root)
    return "" if way == "." else f"{way}/"
