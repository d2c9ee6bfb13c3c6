"""The only module that speaks to git: plumbing where it is hot, GitPython to make a repository.

Staged content is read through plumbing, because GitPython's ``repo.index`` ignores the temporary
index that `git commit -a` and `git commit <path>` hand to a hook.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from registry_tool.errors import GitError

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_BATCH = 4096


@dataclass(frozen=True)
class Entry:
    """One path of an index or a tree; ``path`` is relative to the registry's root."""

    path: str
    oid: str
    mode: str
    stage: int = 0


@dataclass(frozen=True)
class Change:
    """One path that differs between two states; an oid of zeros means that it is not there."""

    path: str
    old_oid: str
    new_oid: str
    status: str


@dataclass(frozen=True)
class Commit:
    """One commit with the paths that it changed, newest first in a log."""

    oid: str
    date: str
    author: str
    subject: str
    parents: tuple[str, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Repository:
    """A repository seen from a registry: ``prefix`` is the registry's path below ``top``."""

    top: Path
    git_dir: Path
    prefix: str
    environment: Mapping[str, str]

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Standard output of ``git arguments``; raises GitError with git's own words."""
        done = subprocess.run(
            ["git", "-c", "core.quotePath=false", *arguments],
            cwd=self.top,
            env=dict(self.environment),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "replace").strip()
            raise GitError(words or f"git {arguments[0]} failed with status {done.returncode}")
        return done.stdout

    @property
    def pathspec(self) -> str:
        """The registry as a pathspec that no character in its name can change."""
        return f":(top,literal){self.prefix.rstrip('/')}" if self.prefix else ":(top)"

    def inner(self, path: str) -> str:
        """``path`` below the registry's root, from one below ``top``."""
        return path.removeprefix(self.prefix)


def open_repository(root: Path) -> Repository | None:
    """The repository that holds ``root``, or None if there is none (or no git)."""
    environment = _environment()
    # With GIT_DIR set (a hook in a linked worktree), git takes its working folder for the top.
    cwd = Path.cwd() if "GIT_DIR" in environment else root
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--show-toplevel", "--absolute-git-dir"],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return None
    lines = os.fsdecode(done.stdout).splitlines()
    if done.returncode != 0 or len(lines) != 2:
        return None
    top = Path(lines[0]).resolve()
    try:
        relative = root.resolve().relative_to(top).as_posix()
    except ValueError:
        return None
    if "GIT_DIR" in environment:
        environment["GIT_WORK_TREE"] = str(top)
    prefix = "" if relative == "." else f"{relative}/"
    return Repository(top, Path(lines[1]), prefix, environment)


def require_repository(root: Path) -> Repository:
    """The repository that holds ``root``; raises GitError with what to type if there is none."""
    repository = open_repository(root)
    if repository is None:
        raise GitError("not in a git repository", path=root, fix=f"git init {root}")
    return repository


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    # A hook may be handed paths relative to where it was started.
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        if environment.get(name):
            environment[name] = str(Path(environment[name]).absolute())
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    environment["LC_ALL"] = "C"
    return environment


def staged(repository: Repository) -> list[Entry]:
    """Every entry of the index in force below the registry, unmerged stages included."""
    out = repository.run("ls-files", "-s", "-z", "--", repository.pathspec)
    cut = len(repository.prefix)
    entries = []
    for line in os.fsdecode(out).split("\0"):
        if line:
            meta, path = line.split("\t", 1)
            mode, oid, stage = meta.split(" ")
            entries.append(Entry(path[cut:], oid, mode, int(stage)))
    return entries


def intent_to_add(repository: Repository) -> set[str]:
    """Paths of `git add -N`: in the index, but not in what a commit would take."""
    out = repository.run("diff", "--name-only", "--diff-filter=A", "-z", "--", repository.pathspec)
    return {repository.inner(path) for path in os.fsdecode(out).split("\0") if path}


def tree(repository: Repository, revision: str) -> list[Entry]:
    """Every blob of ``revision`` below the registry."""
    oid = resolve(repository, revision)
    out = repository.run("ls-tree", "-r", "-z", "--full-tree", oid, "--", repository.prefix or ".")
    cut = len(repository.prefix)
    entries = []
    for line in os.fsdecode(out).split("\0"):
        if line:
            meta, path = line.split("\t", 1)
            mode, kind, blob = meta.split(" ")
            if kind == "blob":
                entries.append(Entry(path[cut:], blob, mode))
    return entries


def resolve(repository: Repository, revision: str) -> str:
    """The commit that ``revision`` names; raises GitError if there is none."""
    try:
        out = repository.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
    except GitError:
        raise GitError(f"no commit is called {revision!r}", fix="git log --oneline") from None
    return out.decode().strip()


def head(repository: Repository) -> str | None:
    """The commit that HEAD names, or None before the first commit."""
    try:
        return resolve(repository, "HEAD")
    except GitError:
        return None


def first_parent(repository: Repository, revision: str) -> str | None:
    """The first parent of ``revision``, or None for a root commit."""
    try:
        return resolve(repository, f"{resolve(repository, revision)}^1")
    except GitError:
        return None


def staged_changes(repository: Repository, base: str | None) -> list[Change]:
    """How the index in force differs from ``base`` (None: from nothing) below the registry."""
    out = repository.run(
        "diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames",
        base or EMPTY_TREE, "--", repository.pathspec,
    )  # fmt: skip
    return list(_raw_changes(os.fsdecode(out).split("\0"), len(repository.prefix)))


def tree_changes(repository: Repository, base: str | None, revision: str) -> list[Change]:
    """How ``revision`` differs from ``base`` (None: from nothing) below the registry."""
    out = repository.run(
        "diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames",
        base or EMPTY_TREE, resolve(repository, revision), "--", repository.pathspec,
    )  # fmt: skip
    return list(_raw_changes(os.fsdecode(out).split("\0"), len(repository.prefix)))


def _raw_changes(fields: Sequence[str], cut: int) -> Iterator[Change]:
    at = 0
    while at + 1 < len(fields):
        _, _, old, new, status = fields[at].lstrip("\n").split(" ")
        yield Change(fields[at + 1][cut:], old, new, status)
        at += 2


def blobs(repository: Repository, oids: Iterable[str]) -> dict[str, bytes]:
    """Object id to content; a missing object raises GitError."""
    wanted = list(dict.fromkeys(oids))
    found: dict[str, bytes] = {}
    for start in range(0, len(wanted), _BATCH):
        chunk = wanted[start : start + _BATCH]
        out = repository.run(
            "cat-file", "--batch", "--buffer", stdin="\n".join(chunk).encode() + b"\n"
        )
        at = 0
        for oid in chunk:
            end = out.index(b"\n", at)
            header = out[at:end].split(b" ")
            if len(header) != 3:
                raise GitError(f"the object {oid} is not in the repository", fix="git fsck")
            size = int(header[2])
            found[oid] = out[end + 1 : end + 1 + size]
            at = end + size + 2
    return found


def worktree_differences(repository: Repository) -> tuple[set[str], set[str]]:
    """Paths below the registry whose file differs from the index, and files git does not track."""
    changed = repository.run("diff-files", "--name-only", "-z", "--", repository.pathspec)
    untracked = repository.run("ls-files", "-o", "-z", "--", repository.pathspec)
    return (
        {repository.inner(path) for path in os.fsdecode(changed).split("\0") if path},
        {repository.inner(path) for path in os.fsdecode(untracked).split("\0") if path},
    )


def refresh_index(repository: Repository) -> None:
    """Let git compare file times again, so that `worktree_differences` names only real ones."""
    subprocess.run(
        ["git", "update-index", "-q", "--refresh"],
        cwd=repository.top,
        env={**repository.environment, "GIT_OPTIONAL_LOCKS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def stage(repository: Repository, paths: Iterable[str]) -> None:
    """`git add` exactly ``paths`` (relative to the registry), ignored or removed ones included."""
    data = b"".join(os.fsencode(repository.prefix + path) + b"\0" for path in paths)
    if data:
        repository.run("update-index", "--add", "--remove", "-z", "--stdin", stdin=data)


def stage_in_top(repository: Repository, paths: Iterable[str]) -> None:
    """`git add` exactly ``paths``, relative to the top of the repository."""
    data = b"".join(os.fsencode(path) + b"\0" for path in paths)
    repository.run("update-index", "--add", "-z", "--stdin", stdin=data)


def history(repository: Repository, paths: Sequence[str], revision: str = "HEAD") -> list[Commit]:
    """Every commit that touched ``paths`` (relative to the registry), newest first.

    Merges are compared with their first parent; ``paths`` may be folders.
    """
    if head(repository) is None:
        return []
    literal = [f":(top,literal){repository.prefix}{path}" for path in paths]
    out = repository.run(
        "log", "--raw", "-z", "--no-abbrev", "--no-renames", "--diff-merges=first-parent",
        "--format=%x01%H%x00%cI%x00%an%x00%s%x00%P", resolve(repository, revision), "--", *literal,
    )  # fmt: skip
    cut = len(repository.prefix)
    commits = []
    for chunk in os.fsdecode(out).split("\x01")[1:]:
        oid, date, author, subject, parents, *fields = chunk.split("\0")
        changes = tuple(_raw_changes([field for field in fields if field], cut))
        commits.append(Commit(oid, date, author, subject, tuple(parents.split()), changes))
    return commits


def initialise(folder: Path) -> None:
    """`git init` in ``folder`` unless it is in a repository already."""
    if open_repository(folder) is None:
        # GitPython is worth its 60 ms where a repository is made, not where a commit waits.
        from git import Repo

        Repo.init(folder, mkdir=True, initial_branch="main")


def hooks_folder(repository: Repository) -> Path:
    """Where git looks for hooks, core.hooksPath included."""
    out = os.fsdecode(repository.run("rev-parse", "--git-path", "hooks")).strip()
    return (repository.top / out).resolve()
