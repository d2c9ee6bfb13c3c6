"""One state of a registry's files to look at: the work tree, the index, or a revision.

A snapshot knows every path with its blob id and hands out bytes; what they mean is not its affair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from registry_tool.store import git
from registry_tool.store.files import TEMPORARY_SUFFIX
from registry_tool.store.git import Change, Repository

Kind = Literal["worktree", "index", "revision"]


@dataclass(frozen=True)
class Snapshot:
    """Paths (relative to the registry's root) with blob ids, and a way to their bytes.

    ``base`` is the commit that this state is compared with (HEAD, or the revision's parent), and
    ``changes`` what differs from it; both are empty without a repository.
    """

    kind: Kind
    root: Path
    oids: Mapping[str, str]
    repository: Repository | None = None
    base: str | None = None
    unmerged: tuple[str, ...] = ()
    symlinks: tuple[str, ...] = ()
    _held: dict[str, bytes] = field(default_factory=dict, repr=False)

    def read(self, path: str) -> bytes:
        """The bytes of ``path``; raises KeyError if the state does not hold it."""
        return self.read_many([path])[path]

    def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Path to bytes, fetched in one go; raises KeyError for a path that is not there."""
        wanted = list(paths)
        missing = [path for path in wanted if self.oids[path] not in self._held]
        if missing and self.repository is not None:
            self._held.update(git.blobs(self.repository, [self.oids[path] for path in missing]))
        return {path: self._held[self.oids[path]] for path in wanted}

    def changes(self) -> list[Change]:
        """What differs from ``base``; everything is new where there is none."""
        base = self.base_oids()
        zero = "0" * 40
        paths = sorted(set(self.oids) | set(base))
        return [
            Change(path, base.get(path, zero), self.oids.get(path, zero), "")
            for path in paths
            if base.get(path) != self.oids.get(path)
        ]

    def base_oids(self) -> dict[str, str]:
        """Path to blob id in ``base``."""
        if self.repository is None or self.base is None:
            return {}
        return {entry.path: entry.oid for entry in git.tree(self.repository, self.base)}

    def base_blobs(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Blob id to bytes from the repository; empty without one."""
        return git.blobs(self.repository, oids) if self.repository is not None else {}


def of_index(root: Path) -> Snapshot:
    """What `git commit` is about to take: the index named by GIT_INDEX_FILE."""
    repository = git.require_repository(root)
    entries = git.staged(repository)
    # `git add -N` leaves the empty blob in the index; a commit does not take it.
    empty = hashlib.sha1(b"blob 0\0", usedforsecurity=False).hexdigest()
    promised = git.intent_to_add(repository) if any(e.oid == empty for e in entries) else set()
    return Snapshot(
        "index",
        root,
        {e.path: e.oid for e in entries if e.stage == 0 and e.path not in promised},
        repository,
        git.head(repository),
        tuple(sorted({e.path for e in entries if e.stage})),
        tuple(e.path for e in entries if e.mode == "120000"),
    )


def of_revision(root: Path, revision: str, base: str | None = None) -> Snapshot:
    """The registry as it stands in ``revision``, compared with ``base`` (else its first parent)."""
    repository = git.require_repository(root)
    entries = git.tree(repository, revision)
    return Snapshot(
        "revision",
        root,
        {entry.path: entry.oid for entry in entries},
        repository,
        git.resolve(repository, base) if base else git.first_parent(repository, revision),
        (),
        tuple(e.path for e in entries if e.mode == "120000"),
    )


def of_worktree(root: Path) -> Snapshot:
    """The files on disk; those that match the index keep its blob id unread."""
    repository = git.open_repository(root)
    if repository is None:
        return _of_folder(root)
    git.refresh_index(repository)
    entries = git.staged(repository)
    changed, untracked = git.worktree_differences(repository)
    oids: dict[str, str] = {}
    held: dict[str, bytes] = {}
    for entry in entries:
        if entry.path not in changed and entry.stage == 0:
            oids[entry.path] = entry.oid
    for path in sorted(changed | untracked):
        _take(root, path, oids, held)
    return Snapshot(
        "worktree",
        root,
        oids,
        repository,
        git.head(repository),
        tuple(sorted({e.path for e in entries if e.stage})),
        tuple(path for path in oids if (root / path).is_symlink()),
        held,
    )


def _of_folder(root: Path) -> Snapshot:
    oids: dict[str, str] = {}
    held: dict[str, bytes] = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root).as_posix()
        if path.is_file() and not relative.startswith(".git/"):
            _take(root, relative, oids, held)
    return Snapshot("worktree", root, oids, _held=held)


def _take(root: Path, path: str, oids: dict[str, str], held: dict[str, bytes]) -> None:
    if path.endswith(TEMPORARY_SUFFIX) or "__pycache__/" in path:
        return
    try:
        data = (root / path).read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return
    oid = blob_oid(data)
    oids[path], held[oid] = oid, data


def blob_oid(data: bytes) -> str:
    """The id that git gives to ``data``."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
