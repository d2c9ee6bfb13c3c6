"""Which commits the three versions of a page come from, and the registry that they make together.

git hands a merge driver three texts and no commit, and says in no operation but `git merge` what
is merged. But a page shows its rows: a commit that has this very page tells which rows those are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from registry_tool.errors import GitError, ToolError
from registry_tool.merging.files import merged
from registry_tool.merging.rows import ConflictError
from registry_tool.records.keys import RowId, parse_record_path
from registry_tool.records.record import Record
from registry_tool.store import git, registry, snapshot
from registry_tool.store.git import Repository
from registry_tool.store.registry import Registry
from registry_tool.store.snapshot import OWN

_SEARCHED = 20
"""Commits with the wanted page that are looked at."""


class UnknownError(Exception):
    """The rows of the merge cannot be told; the message says why."""


@dataclass(frozen=True)
class Sides:
    """The commits of the three versions; ``base`` is None where they have nothing in common."""

    base: str | None
    ours: str
    theirs: str


def find(repository: Repository, path: str, base: str | None, ours: str, theirs: str) -> Sides:
    """The commits whose ``path`` (below the registry) has these blob ids; base None: not there.

    Raises UnknownError if no commit that is here has one of them.
    """
    mine = _first(repository, path, ours, ["HEAD"])
    merging = [name.removeprefix("GITHEAD_") for name in os.environ if name.startswith("GITHEAD_")]
    other = _first(repository, path, theirs, merging)
    if any(_same(repository, other, oid) for oid in merging):
        common = git.merge_base(repository, mine, other)
        if common is None or git.blob_at(repository, common, path) == base:
            return Sides(common, mine, other)
        raise UnknownError("the sides have more than one common version")
    # Picked: the base is its parent. Reverted: it is the base's parent.
    for commit in git.parents(repository, other):
        if git.blob_at(repository, commit, path) == base:
            return Sides(commit, mine, other)
    if base is None:
        raise UnknownError("nobody can tell what it was before both sides made it")
    for commit in git.holding(repository, path, base, _SEARCHED):
        if other in git.parents(repository, commit):
            return Sides(commit, mine, other)
    return Sides(_first(repository, path, base, []), mine, other)


def _first(repository: Repository, path: str, oid: str, candidates: Iterable[str]) -> str:
    for name in candidates:
        commit = git.commit_or_none(repository, name)
        if commit is not None and git.blob_at(repository, commit, path) == oid:
            return commit
    for commit in git.holding(repository, path, oid, _SEARCHED):
        return commit
    raise UnknownError("no commit that is here has one side of it")


def _same(repository: Repository, commit: str, name: str) -> bool:
    return git.commit_or_none(repository, name) == commit


def together(repository: Repository, sides: Sides) -> tuple[Registry, Mapping[RowId, Record]]:
    """Policy, pages and rows of the merge; raises UnknownError where it has conflicts."""
    trees = [_entries(repository, commit) for commit in (sides.base, sides.ours, sides.theirs)]
    lines, twice = [], []
    for path in sorted({path for tree in trees for path in tree}):
        before, mine, other = (tree.get(path) for tree in trees)
        if mine == other or other == before:
            chosen = mine
        elif mine == before:
            chosen = other
        elif parse_record_path(path) is not None and mine and other:
            twice.append((path, before, mine, other))
            continue
        elif path.startswith(("registry.yaml", "kernels/", "layouts/", "records/")):
            raise UnknownError(f"both sides changed {path}")
        else:
            chosen = mine
        if chosen is not None:
            lines.append(chosen)
    root = repository.top / repository.prefix
    state = snapshot.revision_of(repository, root, sides.ours, None).narrowed(lines)
    try:
        found = registry.load(state)
        records = {**found.records, **dict(_twice(repository, twice))}
    except ToolError as error:
        raise UnknownError(error.message) from None
    return found, records


_Twice = tuple[str, "str | None", str, str]


def _twice(repository: Repository, paths: Iterable[_Twice]) -> Iterator[tuple[RowId, Record]]:
    """The rows that both sides changed, merged."""
    for path, *entries in paths:
        oids = [entry.split(" ")[1] for entry in entries if entry is not None]
        contents = git.blobs(repository, oids)
        *base, ours, theirs = [contents[oid] for oid in oids]
        try:
            data = merged(Record, base[0] if base else None, ours, theirs)
        except ConflictError as error:
            raise UnknownError(f"{path}: {error}") from None
        row = parse_record_path(path)
        assert row is not None
        yield row, registry.decode(data, Record, path)


def _entries(repository: Repository, commit: str | None) -> dict[str, str]:
    if commit is None:
        return {}
    try:
        lines = git.tree(repository, commit, OWN)
    except GitError as error:
        raise UnknownError(error.message) from None
    return {repository.inner(line.partition("\t")[2]): line for line in lines}
