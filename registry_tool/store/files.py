"""Writing files so that a kill at any moment leaves the old one or the new, never half of one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

TEMPORARY_SUFFIX = ".tmp"


def temporary_name(path: Path) -> Path:
    """A name beside ``path`` for its next content: hidden, and recognised by `clean_temporary`."""
    return path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")


def write_atomic(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data``: temporary file, fsync, rename, fsync of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in ``folder`` durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_if_changed(path: Path, data: bytes) -> bool:
    """`write_atomic` unless ``path`` already holds ``data``; whether it wrote."""
    try:
        if path.read_bytes() == data:
            return False
    except FileNotFoundError:
        pass
    write_atomic(path, data)
    return True


def clean_temporary(root: Path) -> list[Path]:
    """Remove what a killed run left below ``root``: temporary files whose process has ended."""
    return [path for path in _abandoned(root) if _remove(path)]


def _abandoned(root: Path) -> Iterator[Path]:
    for path in root.rglob(f".*{TEMPORARY_SUFFIX}"):
        pid = path.name.removesuffix(TEMPORARY_SUFFIX).rpartition(".")[2].partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists() and path.is_file():
            yield path


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
