"""By when a file of the registry was there: the time of the commit that brought it, or now."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property

from registry_tool.errors import GitError
from registry_tool.store import git
from registry_tool.store.cache import Cache
from registry_tool.store.snapshot import Snapshot

_CACHE = "verdict-times.json"
_SUFFIXES = (".json", ".sig")


class Added:
    """Asks git, when first asked, for all verdicts and signatures at once; and remembers that."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._now = int(time.time())

    def __call__(self, path: str) -> int:
        """Seconds since 1970; what no commit of this state has added is there since now."""
        # A commit's time is its committer's word; but none is later than now.
        return min(self._times.get(path, self._now), self._now)

    @cached_property
    def _times(self) -> Mapping[str, int]:
        repository, head = self._snapshot.repository, self._snapshot.anchor
        if repository is None or head is None:
            return {}
        cache = Cache(repository)
        kept = cache.load(_CACHE)
        name = f"{repository.prefix}@{head}"
        if isinstance(kept, dict) and kept.get("at") == name:
            known: Mapping[str, int] = kept["times"]
            return known
        times: dict[str, int] = {}
        since = None
        if isinstance(kept, dict):
            prefix, _, before = str(kept.get("at")).rpartition("@")
            # Elsewhere than on the way here, a path may have been added at another time.
            if prefix == repository.prefix and git.is_ancestor(repository, before, head):
                since, times = before, dict(kept["times"])
        try:
            found = git.first_added(repository, ["verdicts"], head, since)
        except GitError:
            return {}  # the commit is gone: the state has no history
        for path, moment in found.items():
            if path.endswith(_SUFFIXES):
                times.setdefault(path, moment)
        cache.save(_CACHE, {"at": name, "times": times})
        return times
