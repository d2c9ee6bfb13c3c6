"""A snapshot with some files changed, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from registry_tool.store.snapshot import Snapshot, blob_oid


def overlay(snapshot: Snapshot, files: Mapping[str, bytes | None]) -> Snapshot:
    """``snapshot`` as it will be once ``files`` are written; None is a file that goes."""
    repository = snapshot.repository
    prefix = repository.prefix if repository else ""
    algorithm = repository.object_format if repository else "sha1"
    touched = {f"{prefix}{path}" for path in files}
    lines = [line for line in snapshot.lines if line.partition("\t")[2] not in touched]
    held = dict(snapshot._held)
    for path, data in files.items():
        if data is not None:
            oid = blob_oid(data, algorithm)
            held[oid] = data
            lines.append(f"100644 {oid} 0\t{prefix}{path}")
    lines.sort(key=lambda line: line.partition("\t")[2])
    return replace(snapshot.narrowed(lines), _held=held)
