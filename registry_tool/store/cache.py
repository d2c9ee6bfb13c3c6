"""Small results remembered under the git directory; a lost or broken cache only costs time."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from registry_tool.store.git import Repository


class Cache:
    """Named JSON documents in <git dir>/registry-tool; without a repository nothing is kept."""

    def __init__(self, repository: Repository | None) -> None:
        self._folder = repository.git_dir / "registry-tool" if repository else None

    def load(self, name: str) -> Any | None:
        """The document ``name``, or None if it is not there or cannot be read."""
        if self._folder is None:
            return None
        try:
            return json.loads((self._folder / name).read_bytes())
        except (OSError, ValueError):
            return None

    def save(self, name: str, document: Any) -> None:
        """Keep ``document``; a full or read-only disk is no reason to fail."""
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(document, file, separators=(",", ":"))
            Path(temporary).replace(self._folder / name)
        except OSError:
            return


def digest(*parts: bytes) -> str:
    """A key over ``parts``."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big"))
        whole.update(part)
    return whole.hexdigest()
