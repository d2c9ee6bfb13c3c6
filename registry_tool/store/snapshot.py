"""One state of a registry's files to look at: the work tree, the index, or a revision.

A snapshot knows every path with its blob id and hands out bytes; what they mean is not its affair.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

from registry_tool.errors import GitError
from registry_tool.store import git
from registry_tool.store.files import TEMPORARY_SUFFIX
from registry_tool.store.git import Change, Repository
from registry_tool.store.readable import require_readable
from registry_tool.store.root import POLICY

Kind = Literal["worktree", "index", "revision"]

OWN = (
    "registry.yaml",
    "baseline.json",
    "README.md",
    "kernels",
    "models",
    "records",
    "verdicts",
    "signers",
    "schemas",
    "layouts",
    "details",
    "supported_kernels.md",
    "registry_lookup.py",
    ".gitattributes",
    ".gitignore",
)
"""The registry's files and folders; a registry may share its folder with other things."""

NOTHING = "0" * 40
_REGULAR = ("100644", "100755")
_ARGUMENTS = 500
"""Names up to which git is asked for these alone."""

Deviations = Mapping[str, tuple[str, str]]
"""Path to what stands there in a commit, and what does in a state that goes on from it."""


@dataclass(frozen=True)
class Snapshot:
    """Paths (relative to the registry's root) with blob ids, and a way to their bytes.

    The state is that of the commit ``anchor`` but for the ``deviations`` from it; git lists the
    rest only if somebody asks. ``base`` is the commit that the state is compared with (HEAD, or
    the revision's parent), and ``changes`` what differs from it; without a base everything does.
    ``origin`` is the repository seen from where the registry stood in the base, which is elsewhere
    if its folder was renamed since.
    """

    kind: Kind
    root: Path
    repository: Repository | None
    anchor: str | None
    deviations: Sequence[Change]
    base: str | None
    changes: Sequence[Change]
    _listing: Callable[[Sequence[str]], Sequence[str]] = field(repr=False)
    origin: Repository | None = field(default=None, repr=False)
    _held: dict[str, bytes] = field(default_factory=dict, repr=False)

    @cached_property
    def lines(self) -> Sequence[str]:
        """Every entry as `git ls-files -s` writes it, in the order of their paths."""
        return self._listing(OWN)

    def below(self, names: Sequence[str]) -> Sequence[str]:
        """The entries below ``names`` (files or folders) alone."""
        return self._listing(names) if len(names) <= _ARGUMENTS else self.lines

    def narrowed(self, lines: Sequence[str], seen_from: Repository | None = None) -> Snapshot:
        """The state as if it had no other entries than ``lines``.

        ``seen_from`` is the repository seen from where the paths of ``lines`` begin, if that is
        elsewhere.
        """
        repository = seen_from or self.repository
        return replace(self, repository=repository, _listing=lambda names: lines)

    @cached_property
    def oids(self) -> Mapping[str, str]:
        """Path to blob id of every merged file; symbolic links and submodules are left out."""
        return _oids(self.lines, self._prefix)

    @property
    def _prefix(self) -> int:
        return len(self.repository.prefix) if self.repository else 0

    def differing_from(self, anchor: str | None, deviations: Deviations) -> set[str] | None:
        """The paths that are not as in another state; None if nobody can tell any more."""
        between: dict[str, Change] = {}
        if anchor != self.anchor:
            if anchor is None or self.anchor is None or self.repository is None:
                return None
            try:
                changes = git.tree_changes(self.repository, anchor, self.anchor, OWN)
            except GitError:
                return None  # the other commit is gone
            between = {change.path: change for change in changes}
        mine = {change.path: (change.before, change.after) for change in self.deviations}
        found = set()
        for path in {*mine, *deviations, *between}:
            there, here = "", ""
            if path in between:
                there, here = between[path].before, between[path].after
            elif path in mine:
                there = here = mine[path][0]
            else:
                there = here = deviations[path][0]
            if (deviations[path][1] if path in deviations else there) != (
                mine[path][1] if path in mine else here
            ):
                found.add(path)
        return found

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
        # Most harnesses print nothing to standard error: a quarter of a registry's files are empty.
        algorithm = self.repository.object_format if self.repository else "sha1"
        self._held.setdefault(blob_oid(b"", algorithm), b"")
        # What is held is settled now: more may be held before the last one is handed out.
        wanted = [(path, oid, self._held.get(oid)) for path, oid in entries]
        unread = [oid for _, oid, data in wanted if data is None]
        fetched = git.stream(self.repository, unread) if self.repository else iter(())
        for path, _, data in wanted:
            yield path, data if data is not None else next(fetched)[1]

    def hold(self) -> None:
        """Read every file into memory; for a thread of its own, in good time."""
        # Whoever asks for what could not be read is told then.
        with contextlib.suppress(GitError):
            for path, data in self.stream(self.oids.items()):
                self._held[self.oids[path]] = data


