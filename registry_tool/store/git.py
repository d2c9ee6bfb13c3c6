"""The only module that speaks to git: plumbing where it is hot, GitPython to make a repository.

Staged content is read through plumbing, because GitPython's ``repo.index`` ignores the temporary
index that `git commit -a` and `git commit <path>` hand to a hook.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from registry_tool.errors import GitError

_ARGUMENTS = 500
"""Paths per command line."""
_ELSEWHERE = (
    "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX",
)  # fmt: skip
"""What a hook is given, and what another repository must not see."""
_OTHER_TREE_LIMIT_S = 10.0


class Change(NamedTuple):
    """One path that differs between two states; an oid of zeros means that it is not there."""

    path: str
    old_oid: str
    new_oid: str
    status: str
    old_mode: str = "100644"
    new_mode: str = "100644"

    @property
    def was_there(self) -> bool:
        """Whether the old state has the path."""
        return bool(self.old_oid.strip("0"))

    @property
    def is_there(self) -> bool:
        """Whether the new state has the path."""
        return bool(self.new_oid.strip("0"))

    @property
    def before(self) -> str:
        """What stood there: mode and blob id, or nothing."""
        return f"{self.old_mode} {self.old_oid}" if self.was_there else ""

    @property
    def after(self) -> str:
        """What stands there now: mode and blob id, nothing, or the sides of a conflict."""
        if self.status == "U":
            return "unmerged"
        return f"{self.new_mode} {self.new_oid}" if self.is_there else ""


class Commit(NamedTuple):
    """One commit with the paths that it changed, newest first in a log."""

    oid: str
    date: str
    author: str
    subject: str
    parents: tuple[str, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Repository:
    """A repository seen from a registry: ``prefix`` is the registry's path below ``top``.

    ``head`` is the commit that HEAD named when the repository was opened; `head` asks again.
    """

    top: Path
    git_dir: Path
    prefix: str
    environment: Mapping[str, str]
    object_format: str = "sha1"
    head: str | None = None

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Standard output of ``git arguments``; raises GitError with git's own words."""
        process = self.start(*arguments, stdin=stdin is not None)
        out, err = process.communicate(stdin)
        return self._checked(process, arguments, out, err)

    def run_together(self, *commands: Sequence[str]) -> list[bytes]:
        """Standard output of several commands that run side by side; raises as `run` does."""
        processes = [self.start(*arguments) for arguments in commands]
        outputs = [process.communicate() for process in processes]
        return [
            self._checked(process, arguments, *output)
            for process, arguments, output in zip(processes, commands, outputs, strict=True)
        ]

    def start(self, *arguments: str, stdin: bool = False) -> subprocess.Popen[bytes]:
        """Start ``git arguments`` with pipes for its output (and its input, if asked for)."""
        return subprocess.Popen(
            ["git", "-c", "core.quotePath=false", *arguments],
            cwd=self.top,
            env=dict(self.environment),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    @staticmethod
    def _checked(
        process: subprocess.Popen[bytes], arguments: Sequence[str], out: bytes, err: bytes
    ) -> bytes:
        if process.returncode != 0:
            words = err.decode("utf-8", "replace").strip()
            raise GitError(words or f"git {arguments[0]} failed with status {process.returncode}")
        return out

    def pathspecs(self, names: Iterable[str]) -> list[str]:
        """``names`` (files or folders of the registry) as pathspecs that are taken literally."""
        return [f":(top,literal){self.prefix}{name}" for name in names]

    def inner(self, path: str) -> str:
        """``path`` below the registry's root, from one below ``top``."""
        return path.removeprefix(self.prefix)


def open_repository(root: Path) -> Repository | None:
    """The repository that holds ``root``, or None if there is none (or no git).

    Raises GitError for one that git does not trust.
    """
    environment = _environment()
    # With GIT_DIR set (a hook in a linked worktree), git takes its working folder for the top.
    cwd = Path.cwd() if "GIT_DIR" in environment else root
    try:
        done = subprocess.run(
            [
                "git", "rev-parse", "--show-toplevel", "--absolute-git-dir",
                "--show-object-format", "--revs-only", "HEAD",
            ],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )  # fmt: skip
    except OSError:
        return None
    if b"dubious ownership" in done.stderr:
        # Taken for no repository, nothing would be staged and nobody told.
        raise GitError(
            "git does not trust this repository: it belongs to another user",
            path=root,
            fix=f"git config --global --add safe.directory {shlex.quote(str(cwd))}",
        )
    lines = os.fsdecode(done.stdout).splitlines()
    if done.returncode != 0 or len(lines) < 3:
        return None
    top = Path(lines[0]).resolve()
    try:
        relative = root.resolve().relative_to(top).as_posix()
    except ValueError:
        return None
    if "GIT_DIR" in environment:
        environment["GIT_WORK_TREE"] = str(top)
    prefix = "" if relative == "." else f"{relative}/"
    # Before the first commit there is no fourth line.
    head = lines[3] if len(lines) > 3 else None
    return Repository(top, Path(lines[1]), prefix, environment, lines[2], head)


def commit_of(folder: Path) -> tuple[str, bool]:
    """The commit of the repository that holds ``folder``, and whether tracked files differ from it.

    GIT_DIR and its like are not heeded: ``folder`` is another tree than the one of a running hook.
    Raises GitError, with git's own words, where there is no commit, or none that has ``folder``.
    """
    commit = _ask_in(folder, "rev-parse", "--verify", "HEAD^{commit}")
    try:
        _ask_in(folder, "rev-parse", "--verify", "HEAD:./")
    except GitError:
        raise GitError("the git repository around it does not hold it", path=folder) from None
    changes = _ask_in(folder, "status", "--porcelain", "-uno", "--ignore-submodules=dirty")
    return commit, bool(changes)


def _ask_in(folder: Path, *arguments: str) -> str:
    environment = {name: text for name, text in _environment().items() if name not in _ELSEWHERE}
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_OTHER_TREE_LIMIT_S,
        )
    except OSError as error:
        raise GitError(f"git cannot be asked: {error.strerror}", path=folder) from None
    except subprocess.TimeoutExpired:
        raise GitError(
            f"git did not answer within {_OTHER_TREE_LIMIT_S:g} s",
            path=folder,
            fix=f"git -C {folder} status",
        ) from None
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise GitError(words or f"git {arguments[0]} failed", path=folder)
    return os.fsdecode(done.stdout).strip()


