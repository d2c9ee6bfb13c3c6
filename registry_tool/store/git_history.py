"""What every commit did to some folders of a registry, streamed from git, wherever they stood.

Trees of the registry's folders are compared, a commit's with those of its parents: `git log` with
paths reads them twice, and a registry that only moved has the same trees. History is read as it
was committed: replace refs and grafts, which could show another one, are not heeded.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from subprocess import Popen
from typing import IO, NamedTuple

from registry_tool.errors import GitError
from registry_tool.store import git, git_places
from registry_tool.store.git import Repository
from registry_tool.store.root import POLICY

_CHUNK = 1 << 18
_GITLINK = b"160000"
_FORMAT = "--format=%H%x00%cI%x00%an%x00%ae%x00%P"


class Delta(NamedTuple):
    """One path (below the registry) that a commit changed: blob ids, None where it is not there.

    A merge shows only what differs from all of its parents: ``olds`` are theirs, ``old`` that of
    the first which has one. ``place`` is the registry's folder below ``top`` at the time, empty or
    with a slash at its end.
    """

    path: str
    old: str | None
    new: str | None
    place: str
    olds: tuple[str | None, ...]


class Commit(NamedTuple):
    """One commit with what it changed; ``date`` is when it was committed (ISO 8601)."""

    oid: str
    date: str
    author: str
    email: str
    parents: tuple[str, ...]
    deltas: tuple[Delta, ...]


def as_committed(repository: Repository) -> Repository:
    """The repository without replace refs and grafts."""
    environment = {
        **repository.environment,
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
    }
    return replace(repository, environment=environment)


def commits(
    repository: Repository, revision: str = "HEAD", without: Sequence[str] = ()
) -> list[Commit]:
    """The commits that reach ``revision`` and none of ``without``, each before its parents.

    They come without deltas. Raises GitError.
    """
    tip = git.resolve(repository, revision)
    limits = [f"^{git.resolve(repository, one)}" for one in without]
    out = repository.run(
        "log", "--date-order", "-z", "--encoding=UTF-8", "--no-mailmap", "--no-notes",
        "--no-show-signature", "--no-decorate", "--no-patch", _FORMAT, tip, *limits, "--",
    )  # fmt: skip
    fields = out.decode("utf-8", "replace").split("\0")
    return [
        Commit(oid, date, author, email, tuple(parents.split()), ())
        for oid, date, author, email, parents in zip(*[iter(fields)] * 5, strict=False)
    ]


def walk(
    repository: Repository,
    names: Sequence[str],
    revision: str = "HEAD",
    without: Sequence[str] = (),
) -> Iterator[Commit]:
    """Every commit of `commits` that changed something in the folders ``names``.

    ``names`` begins with the folder of which a registry is known. A row that only moved along with
    its registry is no change. Raises GitError.
    """
    listed = commits(repository, revision, without)
    if not listed:
        return
    family = {commit.oid: commit.parents for commit in listed}
    tip = git.resolve(repository, revision)
    start = place_of(repository, tip)
    places = git_places.locate(repository, (tip, start), family, names)
    # Which trees each commit has to be compared with: per folder, per parent.
    work = [(commit, sides) for commit in listed if (sides := _sides(places, commit))]
    pairs = [pair for _, sides in work for folder in sides for pair in folder]
    if not pairs:
        return
    process = repository.start("diff-tree", "--stdin", "-r", "--raw", "-z", stdin=True)
    assert process.stdin is not None
    assert process.stdout is not None
    feeder = threading.Thread(target=_feed, args=(process.stdin, pairs), daemon=True)
    feeder.start()
    try:
        changes = _changes(process.stdout)
        for commit, sides in work:
            yield commit._replace(deltas=tuple(_deltas(places, commit, sides, changes)))
    except StopIteration:
        raise GitError(_words(process) or "git diff-tree broke off", fix="git fsck") from None
    finally:
        process.kill()
        feeder.join()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


def _words(process: Popen[bytes]) -> str:
    assert process.stderr is not None
    return process.stderr.read().decode("utf-8", "replace").strip()


def place_of(repository: Repository, revision: str) -> str:
    """The registry's folder in ``revision``: that of today, unless it stood elsewhere then."""
    tip, today = git.resolve(repository, revision), repository.head
    if today is None or tip == today or holding(repository, [tip], f"{repository.prefix}{POLICY}"):
        return repository.prefix
    family = {commit.oid: commit.parents for commit in commits(repository, today)}
    if tip not in family:
        return repository.prefix
    places = git_places.locate(repository, (today, repository.prefix), family, ["records"])
    place = places.of(tip)
    return repository.prefix if place is None else place


