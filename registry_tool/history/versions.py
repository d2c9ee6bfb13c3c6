"""Every version of every row, with the commit that made it; knows nothing of what changed in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from registry_tool.errors import GitError
from registry_tool.history.identity import Document, row_at, row_in
from registry_tool.store import git, git_partial
from registry_tool.store.git import Repository
from registry_tool.store.git_blobs import BlobReader
from registry_tool.store.git_history import Commit, Delta, as_committed, walk

Wanted = Callable[[str, str, str], bool]
"""Whether a row is asked for: target, kernel, key."""

_decode = msgspec.json.Decoder().decode


class Version(NamedTuple):
    """What one commit made of one row; None where there is no such row.

    ``old`` and ``new`` are the blobs, ``path`` where the record lies (or lay, if it is gone) below
    the registry's root; ``olds`` are the blobs of all parents of a merge.
    """

    commit: Commit
    row: str
    path: str
    place: str
    old: str | None
    new: str | None
    before: Document | None
    after: Document | None
    olds: tuple[str | None, ...] = ()


def versions(
    repository: Repository,
    wanted: Wanted | None = None,
    revision: str = "HEAD",
    without: Sequence[str] = (),
) -> Iterator[Version]:
    """What every commit did to every row that is ``wanted``, newest first; raises GitError.

    Commits that reach one of ``without`` are left out.
    """
    repository = as_committed(repository)
    if git.head(repository) is None and revision == "HEAD":
        return
    commits = walk(repository, ["records"], revision, without)
    chosen = commits if wanted is None else _chosen(repository, commits, wanted)
    remote = git_partial.promisor(repository)
    if remote is not None:
        listed = list(chosen)
        oids = [oid for commit in listed for oid in _blobs(commit)]
        git_partial.fetch_missing(repository, remote, oids, git.resolve(repository, revision))
        chosen = iter(listed)
    waiting: deque[tuple[Commit, list[str]]] = deque()
    with BlobReader(repository, document) as reader:
        found = reader.found
        for commit in chosen:
            oids = _blobs(commit)
            reader.ask(oids)
            waiting.append((commit, oids))
            while waiting and all(oid in found for oid in waiting[0][1]):
                yield from _versions(waiting.popleft()[0], found, wanted)
        reader.finish()
        for commit, oids in waiting:
            missing = [oid for oid in oids if oid not in found]
            if missing:
                raise GitError(f"the object {missing[0]} cannot be read", fix="git fsck")
            yield from _versions(commit, found, wanted)


def document(data: bytes) -> Document:
    """A record's JSON; what cannot be read is a document that says so."""
    try:
        found = _decode(data)
    except msgspec.DecodeError as error:
        return {"unreadable": str(error)}
    except RecursionError:
        return {"unreadable": "it is nested too deeply"}
    if not isinstance(found, dict):
        return {"unreadable": "not a JSON object"}
    # Counting is cheap, and hardly a record has so many.
    if data.count(b"{") + data.count(b"[") > _NESTED and _is_deep(found):
        return {"unreadable": "it is nested too deeply"}
    return found


_NESTED = 100
_DEEPEST = 30


def _is_deep(document: Document) -> bool:
    """Whether something lies deeper in ``document`` than any field of a record does."""
    level: list[object] = [document]
    for _ in range(_DEEPEST):
        level = [
            below
            for one in level
            if isinstance(one, dict | list)
            for below in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)


def _blobs(commit: Commit) -> list[str]:
    return [oid for delta in commit.deltas for oid in (delta.old, delta.new) if oid is not None]


def _is_wanted(wanted: Wanted, row: str) -> bool:
    target, kernel, key = row.split("/", 2)
    return wanted(target, kernel, key)


def _chosen(repository: Repository, commits: Iterator[Commit], wanted: Wanted) -> Iterator[Commit]:
    """Commits with the changes of rows that are wanted alone, followed to where they lay before."""
    others: set[str] = set()

    def is_chosen(delta: Delta) -> bool:
        row = row_at(delta.path)
        return row is not None and (delta.path in others or _is_wanted(wanted, row))

    for commit in commits:
        mine = [delta for delta in commit.deltas if is_chosen(delta)]
        if any(delta.old is None for delta in mine):
            gone = {
                delta.path: delta.old
                for delta in commit.deltas
                if delta.new is None and delta.old is not None and not is_chosen(delta)
            }
            blobs = git.blobs(repository, gone.values()) if gone else {}
            for path, oid in gone.items():
                path_row = row_at(path)
                if path_row and _is_wanted(wanted, row_in(document(blobs[oid]), path_row)):
                    others.add(path)
            mine = [delta for delta in commit.deltas if is_chosen(delta)]
        if mine:
            yield commit._replace(deltas=tuple(mine))


def _versions(
    commit: Commit, documents: Mapping[str, Document], wanted: Wanted | None
) -> Iterator[Version]:
    went: dict[str, tuple[Delta, Document]] = {}
    came: dict[str, tuple[Delta, Document]] = {}
    for delta in commit.deltas:
        path_row = row_at(delta.path)
        if path_row is None:
            continue
        old, new = delta.old, delta.new
        if old is not None and new is not None:
            before, after = documents[old], documents[new]
            row = row_in(after, path_row)
            # A version that cannot be read stays with the row that its path names.
            if row_in(before, path_row) == row or "unreadable" in before:
                if wanted is None or _is_wanted(wanted, row):
                    yield Version(
                        commit, row, delta.path, delta.place, old, new, before, after, delta.olds
                    )
                continue
        if old is not None:
            went[row_in(documents[old], path_row)] = delta, documents[old]
        if new is not None:
            came[row_in(documents[new], path_row)] = delta, documents[new]
    for row in sorted({*went, *came}):
        if wanted is not None and not _is_wanted(wanted, row):
            continue
        source, before_doc = went.get(row, (None, None))
        target, after_doc = came.get(row, (None, None))
        delta_at = target or source
        assert delta_at is not None
        old = source.old if source else None
        new = target.new if target else None
        if old != new:
            yield Version(
                commit,
                row,
                delta_at.path,
                delta_at.place,
                old,
                new,
                before_doc,
                after_doc,
                delta_at.olds,
            )