def require_repository(root: Path) -> Repository:
    """The repository that holds ``root``; raises GitError with what to type if there is none."""
    require_git()
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


def staged(repository: Repository, names: Sequence[str]) -> list[str]:
    """The entries of the index in force below ``names``, unmerged stages included.

    Each is a line ``mode oid stage\tpath`` with its path below ``top``.
    """
    return _lines(repository.run("ls-files", "-s", "-z", "--", *repository.pathspecs(names)))


def staged_changes(repository: Repository, names: Sequence[str]) -> list[Change]:
    """How the index in force differs from HEAD (or, before the first commit, from nothing)."""
    base = repository.head or empty_tree(repository)
    out = repository.run(
        "diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames",
        base, "--", *repository.pathspecs(names),
    )  # fmt: skip
    return list(_raw_changes(_fields(out), len(repository.prefix)))


def _fields(out: bytes) -> list[str]:
    return os.fsdecode(out).split("\0")


def _lines(out: bytes) -> list[str]:
    return _fields(out)[:-1]


def empty_tree(repository: Repository) -> str:
    """The id of the tree without entries, in the repository's own hash."""
    return repository.run("hash-object", "-t", "tree", "--stdin", stdin=b"").decode().strip()


def promised(repository: Repository, paths: Sequence[str]) -> set[str]:
    """Those of ``paths`` that `git add -N` put into the index, and a commit would not take."""
    found: set[str] = set()
    for start in range(0, len(paths), _ARGUMENTS):
        specs = repository.pathspecs(paths[start : start + _ARGUMENTS])
        out = repository.run("diff-files", "--name-only", "--diff-filter=A", "-z", "--", *specs)
        found.update(repository.inner(path) for path in _lines(out))
    return found


