"""Which registries a state of a repository holds: git is asked, since a folder on disk may lie.

In a sparse checkout a registry is not on disk; in a commit that removes registry.yaml, the rows
that it leaves behind are nobody's but must not slip through; a bare repository has no disk at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from registry_tool.errors import UsageError
from registry_tool.store import git
from registry_tool.store.git import Repository
from registry_tool.store.root import POLICY

_ROWS = ("records", "verdicts", "models", "kernels", "baseline.json")
"""What stays behind of a registry whose policy is gone."""


class Staged(NamedTuple):
    """The registries of the index, and those of HEAD that a commit would remove altogether."""

    registries: list[Repository]
    removed: list[Repository]


def in_index(repository: Repository) -> Staged:
    """The registries that the index in force holds, or has orphaned the rows of."""
    paths, changes = git.registries_staged(repository, POLICY)
    found = _seen_from(repository, paths)
    removed = []
    # The very policy elsewhere: the registry was moved, not removed.
    arrived = {change.new_oid for change in changes if not change.was_there}
    for change in changes:
        if change.is_there:
            continue
        (registry,) = _seen_from(repository, [change.path])
        if git.staged(registry, _ROWS):
            found.append(registry)
        elif change.old_oid not in arrived:
            removed.append(registry)
    return Staged(found, removed)


def in_revision(repository: Repository, revision: str) -> list[Repository]:
    """The registries that a commit holds."""
    return _seen_from(repository, git.registries_at(repository, revision, POLICY))


def among(candidates: Iterable[Repository], revision: str, parent: str | None) -> list[Repository]:
    """Those of ``candidates`` that ``revision`` holds, or has orphaned the rows of."""
    known = {registry.prefix + POLICY: registry for registry in candidates}
    if not known:
        return []
    repository = next(iter(known.values()))
    here = git.present(repository, revision, list(known))
    found = [known[path] for path in known if path in here]
    if parent is not None and len(here) < len(known):
        for path in git.present(repository, parent, list(known.keys() - here)):
            if git.tree(known[path], revision, _ROWS):
                found.append(known[path])
    return found


def named(folder: str | None, revision: str | None) -> Repository:
    """The registry in ``folder`` (default: the nearest from here upward, else the only one).

    Looked for in ``revision``, or in the index if that is None. Raises UsageError if there is none.
    """
    here = Path.cwd() if folder is None else Path(folder)
    repository = git.open_any(here)
    if repository is None:
        raise UsageError("not in a git repository", path=here, fix="git init")
    found = _looked_for(repository, revision)
    is_bare = repository.top == repository.git_dir
    start = here.absolute() if not is_bare else repository.top / (folder or "")
    inside = os.path.relpath(start.resolve() if not is_bare else start, repository.top)
    prefixes = [f"{way}/" if way != "." else "" for way in _upward(inside, folder is None)]
    for prefix in prefixes:
        for registry in found:
            if registry.prefix == prefix:
                return registry
    if folder is None and len(found) == 1:
        return found[0]
    where = "the index" if revision is None else revision
    others = ", ".join(registry.prefix or "./" for registry in found)
    raise UsageError(
        f"no {POLICY} in {folder or here} of {where}"
        + (f"; registries are in {others}" if found else ""),
        fix=f"--registry {found[0].prefix or '.'}" if found else "registry-tool init",
    )


def around(repository: Repository, path: str) -> Repository | None:
    """The registry of HEAD that a file below the top is in, if any."""
    folders = [parent.as_posix() for parent in Path(path).parents]
    prefixes = [f"{folder}/" if folder != "." else "" for folder in folders]
    head = repository.head
    here = git.present(repository, head, [prefix + POLICY for prefix in prefixes]) if head else ()
    return next((repository.at(prefix) for prefix in prefixes if prefix + POLICY in here), None)


def _looked_for(repository: Repository, revision: str | None) -> Sequence[Repository]:
    if revision is None:
        return in_index(repository).registries
    return in_revision(repository, git.resolve(repository, revision))


def _upward(inside: str, is_open: bool) -> list[str]:
    path = Path(inside)
    return [one.as_posix() for one in ([path, *path.parents] if is_open else [path])]


def _seen_from(repository: Repository, paths: Iterable[str]) -> list[Repository]:
    return [repository.at(path.removesuffix(POLICY)) for path in paths]
