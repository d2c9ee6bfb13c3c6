"""The only module that speaks to git: plumbing where it is hot, GitPython to make a repository.

Staged content is read through plumbing, because GitPython's ``repo.index`` ignores the temporary
index that `git commit -a` and `git commit <path>` hand to a hook.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
_PATHSPEC_MODES = (
    "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
)  # fmt: skip
"""What would make git read a pathspec otherwise than it is written here."""
_WHERE = re.compile(
    rb"(?:(?P<top>.*)\n)?(?P<format>sha1|sha256)\n(?P<git_dir>.*)\n(?P=format)\n"
    rb"(?:(?P<head>[0-9a-f]{40,64})\n)?",
    re.DOTALL,
)
"""Folders may have any name, a line break included: the hash's name stands between them."""
_OTHER_TREE_LIMIT_S = 10.0


_EMPTY_BLOBS = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
"""The id of a file without content, by SHA-1 and by SHA-256."""


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

    def at(self, prefix: str) -> Repository:
        """The same repository, seen from the registry in the folder ``prefix`` (with its slash)."""
        return replace(self, prefix=prefix)

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
            ["git", "-c", "core.quotePath=false", "-c", "i18n.logOutputEncoding=UTF-8", *arguments],
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
    """The repository whose work tree holds ``root``, or None if there is none (or no git).

    Raises GitError for one that git does not trust.
    """
    repository = _open(root, ["--show-toplevel"])
    if repository is None:
        return None
    try:
        relative = root.resolve().relative_to(repository.top).as_posix()
    except ValueError:
        return None
    return repository.at("" if relative == "." else f"{relative}/")


def open_any(folder: Path) -> Repository | None:
    """The repository around ``folder``, a bare one too, seen from its top; None without one.

    A bare repository has no files: its registries stand in its commits alone, and ``top`` is the
    repository itself. Raises GitError for one that git does not trust.
    """
    return _open(folder, ["--show-toplevel"]) or _open(folder, [])


def _open(folder: Path, words: Sequence[str]) -> Repository | None:
    environment = _environment()
    # With GIT_DIR set (a hook in a linked worktree), git takes its working folder for the top.
    cwd = Path.cwd() if "GIT_DIR" in environment else _existing(folder)
    try:
        found = _where(cwd, environment, words)
    except OSError:
        return None
    if found is None:
        return None
    git_dir = Path(os.fsdecode(found["git_dir"]))
    top = Path(os.fsdecode(found["top"])).resolve() if found["top"] else git_dir
    if "GIT_DIR" in environment and found["top"]:
        environment["GIT_WORK_TREE"] = str(top)
    head = found["head"].decode() if found["head"] else None
    return Repository(top, git_dir, "", environment, found["format"].decode(), head)


def _where(
    cwd: Path, environment: Mapping[str, str], words: Sequence[str]
) -> re.Match[bytes] | None:
    """What git says of the repository around ``cwd``; None if there is none.

    Raises GitError for one that git does not trust.
    """
    done = subprocess.run(
        [
            "git", "rev-parse", *words, "--show-object-format", "--absolute-git-dir",
            "--show-object-format", "--revs-only", "HEAD",
        ],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )  # fmt: skip
    if b"dubious ownership" in done.stderr:
        # Taken for no repository, nothing would be staged and nobody told.
        raise GitError(
            "git does not trust this repository: it belongs to another user",
            path=cwd,
            fix=f"git config --global --add safe.directory {shlex.quote(str(cwd))}",
        )
    return _WHERE.fullmatch(done.stdout) if done.returncode == 0 else None


def _existing(folder: Path) -> Path:
    """``folder``, or the nearest one above it that is on disk (a sparse checkout has few)."""
    return next(one for one in (folder, *folder.absolute().parents) if one.is_dir())


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
    for name in _PATHSPEC_MODES:
        environment.pop(name, None)
    # `git replace` shows other content than what is committed and pushed.
    environment["GIT_NO_REPLACE_OBJECTS"] = "1"
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    environment["LC_ALL"] = "C"
    return environment


def registries_staged(repository: Repository, marker: str) -> tuple[list[str], list[Change]]:
    """Paths of every file called ``marker`` that a commit would take, and how those differ.

    All are below ``top``, and compared with HEAD.
    """
    spec = f":(top,glob)**/{marker}"
    listed, raw = repository.run_together(
        ["ls-files", "-z", "--", spec],
        [
            "diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames",
            repository.head or empty_tree(repository), "--", spec,
        ],
    )  # fmt: skip
    changes, promised = kept_promises(repository.at(""), list(_raw_changes(_fields(raw), 0)))
    return sorted(set(_lines(listed)) - promised), changes