def tree(repository: Repository, revision: str, names: Sequence[str]) -> list[str]:
    """The entries of ``revision`` below ``names``, as lines like those of `staged`."""
    wanted = [repository.prefix + name for name in names]
    out = repository.run("ls-tree", "-r", "-z", "--full-tree", revision, "--", *wanted)
    found = []
    for line in _lines(out):
        meta, path = line.split("\t", 1)
        mode, _, oid = meta.split(" ")
        found.append(f"{mode} {oid} 0\t{path}")
    return found


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


def tree_changes(
    repository: Repository, base: str | None, revision: str, names: Sequence[str]
) -> list[Change]:
    """How ``revision`` differs from ``base`` (None: from nothing) below ``names``."""
    out = repository.run(
        "diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames",
        base or empty_tree(repository), revision, "--", *repository.pathspecs(names),
    )  # fmt: skip
    return list(_raw_changes(_fields(out), len(repository.prefix)))


def _raw_changes(fields: Sequence[str], cut: int) -> Iterator[Change]:
    at = 0
    while at + 1 < len(fields):
        old_mode, new_mode, old, new, status = fields[at].lstrip(":\n").split(" ")
        yield Change(fields[at + 1][cut:], old, new, status, old_mode, new_mode)
        at += 2


def blobs(repository: Repository, oids: Iterable[str]) -> dict[str, bytes]:
    """Object id to content; a missing object raises GitError."""
    return dict(stream(repository, dict.fromkeys(oids)))


