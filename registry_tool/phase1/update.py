"""The files of a model on disk: all are rendered before any is written, and all or none change."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from registry_tool.errors import InputError
from registry_tool.phase1 import regions
from registry_tool.phase1.pages import Page, target_of
from registry_tool.store.files import write_atomic
from registry_tool.tables import document


def render(folder: Path, pages: Iterable[Page], force: bool, fix: str) -> dict[Path, bytes]:
    """Path to new bytes of the files that differ from what is on disk.

    Raises TableError for a region that was edited by hand, InputError for one that tells of another
    target (both unless ``force``; ``fix`` is the command that has its way), TableError for broken
    markers, InputError for a file that cannot be read as text or written, or is not in ``folder``.
    """
    changed = {}
    for page in pages:
        path = _inside(folder, page.path)
        before = _read(path)
        if before is None:
            start = regions.new(page.title, page.lead, page.sections)
        else:
            start = before
            if not force:
                _refuse_other_target(before, page, path, fix)
                edit = f"{fix} (drops the edit)"
                regions.refuse_edited(before, page.sections, str(path), edit)
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


def _inside(folder: Path, name: str) -> Path:
    """The file ``name`` of ``folder``, links followed; raises InputError if they lead outside."""
    written = folder / name
    try:
        path = written.resolve()
    except (OSError, RuntimeError):  # a link to itself
        path = None
    if path is None or not path.is_relative_to(folder.resolve()):
        where = (
            "leads to itself" if path is None else f"leads outside the model's folder, to {path}"
        )
        look = shlex.join(["ls", "-ld", str(written)])
        raise InputError(
            f"a symbolic link on the way {where}; nothing is written through it",
            path=written,
            fix=f"{look}   # put a file there, or give another --folder DIR",
        )
    return path


def _refuse_other_target(data: bytes, page: Page, path: Path, fix: str) -> None:
    """Raise InputError if a region of ``page`` in ``data`` tells of another target than it does."""
    ours = {section.name for section in page.sections}
    for region in document.regions(data, str(path)):
        standing = target_of(region.text) if region.name in ours else None
        if page.target is not None and standing not in (None, page.target):
            raise InputError(
                f"region {region.name!r} tells of target {standing}, and would be replaced by that "
                f"of {page.target}",
                path=path,
                line=region.start_line,
                fix=f"{fix} (drops what stands there), or give each target a --folder DIR",
            )


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        look = shlex.join(["ls", "-ld", str(path)])
        raise InputError(
            f"cannot be read: {error.strerror}",
            path=path,
            fix=f"{look}   # mend or move it, or give another --folder DIR",
        ) from None


def _require_writable(path: Path) -> None:
    """Raise InputError if the folder of ``path`` cannot be made, or not be written to."""
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            "cannot be written to", path=folder, fix="chmod u+w, or another --folder DIR"
        )