def registries_at(repository: Repository, revision: str, marker: str) -> list[str]:
    """Paths of every file called ``marker`` in ``revision``."""
    out = repository.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", revision)
    return [path for path in _lines(out) if path.rpartition("/")[2] == marker]


def present(repository: Repository, revision: str, paths: Sequence[str]) -> set[str]:
    """Those of ``paths`` (below the top) that are in ``revision``."""
    if not paths:
        return set()
    out = repository.run("ls-tree", "-z", "--name-only", "--full-tree", revision, "--", *paths)
    return set(_lines(out))


def registries_gone(
    repository: Repository, base: str, revision: str | None, marker: str
) -> list[str]:
    """Paths of the files called ``marker`` that ``base`` has and ``revision`` (None: the index)."""
    words = ["diff-index", "--cached", base] if revision is None else ["diff-tree", "-r", base]
    out = repository.run(
        *words, *([] if revision is None else [revision]), "--raw", "-z", "--no-abbrev",
        "--no-renames", "--diff-filter=D", "--", f":(top,glob)**/{marker}",
    )  # fmt: skip
    return [change.path for change in _raw_changes(_fields(out), 0)]


def staged(repository: Repository, names: Sequence[str]) -> list[str]:
    """The entries of the index in force below ``names``, unmerged stages included.

    Each is a line ``mode oid stage\tpath`` with its path below ``top``.
    """
    return _lines(repository.run("ls-files", "-s", "-z", "--", *repository.pathspecs(names)))


def staged_content(repository: Repository, name: str) -> bytes | None:
    """The bytes of the file ``name`` (below the registry) in the index; None if it is not there.

    In a sparse checkout a file may be there, and not on disk.
    """
    for line in staged(repository, [name]):
        oid = line.split(" ")[1]
        if line.partition("\t")[2] == repository.prefix + name:
            return blobs(repository, [oid])[oid]
    return None


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


def kept_promises(
    repository: Repository, changes: Sequence[Change]
) -> tuple[list[Change], set[str]]:
    """``changes`` of the index as a commit would take them, and the paths that it would not.

    `git add -N` leaves an empty blob in the index: a promise that a commit does not keep.
    """
    suspects = [change.path for change in changes if change.new_oid in _EMPTY_BLOBS]
    broken = _promised(repository, suspects) if suspects else set()
    if not broken:
        return list(changes), broken
    nothing = "0" * len(changes[0].old_oid)
    kept = []
    for change in changes:
        if change.path not in broken:
            kept.append(change)
        elif change.was_there:
            kept.append(change._replace(new_oid=nothing, status="D", new_mode="000000"))
    return kept, broken


def _promised(repository: Repository, paths: Sequence[str]) -> set[str]:
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


def merging(repository: Repository) -> list[str]:
    """The commits that the merge in progress brings to HEAD; empty if there is none."""
    # git names them to pre-merge-commit before it writes them down.
    named = [name.removeprefix("GITHEAD_") for name in os.environ if name.startswith("GITHEAD_")]
    try:
        written = (repository.git_dir / "MERGE_HEAD").read_text("ascii").split()
    except FileNotFoundError:
        written = []
    commits = [commit_or_none(repository, name) for name in dict.fromkeys([*written, *named])]
    return [commit for commit in commits if commit is not None]


def resolve(repository: Repository, revision: str) -> str:
    """The commit that ``revision`` names; raises GitError if there is none."""
    try:
        out = repository.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
    except GitError:
        out = b""
    # For `^HEAD` git answers that it is to be left out.
    if not out or out.startswith(b"^"):
        raise GitError(f"no commit is called {revision!r}", fix="git log --oneline")
    return out.decode().strip()


def head(repository: Repository) -> str | None:
    """The commit that HEAD names, or None before the first commit."""
    try:
        return resolve(repository, "HEAD")
    except GitError:
        return None


def commit_or_none(repository: Repository, name: str) -> str | None:
    """The commit that ``name`` stands for (a tag is followed); None if it is none, or not here."""
    try:
        return resolve(repository, name)
    except GitError:
        return None


class Revision(NamedTuple):
    """A commit with its parents, as a walk lists them; ``made`` is when, s since 1970."""

    oid: str
    parents: tuple[str, ...]
    made: int