Pair = tuple[str, str]
Sides = list[list[Pair]]


def _sides(places: git_places.Places, commit: Commit) -> Sides:
    """The trees to compare, for each folder: (the parent's, its own) of every parent.

    A folder that is as in one of the parents has none.
    """
    mine = places.trees(commit.oid)
    if len(commit.parents) == 1:
        before = places.trees(commit.parents[0])
        if mine == before:
            return []
        return [[(old, new)] if old != new else [] for old, new in zip(before, mine, strict=True)]
    parents = [places.trees(parent) for parent in commit.parents] or [places.nothing]
    sides = [
        [] if new in olds else [(old, new) for old in olds]
        for new, *olds in zip(mine, *parents, strict=True)
    ]
    return sides if any(sides) else []


def _feed(pipe: IO[bytes], pairs: Iterable[Pair]) -> None:
    # git may be ended early, when the reader has seen enough.
    with contextlib.suppress(BrokenPipeError, ValueError):
        pipe.write("".join(f"{old} {new}\n" for old, new in pairs).encode())
    with contextlib.suppress(BrokenPipeError):
        pipe.close()


class _Change(NamedTuple):
    path: str
    old: str | None
    new: str | None


def _fields(pipe: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while chunk := os.read(pipe.fileno(), _CHUNK):
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
    if rest:
        yield rest


def _changes(pipe: IO[bytes]) -> Iterator[list[_Change]]:
    """The changes between each pair of trees, in the order that they were asked for."""
    found: list[_Change] | None = None
    fields = _fields(pipe)
    for field in fields:
        meta = field
        # A line with the two trees stands before their changes.
        while meta and not meta.startswith(b":"):
            if found is not None:
                yield found
            found = []
            meta = meta.partition(b"\n")[2]
        if meta and found is not None:
            old_mode, new_mode, old, new, _ = meta.split(b" ")
            found.append(
                _Change(
                    next(fields).decode("utf-8", "replace"),
                    _blob(old_mode[1:], old),
                    _blob(new_mode, new),
                )
            )
    if found is not None:
        yield found


def _blob(mode: bytes, oid: bytes) -> str | None:
    return None if mode in (b"000000", _GITLINK) else oid.decode()


def _deltas(
    places: git_places.Places, commit: Commit, sides: Sides, changes: Iterator[list[_Change]]
) -> Iterator[Delta]:
    place = places.of(commit.oid) or ""
    for name, folder in zip(places.names, sides, strict=True):
        if len(folder) == 1:
            for path, old, new in next(changes):
                yield Delta(f"{name}/{path}", old, new, place, (old,))
        elif folder:
            per_parent = [{one.path: one for one in next(changes)} for _ in folder]
            for path, one in per_parent[0].items():
                if all(path in others for others in per_parent):
                    olds = tuple([others[path].old for others in per_parent])
                    old = next(filter(None, olds), None)
                    yield Delta(f"{name}/{path}", old, one.new, place, olds)


def holding(repository: Repository, revisions: Sequence[str], path: str) -> set[str]:
    """Those of ``revisions`` that have a file at ``path`` (below ``top``)."""
    if not revisions:
        return set()
    answers = git_places.ask(repository, [f"{one}:{path}" for one in revisions]).split(b"\n")
    return {one for one, answer in zip(revisions, answers, strict=False) if b" blob " in answer}
