"""Small results remembered under the git directory; a lost or damaged cache only costs time."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from pathlib import Path
from typing import Any

from registry_tool.store.git import Repository


class Cache:
    """Named files in <git dir>/registry-tool; without a repository nothing is kept."""

    def __init__(self, repository: Repository | None) -> None:
        self._folder = repository.git_dir / "registry-tool" if repository else None

    def load(self, name: str) -> Any | None:
        """The JSON document ``name``, or None if it is not there or cannot be read."""
        data = self.load_bytes(name)
        try:
            return None if data is None else json.loads(data)
        except ValueError:
            return None

    def load_bytes(self, name: str) -> bytes | None:
        """The content of ``name``, or None if it is not there, or not what was kept."""
        if self._folder is None:
            return None
        try:
            data = Path(self._folder, name).read_bytes()
        except OSError:
            return None
        # A damaged file must not become a wrong answer.
        checksum, _, content = data.partition(b"\n")
        return content if checksum == _checksum(content) else None

    def save(self, name: str, document: Any) -> None:
        """Keep a JSON document."""
        self.save_bytes(name, json.dumps(document, separators=(",", ":")).encode())

    def save_bytes(self, name: str, data: bytes) -> None:
        """Keep ``data``; a full or read-only disk is no reason to fail."""
        if self._folder is None:
            return
        temporary = self._folder / f".{name}.{os.getpid()}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(_checksum(data) + b"\n" + data)
            temporary.replace(self._folder / name)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _checksum(data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data)


def digest(*parts: bytes) -> str:
    """A key over ``parts``."""
    # Imported here: a check that finds nothing new needs no digest.
    import hashlib

    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big"))
        whole.update(part)
    return whole.hexdigest()