def new_commits(
    repository: Repository, tip: str, known: Sequence[str], others: Sequence[str] = ()
) -> list[Revision]:
    """The commits of ``tip`` that no commit of ``known`` reaches, parents first.

    ``others`` are more of what is left out, as options (`--remotes=origin`).
    """
    out = repository.run(
        "rev-list", "--topo-order", "--reverse", "--parents", "--timestamp", tip,
        "--not", *known, *others, "--",
    )  # fmt: skip
    lines = [line.split() for line in out.decode().splitlines()]
    return [Revision(oid, tuple(parents), int(made)) for made, oid, *parents in lines]


def touching(
    repository: Repository,
    tip: str,
    known: Sequence[str],
    others: Sequence[str],
    specs: Sequence[str],
) -> set[str]:
    """Those of `new_commits` that change a path of ``specs`` (pathspecs)."""
    out = repository.run(
        "rev-list", "--full-history", tip, "--not", *known, *others, "--", *specs
    )  # fmt: skip
    return set(out.decode().split())


def marked_in(
    repository: Repository, tip: str, known: Sequence[str], others: Sequence[str], marker: str
) -> set[str]:
    """Paths of the files called ``marker`` that `new_commits` add or remove."""
    out = repository.run(
        "log", "-m", "--format=", "--name-only", "-z", "--no-renames", "--diff-filter=AD",
        tip, "--not", *known, *others, "--", f":(top,glob)**/{marker}",
    )  # fmt: skip
    return {path for path in _lines(out) if path}


def tracked_remote(repository: Repository, name: str) -> bool:
    """Whether ``name`` is a remote of this repository, and no address."""
    return name in os.fsdecode(repository.run("remote")).split("\n")


def subject(repository: Repository, commit: str) -> str:
    """The first line of a commit's message."""
    out = repository.run("log", "-1", "--format=%s", "--end-of-options", commit)
    return out.decode("utf-8", "replace").strip()


def first_parent(repository: Repository, revision: str) -> str | None:
    """The first parent of ``revision``, or None for a root commit."""
    try:
        return resolve(repository, f"{resolve(repository, revision)}^1")
    except GitError:
        return None


def merge_base(repository: Repository, one: str, other: str) -> str | None:
    """The commit that both commits go on from; None if there is none, or none that is here."""
    try:
        out = repository.run("merge-base", "--end-of-options", one, other)
    except GitError:
        return None
    return out.decode().strip()


def main_line(repository: Repository) -> str | None:
    """The commit that work is measured against: HEAD's upstream, or else the main branch."""
    for name in _MAIN_LINES:
        try:
            return resolve(repository, name)
        except GitError:
            continue
    return None


_MAIN_LINES = ("@{upstream}", "origin/HEAD", "origin/main", "origin/master", "main", "master")


def is_cut(repository: Repository, commit: str) -> bool:
    """Whether ``commit`` has parents, and a shallow clone left them out."""
    if commit not in shallow_commits(repository):
        return False
    # A root commit that was fetched with a depth is among them, too.
    head, _, _ = repository.run("cat-file", "commit", commit).partition(b"\n\n")
    return b"\nparent " in head


def shallow_commits(repository: Repository) -> frozenset[str]:
    """Where a shallow clone ends; empty for a whole one."""
    where = os.fsdecode(repository.run("rev-parse", "--git-path", "shallow")).rstrip("\n")
    try:
        return frozenset((repository.top / where).read_text("ascii").split())
    except FileNotFoundError:
        return frozenset()


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
                    f"the object {oid} cannot be read: {words or 'it is missing'}",
                    # A partial clone asks its remote for contents when they are needed.
                    fix="git fetch" if "promisor" in words else "git fsck",
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


def stage_contents(repository: Repository, contents: Mapping[str, bytes]) -> None:
    """Stage bytes as files of the registry, whatever is on disk."""
    lines = b""
    for path, data in contents.items():
        oid = repository.run("hash-object", "-w", "--stdin", stdin=data).strip()
        lines += b"100644 %s\t%s\0" % (oid, os.fsencode(repository.prefix + path))
    if lines:
        repository.run("update-index", "-z", "--index-info", stdin=lines)


def stage_in_top(repository: Repository, paths: Iterable[str]) -> None:
    """`git add` exactly ``paths``, relative to the top of the repository, removed ones included."""
    data = b"".join(os.fsencode(path) + b"\0" for path in paths)
    repository.run("update-index", "--add", "--remove", "-z", "--stdin", stdin=data)


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


def committed(repository: Repository, commit: str) -> float:
    """When ``commit`` was made, s since 1970."""
    out = repository.run("show", "-s", "--format=%ct", "--end-of-options", commit, "--")
    return float(out.split()[0])


