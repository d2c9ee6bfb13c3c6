"""Which signatures were found to be those of their verdicts before, by the blob ids of both.

That holds for ever, whoever may sign; so a new policy or a new signer verifies none of them again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from registry_tool import __version__
from registry_tool.signing.names import verdict_of
from registry_tool.signing.trust import Trust
from registry_tool.store.cache import Cache
from registry_tool.store.snapshot import Snapshot, blob_oid

_CACHE = f"signatures-{__version__}.json"


class Verified:
    """What a check remembers of the signatures of a repository."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._cache = Cache(snapshot.repository)
        self._algorithm = snapshot.repository.object_format if snapshot.repository else "sha1"

    @cached_property
    def _pairs(self) -> frozenset[str]:
        kept = self._cache.load(_CACHE)
        return frozenset(kept) if isinstance(kept, list) else frozenset()

    def holds(self, message: bytes, signature: bytes) -> bool:
        """Whether ``signature`` is known to be made over ``message``."""
        if not self._pairs:
            return False
        names = (blob_oid(data, self._algorithm) for data in (message, signature))
        return " ".join(names) in self._pairs

    def keep(
        self, rows: Mapping[str, Mapping[str, str]], failing: Collection[str], trust: Trust
    ) -> None:
        """Remember the signatures of all ``rows`` (path to blob id of each) but the failing."""
        pairs = {
            pair
            for row, files in rows.items()
            if row not in failing and trust.level(row.partition("/")[0]) != "off"
            for pair in _pairs_of(files)
        }
        if pairs != self._pairs:
            self._cache.save(_CACHE, sorted(pairs))


def _pairs_of(files: Mapping[str, str]) -> Iterator[str]:
    for path, oid in files.items():
        if path.endswith(".sig"):
            folder, _, name = path.rpartition("/")
            verdict = files.get(f"{folder}/{verdict_of(name)}")
            if verdict is not None:
                yield f"{verdict} {oid}"
