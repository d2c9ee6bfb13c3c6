"""Where a registry's folder stood in each commit: `git mv` of the whole is followed backward.

A move is a commit that takes registry.yaml away in one folder and puts it into another, with the
same policy or with rows of the same names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from registry_tool.errors import GitError
from registry_tool.store import git
from registry_tool.store.git import Repository
from registry_tool.store.root import POLICY

Trees = tuple[str, ...]
"""The tree of each folder, that of nothing where it is not there."""


@dataclass(frozen=True)
class Places:
    """Where the folders ``names`` stood in each commit, and which trees they were."""

    names: Sequence[str]
    nothing: Trees
    _stood: Mapping[str, str | None]
    _trees: Mapping[str, Mapping[str, Trees]]

    def of(self, commit: str) -> str | None:
        """The registry's folder in ``commit``, below ``top``, empty or with a slash.

        None before it began, though another one may have stood there.
        """
        return self._stood[commit]

    def trees(self, commit: str) -> Trees:
        """The trees of ``names`` in ``commit``."""
        place = self._stood[commit]
        return self.nothing if place is None else self._trees[place][commit]


def locate(
    repository: Repository,
    start: tuple[str, str],
    family: Mapping[str, Sequence[str]],
    names: Sequence[str],
) -> Places:
    """Where the registry stood before ``start``: a commit, and its folder there.

    ``family`` is every commit with its parents, each before its parents; those that are not in it
    themselves are located too.
    """
    everybody = list(dict.fromkeys([*family, *(one for each in family.values() for one in each)]))
    nothing = (git.empty_tree(repository),) * len(names)
    tip, first = start
    trees = {first: _trees(repository, everybody, first, names, nothing)}
    stood: dict[str, str | None] = {tip: first}
    for child, parents in family.items():
        place = stood.setdefault(child, first)
        for parent in parents:
            if parent in stood:
                continue
            stood[parent] = place
            if place is None:
                continue
            here = trees[place]
            if here[parent] == nothing and here[child] != nothing:
                before = _moved_from(repository, parent, child, place)
                if before is not None:
                    stood[parent] = before
                    if before not in trees:
                        trees[before] = _trees(repository, everybody, before, names, nothing)
            elif (
                here[parent] != nothing
                and here[child] == nothing
                # One that was deleted and came back is the same; one that moved away is not.
                and _moved_from(repository, child, parent, place) is not None
            ):
                stood[parent] = None
    return Places(names, nothing, stood, trees)


def _trees(
    repository: Repository,
    commits: Sequence[str],
    place: str,
    names: Sequence[str],
    nothing: Trees,
) -> dict[str, Trees]:
    out = ask(repository, [f"{commit}:{place}{name}" for commit in commits for name in names])
    found = [
        line[: line.index(" ")] if " tree " in line else nothing[0]
        for line in out.decode("utf-8", "replace").split("\n")
    ]
    size = len(names)
    return {commit: tuple(found[at * size : at * size + size]) for at, commit in enumerate(commits)}


def ask(repository: Repository, names: Sequence[str]) -> bytes:
    """What git says of each of ``names`` (``commit:path``), a line each; raises GitError."""
    odd = next((name for name in names if "\n" in name), None)
    if odd is not None:
        # The names are handed over in lines.
        raise GitError("history cannot be read of a folder whose name has a line break", path=odd)
    asked = "".join(f"{name}\n" for name in names)
    return repository.run(
        "cat-file", "--batch-check", stdin=asked.encode("utf-8", "surrogateescape")
    )


def _moved_from(repository: Repository, parent: str, child: str, place: str) -> str | None:
    out = repository.run(
        "diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", parent, child
    )
    fields = out.decode("utf-8", "surrogateescape").split("\0")
    gone: dict[str, str] = {}
    new: dict[str, str] = {}
    for meta, path in zip(fields[::2], fields[1::2], strict=False):
        _, _, old_oid, new_oid, status = meta.split(" ")
        if status == "D":
            gone[path] = old_oid
        elif path.startswith(place):
            new[path.removeprefix(place)] = new_oid
    rows = {path for path in new if path.startswith("records/")}
    best, best_rank = None, (0, False)
    for path in gone:
        folder, _, name = path.rpartition("/")
        before = f"{folder}/" if folder else ""
        if name == POLICY and before != place:
            rank = (sum(before + row in gone for row in rows), gone[path] == new.get(POLICY))
            if rank > best_rank:
                best, best_rank = before, rank
    return best