def _oids(lines: Sequence[str], prefix: int) -> dict[str, str]:
    if not lines:
        return {}
    # Mode and object id have the same length in every line.
    tab = lines[0].index("\t")
    cut = tab + 1 + prefix
    return {
        line[cut:]: line[7 : tab - 2]
        for line in lines
        if line[tab - 1] == "0" and line.startswith(_REGULAR)
    }


def of_index(root: Path) -> Snapshot:
    """What `git commit` is about to take: the index named by GIT_INDEX_FILE."""
    return index_of(git.require_repository(root), root)


def index_of(repository: Repository, root: Path) -> Snapshot:
    """The index of ``repository``; ``root`` is the registry's folder, on disk or not."""
    changes, promised = git.kept_promises(repository, git.staged_changes(repository, OWN))

    def listing(names: Sequence[str]) -> list[str]:
        lines = git.staged(repository, names)
        if not promised:
            return lines
        return [line for line in lines if _path(line, repository) not in promised]

    head = repository.head
    origin, changed = _since_move(repository, head, None, changes, listing)
    return Snapshot("index", root, repository, head, changes, head, changed, listing, origin)


def of_revision(root: Path, revision: str, base: str | None = None) -> Snapshot:
    """The registry as it stands in ``revision``, compared with ``base`` (else its first parent)."""
    repository = git.require_repository(root)
    commit = git.resolve(repository, revision)
    before = git.resolve(repository, base) if base else git.first_parent(repository, commit)
    return of_commit(root, repository, commit, before)


def of_commit(root: Path, repository: Repository, commit: str, base: str | None) -> Snapshot:
    """The registry of ``repository`` in ``commit``, compared with the commit ``base``.

    Both are full ids; ``root`` is the registry's folder, on disk or not.
    """
    changes = [] if base == commit else git.tree_changes(repository, base, commit, OWN)
    listing = partial(git.tree, repository, commit)
    origin, changed = _since_move(repository, base, commit, changes, listing)
    return Snapshot("revision", root, repository, commit, (), base, changed, listing, origin)


def _since_move(
    repository: Repository,
    base: str | None,
    revision: str | None,
    changes: list[Change],
    listing: Callable[[Sequence[str]], Sequence[str]],
) -> tuple[Repository, list[Change]]:
    """Where the registry stood in ``base``, and what differs from there.

    git compares a renamed folder with nothing, and edited evidence would pass for new.
    """
    arrived = any(change.path == POLICY and not change.was_there for change in changes)
    if base is None or not arrived:
        return repository, changes
    here = _entries(listing(OWN), None, repository)
    evidence = {path for path in here if path.startswith(("records/", "verdicts/"))}
    best, origin, there = 0, repository, {}
    for path in git.registries_gone(repository, base, revision, POLICY):
        other = repository.at(path.removesuffix(POLICY))
        found = _entries(git.tree(other, base, OWN), None, other)
        shared = len(evidence & found.keys())
        if shared > best:
            best, origin, there = shared, other, found
    if not best:
        return repository, changes
    absent = ("000000", NOTHING)
    moved = []
    for path in sorted({*here, *there}):
        (old_mode, old), (new_mode, new) = there.get(path, absent), here.get(path, absent)
        if (old_mode, old) != (new_mode, new):
            moved.append(Change(path, old, new, "M", old_mode, new_mode))
    return origin, moved


