"""The files of a model on disk: all are rendered before any is written, and all or none change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from registry_tool.errors import InputError
from registry_tool.phase1 import regions
from registry_tool.phase1.pages import Page
from registry_tool.store.files import write_atomic


def render(folder: Path, pages: Iterable[Page], force: bool, fix: str) -> dict[Path, bytes]:
    """Path to new bytes of the files that differ from what is on disk.

    Raises TableError for a region that was edited by hand (unless ``force``; ``fix`` says what to
    type) and for broken markers, InputError for a file that cannot be read as text or written.
    """
    changed = {}
    for page in pages:
        path = (folder / page.path).resolve()
        before = _read(path)
        if before is None:
            start = regions.new(page.title, page.lead, page.sections)
        else:
            start = before
            if not force:
                regions.refuse_edited(before, page.sections, str(path), fix)
        after = regions.fill(start, page.sections, str(path))
        if after != before:
            changed[path] = after
    for path in changed:
        _require_writable(path)
    return changed


def write(changed: Mapping[Path, bytes]) -> None:
    """Write the files; if one fails, those before it are put back as they were."""
    done: list[tuple[Path, bytes | None]] = []
    try:
        for path, data in changed.items():
            before = _read(path)
            write_atomic(path, data)
            done.append((path, before))
    except BaseException:
        for path, before in reversed(done):
            if before is None:
                path.unlink(missing_ok=True)
            else:
                write_atomic(path, before)
        raise


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None


def _require_writable(path: Path) -> None:
    """Raise InputError if the folder of ``path`` cannot be made, or not be written to."""
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            "cannot be written to", path=folder, fix="chmod u+w, or another --folder DIR"
        )
