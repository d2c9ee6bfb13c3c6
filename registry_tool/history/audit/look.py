"""The audit of a range: every kind of finding, each commit's own, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from registry_tool.history.audit import evidence, rows
from registry_tool.history.audit.finding import Found
from registry_tool.history.versions import versions
from registry_tool.store import git, git_limits
from registry_tool.store.git import Repository
from registry_tool.store.git_history import as_committed, commits, place_of, walk


class Range(NamedTuple):
    """The commits that reach ``tip`` and not ``base`` (None: all that reach ``tip``)."""

    base: str | None
    tip: str


class Audit(NamedTuple):
    """What was found in how many commits; ``order`` is the place of each, from the newest."""

    found: Sequence[Found]
    commits: int
    order: Mapping[str, int]

    def with_more(self, more: Iterable[Found]) -> Audit:
        """The audit with further findings in their places."""
        return self._replace(
            found=sorted(
                (*self.found, *more),
                key=lambda one: (self.order[one.commit.oid], one.kind, one.path, one.message),
            )
        )


def audit(repository: Repository, wanted: Range) -> Audit:
    """What history shows, rules aside; raises GitError.

    All that went before the range is read too: it tells what was committed first.
    """
    repository = as_committed(repository)
    everything = commits(repository, wanted.tip)
    inside = git_limits.commits_of(repository, wanted.tip, wanted.base)
    seen = list(versions(repository, None, wanted.tip))
    verdicts = list(walk(repository, ["verdicts"], wanted.tip))
    files = evidence.touches(verdicts)
    place = place_of(repository, wanted.tip)
    lines = git.tree(repository.at(place), git.resolve(repository, wanted.tip), ["verdicts"])
    there = {line.split("\t", 1)[1][len(place) :] for line in lines}
    found = [
        *_inside(rows.edited(repository, seen), inside),
        *_inside(rows.prolonged(seen), inside),
        *evidence.touched(repository, verdicts, files, inside),
        *_inside(evidence.lost(repository, everything, files, there), inside),
        *_inside(evidence.uncommitted(repository, seen, files), inside),
    ]
    order = {commit.oid: at for at, commit in enumerate(everything)}
    return Audit([], len(inside), order).with_more(found)


def _inside(found: Iterator[Found], inside: set[str]) -> Iterator[Found]:
    return (one for one in found if one.commit.oid in inside)