def of_worktree(root: Path) -> Snapshot:
    """The files on disk; those that match the index keep its blob id unread."""
    require_readable(root, OWN)
    repository = git.open_repository(root)
    if repository is None:
        return _of_folder(root)
    git.refresh_index(repository)
    cached = git.staged_changes(repository, OWN)
    differing, untracked = git.worktree_differences(repository, OWN)
    staged = git.staged(repository, OWN)
    loose = differing | untracked
    held: dict[str, bytes] = {}
    # A line of a conflict stands for no file.
    kept = [
        line
        for line in staged
        if line[line.index("\t") - 1] != "0" or _path(line, repository) not in loose
    ]
    lines = sorted([*kept, *_taken(root, loose, held, repository)], key=_place)
    changes = _changes(cached, staged, lines, loose, repository)

    def listing(names: Sequence[str]) -> list[str]:
        wanted = set(names)
        below = tuple(f"{name}/" for name in names)
        return [
            line
            for line in lines
            if (path := _path(line, repository)) in wanted or path.startswith(below)
        ]

    head = repository.head
    origin, changed = _since_move(repository, head, None, changes, listing)
    return Snapshot(
        "worktree", root, repository, head, changes, head, changed, listing, origin, held
    )


def _changes(
    cached: Sequence[Change],
    staged: Sequence[str],
    lines: Sequence[str],
    loose: set[str],
    repository: Repository,
) -> list[Change]:
    """How the files on disk differ from HEAD, where the index or the files differ at all."""
    before = {change.path: (change.old_mode, change.old_oid) for change in cached}
    touched = before.keys() | loose
    index = _entries(staged, touched, repository)
    disk = _entries(lines, touched, repository)
    conflicts = {change.path for change in cached if change.status == "U"}
    found = []
    for path in sorted(touched):
        old_mode, old = before.get(path) or index.get(path) or ("000000", NOTHING)
        new_mode, new = disk.get(path, ("000000", NOTHING))
        if path in conflicts:
            found.append(Change(path, old, new, "U", old_mode, new_mode))
        elif (old_mode, old) != (new_mode, new):
            found.append(Change(path, old, new, "M", old_mode, new_mode))
    return found


def _entries(
    lines: Sequence[str], wanted: AbstractSet[str] | None, repository: Repository
) -> dict[str, tuple[str, str]]:
    """Path to mode and blob id of the ``wanted`` paths (None: of all) that are merged."""
    found = {}
    for line in lines:
        path, tab = _path(line, repository), line.index("\t")
        if line[tab - 1] == "0" and (wanted is None or path in wanted):
            found[path] = (line[:6], line[7 : tab - 2])
    return found


def _path(line: str, repository: Repository) -> str:
    return line[line.index("\t") + 1 + len(repository.prefix) :]


def _place(line: str) -> str:
    return line.partition("\t")[2]


def _of_folder(root: Path) -> Snapshot:
    held: dict[str, bytes] = {}
    paths = [
        path.relative_to(root).as_posix()
        for name in OWN
        for path in ([root / name] if not (root / name).is_dir() else (root / name).rglob("*"))
        if path.is_symlink() or path.is_file()
    ]
    lines = _taken(root, sorted(paths), held, None)
    changes = [Change(path, NOTHING, oid, "A") for path, oid in _oids(lines, 0).items()]
    return Snapshot(
        "worktree", root, None, None, changes, None, changes, lambda names: lines, None, held
    )


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
        try:
            if (root / path).is_symlink():
                mode, data = "120000", os.fsencode((root / path).readlink())
            else:
                data = (root / path).read_bytes()
                mode = "100755" if (root / path).stat().st_mode & 0o100 else "100644"
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
