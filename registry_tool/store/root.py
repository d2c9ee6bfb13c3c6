"""Where a registry begins: the folder that holds registry.yaml. Imports nothing that is slow."""

from __future__ import annotations

from pathlib import Path

from registry_tool.errors import RegistryError

POLICY = "registry.yaml"


def find_root(start: Path) -> Path:
    """The nearest folder from ``start`` upward that holds registry.yaml; raises RegistryError."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / POLICY).is_file():
            return folder
    raise RegistryError(
        f"no {POLICY} in {start} or above it", fix="registry-tool init (or --registry DIR)"
    )