class Step(NamedTuple):
    """One commit of a walk; ``parents`` are the nearest commits that the walk knows, or its base's.

    ``made`` is when it was committed, s since 1970.
    """

    oid: str
    parents: tuple[str, ...]
    made: float
    subject: str


def walk(repository: Repository, base: str, head: str, names: Sequence[str]) -> list[Step]:
    """The commits from ``base`` (left out) to ``head`` that touch ``names``, parents first.

    Merges are among them, and commits of side branches whose content a merge did not take.
    Raises GitError if the history is cut within the range: nobody knows what came before.
    """
    out = repository.run(
        "log", "--topo-order", "--reverse", "--full-history", "--parents", "--no-show-signature",
        "--no-color", "--format=%H%x00%P%x00%ct%x00%s", f"^{base}", head,
        "--", *repository.pathspecs(names),
    )  # fmt: skip
    steps = []
    for line in os.fsdecode(out).split("\n"):
        if line:
            oid, parents, made, subject = line.split("\0", 3)
            steps.append(Step(oid, tuple(parents.split()), float(made), subject))
    if any(not step.parents for step in steps):
        shallow = repository.run("rev-parse", "--is-shallow-repository").strip()
        if shallow == b"true":
            raise GitError(
                "the history of this clone is cut within the range", fix="git fetch --unshallow"
            )
    return steps


def setting(repository: Repository, name: str, *where: str) -> str | None:
    """The value of a configuration variable (``where``: `--local` to ask one file), or None."""
    try:
        return os.fsdecode(repository.run("config", *where, "-z", "--get", name)).rstrip("\0")
    except GitError:
        return None


def configure(repository: Repository, name: str, value: str) -> None:
    """Set a configuration variable of this clone."""
    repository.run("config", "--local", "--replace-all", name, value)


def forget(repository: Repository, section: str) -> None:
    """Remove a section of this clone's configuration, if it is there."""
    with contextlib.suppress(GitError):
        repository.run("config", "--local", "--remove-section", section)


def blob_at(repository: Repository, commit: str, path: str) -> str | None:
    """The blob id of ``path`` (below the registry) in a commit, or None if it is not there."""
    out = repository.run("ls-tree", "-z", "--full-tree", commit, "--", f"{repository.prefix}{path}")
    meta = os.fsdecode(out).partition("\t")[0].split(" ")
    return meta[2] if len(meta) == 3 and meta[1] == "blob" else None


def blob_id(repository: Repository, data: bytes) -> str:
    """The id that git gives to ``data`` in this repository."""
    return repository.run("hash-object", "--stdin", stdin=data).decode().strip()


def parents(repository: Repository, commit: str) -> list[str]:
    """The parents of a commit."""
    out = repository.run("rev-list", "-1", "--parents", "--end-of-options", commit)
    return out.decode().split()[1:]


def sole_merge_base(repository: Repository, one: str, other: str) -> str | None:
    """The best common ancestor of two commits, or None if they have none, or several."""
    try:
        found = repository.run("merge-base", "--all", one, other).decode().split()
    except GitError:
        return None
    return found[0] if len(found) == 1 else None


def holding(repository: Repository, path: str, oid: str, limit: int) -> Iterator[str]:
    """Commits whose ``path`` (below the registry) is the blob ``oid``, newest first.

    Looked for in all that refs and reflogs reach.
    """
    out = repository.run(
        "log", "--all", "--reflog", f"-{limit}", "--format=%H %P", f"--find-object={oid}", "-m",
        "--no-renames", "--", *repository.pathspecs([path]),
    )  # fmt: skip
    seen: dict[str, None] = {}
    for line in out.decode().splitlines():
        # What took the page away has a parent that still had it.
        seen.update(dict.fromkeys(line.split()))
    for commit in seen:
        if blob_at(repository, commit, path) == oid:
            yield commit


def merge_texts(
    repository: Repository, base: bytes, ours: bytes, theirs: bytes, marker_size: int
) -> tuple[bytes, bool]:
    """What git makes of three texts, and whether conflicts are left in it."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="registry-tool-") as folder:
        files = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for file, data in zip(files, (ours, base, theirs), strict=True):
            file.write_bytes(data)
        process = repository.start(
            "merge-file", "-p", f"--marker-size={marker_size}", "-L", "ours", "-L", "base",
            "-L", "theirs", *map(str, files),
        )  # fmt: skip
        out, err = process.communicate()
    # The number of conflicts, up to 127; more is an error (it refuses what is binary).
    if not 0 <= process.returncode <= 127:
        raise GitError(err.decode("utf-8", "replace").strip() or "git merge-file failed")
    return out, process.returncode > 0
