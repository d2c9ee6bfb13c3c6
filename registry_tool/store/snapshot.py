"""One state of a registry's files to look at: the work tree, the index, or a revision.

A snapshot knows every path with its blob id and hands out bytes; what they mean is not its affair.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from registry_tool.store import git
from registry_tool.store.files import TEMPORARY_SUFFIX
from registry_tool.store.git import Change, Repository

Kind = Literal["worktree", "index", "revision"]

OWN = (
    "registry.yaml",
    "kernels",
    "models",
    "records",
    "verdicts",
    "schemas",
    "details",
    "supported_kernels.md",
    "registry_lookup.py",
    ".gitattributes",
    ".gitignore",
)
"""The registry's files and folders; a registry may share its folder with other things."""

NOTHING = "0" * 40
_REGULAR = ("100644", "100755")


@dataclass(frozen=True)
class Snapshot:
    """Paths (relative to the registry's root) with blob ids, and a way to their bytes.

    ``lines`` are the entries as `git ls-files -s` writes them, parsed when a path is asked for: a
    check that finds the lines of the last one needs no more of them. ``base`` is the commit that
    this state is compared with (HEAD, or the revision's parent), and ``changes`` what differs from
    it; without a base everything does.
    """

    kind: Kind
    root: Path
    lines: Sequence[str]
    changes: Sequence[Change]
    repository: Repository | None = None
    base: str | None = None
    _held: dict[str, bytes] = field(default_factory=dict, repr=False)

    @cached_property
    def oids(self) -> Mapping[str, str]:
        """Path to blob id of every merged file; symbolic links and submodules are left out."""
        if not self.lines:
            return {}
        # Mode and object id have the same length in every line.
        tab = self.lines[0].index("\t")
        cut = tab + 1 + self._prefix
        return {
            line[cut:]: line[7 : tab - 2]
            for line in self.lines
            if line[tab - 1] == "0" and line.startswith(_REGULAR)
        }

    @cached_property
    def unmerged(self) -> tuple[str, ...]:
        """Paths that a merge left in conflict."""
        return tuple(sorted({path for _, stage, path in self._odd() if stage != "0"}))

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Paths that are symbolic links or submodules instead of files."""
        return tuple(path for _, stage, path in self._odd() if stage == "0")

    def _odd(self) -> Iterator[tuple[str, str, str]]:
        for line in self.lines:
            head, path = line.split("\t", 1)
            if head[-1] != "0" or not head.startswith(_REGULAR):
                yield head[:6], head[-1], path[self._prefix :]

    @property
    def _prefix(self) -> int:
        return len(self.repository.prefix) if self.repository else 0

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

    def stream(self, entries: Iterable[tuple[str, str]]) -> Iterator[tuple[str, bytes]]:
        """The path of each (path, blob id) with its bytes, which are kept nowhere."""
        wanted = list(entries)
        unread = [oid for _, oid in wanted if oid not in self._held]
        fetched = git.stream(self.repository, unread) if self.repository else iter(())
        for path, oid in wanted:
            yield path, self._held[oid] if oid in self._held else next(fetched)[1]

    def base_oids(self) -> dict[str, str]:
        """Path to blob id in ``base``."""
        if self.repository is None or self.base is None:
            return {}
        lines = git.tree(self.repository, self.base, OWN)
        return dict(Snapshot(self.kind, self.root, lines, (), self.repository).oids)

    def base_blobs(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Blob id to bytes from the repository; empty without one."""
        return git.blobs(self.repository, oids) if self.repository is not None else {}


def of_index(root: Path) -> Snapshot:
    """What `git commit` is about to take: the index named by GIT_INDEX_FILE."""
    repository = git.require_repository(root)
    lines, changes = git.staged_with_changes(repository, OWN)
    # `git add -N` leaves an empty blob in the index; a commit does not take it.
    empty = blob_oid(b"", repository.object_format)
    added = [c.path for c in changes if c.status == "A" and c.new_oid == empty]
    promised = git.promised(repository, added) if added else set()
    if promised:
        unwanted = {f"\t{repository.prefix}{path}" for path in promised}
        lines = [line for line in lines if line[line.index("\t") :] not in unwanted]
        changes = [change for change in changes if change.path not in promised]
    return Snapshot("index", root, lines, changes, repository, repository.head)


def of_revision(root: Path, revision: str, base: str | None = None) -> Snapshot:
    """The registry as it stands in ``revision``, compared with ``base`` (else its first parent)."""
    repository = git.require_repository(root)
    commit = git.resolve(repository, revision)
    before = git.resolve(repository, base) if base else git.first_parent(repository, commit)
    lines = git.tree(repository, commit, OWN)
    changes = git.tree_changes(repository, before, commit, OWN)
    return Snapshot("revision", root, lines, changes, repository, before)


def of_worktree(root: Path) -> Snapshot:
    """The files on disk; those that match the index keep its blob id unread."""
    repository = git.open_repository(root)
    if repository is None:
        return _of_folder(root)
    git.refresh_index(repository)
    staged, cached = git.staged_with_changes(repository, OWN)
    differing, untracked = git.worktree_differences(repository, OWN)
    index = Snapshot("index", root, staged, cached, repository)
    loose = differing | untracked
    held: dict[str, bytes] = {}
    lines = [line for line in staged if _kept(line, repository.prefix, loose)]
    lines += _taken(root, sorted(loose), held, repository)
    before = {change.path: change.old_oid for change in cached}
    state = Snapshot("worktree", root, lines, (), repository, repository.head, held)
    changes = [
        Change(path, old, new, "M")
        for path in sorted(before.keys() | loose)
        if (old := before.get(path, index.oids.get(path, NOTHING)))
        != (new := state.oids.get(path, NOTHING))
    ]
    return replace(state, changes=changes)


def _of_folder(root: Path) -> Snapshot:
    held: dict[str, bytes] = {}
    paths = [
        path.relative_to(root).as_posix()
        for name in OWN
        for path in ([root / name] if not (root / name).is_dir() else (root / name).rglob("*"))
        if path.is_symlink() or path.is_file()
    ]
    lines = _taken(root, sorted(paths), held, None)
    state = Snapshot("worktree", root, lines, (), _held=held)
    return replace(state, changes=[Change(p, NOTHING, oid, "A") for p, oid in state.oids.items()])


def _kept(line: str, prefix: str, loose: set[str]) -> bool:
    """Whether an index line stands for the file on disk too, or for a conflict."""
    head, path = line.split("\t", 1)
    return head[-1] != "0" or path[len(prefix) :] not in loose


def _taken(
    root: Path, paths: Iterable[str], held: dict[str, bytes], repository: Repository | None
) -> list[str]:
    """The lines of files on disk, whose bytes go into ``held``."""
    prefix, algorithm = "", "sha1"
    if repository is not None:
        prefix, algorithm = repository.prefix, repository.object_format
    lines = []
    for path in paths:
        if path.endswith(TEMPORARY_SUFFIX) or "__pycache__/" in path:
            continue
        mode = "100644"
        try:
            if (root / path).is_symlink():
                mode, data = "120000", os.fsencode((root / path).readlink())
            else:
                data = (root / path).read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
        oid = blob_oid(data, algorithm)
        held[oid] = data
        lines.append(f"{mode} {oid} 0\t{prefix}{path}")
    return lines


def blob_oid(data: bytes, algorithm: str = "sha1") -> str:
    """The id that git gives to ``data``, in the repository's hash."""
    known = hashlib.new(algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
    known.update(data)
    return known.hexdigest()