def stream(repository: Repository, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Each object id with its content, while git still reads the next; raises GitError."""
    wanted = list(oids)
    if not wanted:
        return
    process = repository.start("cat-file", "--batch", "--buffer", stdin=True)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    feeder = threading.Thread(target=_feed, args=(process.stdin, wanted), daemon=True)
    feeder.start()
    out = process.stdout
    try:
        for oid in wanted:
            header = out.readline().split()
            if len(header) != 3:
                words = (
                    process.stderr.read().decode("utf-8", "replace").strip() if not header else ""
                )
                raise GitError(
                    f"the object {oid} cannot be read: {words or 'it is missing'}", fix="git fsck"
                )
            yield oid, out.read(int(header[2]))
            out.read(1)
    finally:
        process.kill()
        feeder.join()
        out.close()
        process.stderr.close()
        process.wait()


def _feed(pipe: IO[bytes], oids: Sequence[str]) -> None:
    # git may be ended early, when the reader has seen enough.
    with contextlib.suppress(BrokenPipeError, ValueError):
        pipe.write("\n".join(oids).encode() + b"\n")
    with contextlib.suppress(BrokenPipeError):
        pipe.close()


def worktree_differences(repository: Repository, names: Sequence[str]) -> tuple[set[str], set[str]]:
    """Paths below ``names`` whose file differs from the index, and files git does not track."""
    specs = repository.pathspecs(names)
    changed, untracked = repository.run_together(
        ["diff-files", "--name-only", "-z", "--", *specs], ["ls-files", "-o", "-z", "--", *specs]
    )
    return (
        {repository.inner(path) for path in _lines(changed)},
        {repository.inner(path) for path in _lines(untracked)},
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


def history(repository: Repository, names: Sequence[str], revision: str = "HEAD") -> list[Commit]:
    """Every commit that touched ``names`` (files or folders of the registry), newest first.

    A merge has only the changes that none of its parents has.
    """
    if head(repository) is None:
        return []
    out = repository.run(
        "log", "-c", "--raw", "-z", "--no-abbrev", "--no-renames",
        "--format=%x01%H%x00%cI%x00%an%x00%s%x00%P", resolve(repository, revision),
        "--", *repository.pathspecs(names),
    )  # fmt: skip
    return list(_commits(_fields(out), len(repository.prefix)))


def first_added(
    repository: Repository, names: Sequence[str], revision: str, since: str | None = None
) -> dict[str, int]:
    """Path below ``names`` to the time (seconds since 1970) of the commit that first added it.

    Only commits of ``revision`` that are none of ``since`` are looked at. The time is the
    committer's; what only a merge added is not there.
    """
    out = repository.run(
        "log", "--diff-filter=A", "--no-renames", "--name-only", "-z", "--format=%x01%ct",
        resolve(repository, revision), *([f"^{resolve(repository, since)}"] if since else []),
        "--", *repository.pathspecs(names),
    )  # fmt: skip
    found, when = {}, 0
    cut = len(repository.prefix)
    for text in _fields(out):
        word = text.lstrip("\n")
        if word.startswith("\x01"):
            when = int(word[1:])
        elif word:
            found[word[cut:]] = when  # newest first: the oldest one stays
    return found


def is_ancestor(repository: Repository, older: str, newer: str) -> bool:
    """Whether ``newer`` goes on from ``older``; False for commits that are not there."""
    try:
        repository.run("merge-base", "--is-ancestor", older, newer)
    except GitError:
        return False
    return True


def configured(root: Path, name: str) -> str | None:
    """A value of git's configuration as it is in force in ``root``, or None."""
    try:
        done = subprocess.run(
            ["git", "config", "--get", name],
            cwd=root,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return None
    text = os.fsdecode(done.stdout).rstrip("\n")
    return text if done.returncode == 0 and text else None


def _commits(fields: Sequence[str], cut: int) -> Iterator[Commit]:
    # Every field has its place, so that no author, subject or path can pass for another one.
    at = 0
    while at < len(fields):
        if not fields[at].startswith("\x01"):
            at += 1
            continue
        oid, date, author, subject, parents = fields[at : at + 5]
        at += 5
        changes = []
        while at < len(fields) and not fields[at].startswith("\x01"):
            meta = fields[at].lstrip("\n")
            if not meta:
                at += 1
                continue
            changes.append(_combined(meta, fields[at + 1][cut:]))
            at += 2
        yield Commit(oid[1:], date, author, subject, tuple(parents.split()), tuple(changes))


def _combined(meta: str, path: str) -> Change:
    """A change of one or more parents (as many as there are colons)."""
    parts = meta.lstrip(":").split(" ")
    parents = len(meta) - len(meta.lstrip(":"))
    *old, new = parts[parents + 1 : 2 * parents + 2]
    there = [oid for oid in old if set(oid) != {"0"}]
    return Change(path, there[0] if there else old[0], new, parts[-1])


def initialise(folder: Path) -> None:
    """`git init` in ``folder``; raises GitError with git's own words if it cannot."""
    require_git()
    # GitPython is worth its 60 ms where a repository is made, not where a commit waits.
    from git import Repo
    from git.exc import GitCommandError

    try:
        Repo.init(folder, mkdir=True, initial_branch="main")
    except GitCommandError as error:
        raise GitError(str(error.stderr).strip().removeprefix("stderr:").strip()) from None


def require_git() -> None:
    """Raise GitError if there is no git to call."""
    import shutil

    if shutil.which("git") is None:
        raise GitError("git is not on PATH", fix="install git, or put it on PATH")


def hooks_folder(repository: Repository) -> Path:
    """Where git looks for hooks, core.hooksPath included."""
    out = os.fsdecode(repository.run("rev-parse", "--git-path", "hooks")).strip()
    return (repository.top / out).resolve()
