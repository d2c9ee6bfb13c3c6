"""The baselines that were committed before, whatever became of them since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from registry_tool.records.baseline import PATH
from registry_tool.store.git import Repository


class Version(NamedTuple):
    """A commit that put a baseline there or changed it, and the id of what it put there."""

    commit: str
    oid: str


def versions(repository: Repository, revisions: Sequence[str]) -> list[Version]:
    """Every baseline that the history of ``revisions`` holds, newest first; raises GitError.

    A branch whose baseline a merge threw away counts too, which `git log PATH` would pass over.
    """
    if not revisions:
        return []
    paths = repository.pathspecs([PATH])
    out = repository.run("rev-list", "--full-history", "--topo-order", *revisions, "--", *paths)
    commits = out.decode().split()
    if not commits:
        return []
    names = "".join(f"{commit}:{repository.prefix}{PATH}\n" for commit in commits)
    out = repository.run("cat-file", "--batch-check", stdin=names.encode())
    # What a commit took away is "missing" in it.
    answers = [line.split() for line in out.splitlines()]
    return [
        Version(commit, answer[0].decode())
        for commit, answer in zip(commits, answers, strict=True)
        if len(answer) == 3 and answer[1] == b"blob"
    ]
