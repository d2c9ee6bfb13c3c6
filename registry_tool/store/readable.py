"""Folders of a registry that may not be read: an error, as git takes their files for unchanged.

`git diff-files` only warns about a folder that it may not enter, and `ls-files` leaves it out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from registry_tool.errors import RegistryError

_DEEPEST = 3
"""records/<target>/<Kernel>; a folder per row lies deeper, and there are thousands of those."""


def require_readable(root: Path, names: Iterable[str]) -> None:
    """Raise RegistryError for a folder below ``names`` that may not be listed and entered."""
    for name in names:
        _require(str(root / name), name, 1)


def _require(folder: str, shown: str, depth: int) -> None:
    try:
        if depth == _DEEPEST:
            if not os.access(folder, os.R_OK | os.X_OK):
                raise PermissionError
            return
        with os.scandir(folder) as entries:
            below = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        # A folder that may be listed and not entered hides its files all the same.
        if not os.access(folder, os.X_OK):
            raise PermissionError
    except (FileNotFoundError, NotADirectoryError):
        return
    except PermissionError:
        raise RegistryError(
            "this folder may not be read, so nobody can tell what is in it",
            path=shown,
            fix=f"chmod u+rx {shown}",
        ) from None
    for entry in below:
        _require(entry.path, f"{shown}/{entry.name}", depth + 1)
