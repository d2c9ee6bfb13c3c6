"""Files of a state in a folder of their own: those on disk may be others."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from registry_tool.store.snapshot import Snapshot


@contextmanager
def own_emulators(snapshot: Snapshot) -> Iterator[Path]:
    """A folder that holds the registry's own emulators (``kernels/*.py``) as in ``snapshot``.

    It is gone afterwards.
    """
    own = [path for path in snapshot.oids if path.startswith("kernels/") and path.endswith(".py")]
    with tempfile.TemporaryDirectory(prefix="registry-tool-kernels-") as folder:
        for path, data in snapshot.read_many(own).items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        yield Path(folder)
