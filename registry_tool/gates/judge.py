"""Judging registries by the rules where a hook stands; knows nothing of how that is printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from registry_tool.rules.engine import check
from registry_tool.rules.model import Report
from registry_tool.store import git, snapshot
from registry_tool.store.git import Repository, Revision

_ABOUT_EVIDENCE = "KR106"


class Judged(NamedTuple):
    """What was found in the registry that stands in ``prefix`` (empty, or with its slash)."""

    prefix: str
    report: Report


def index(registry: Repository, merging: Iterable[str] = ()) -> Judged:
    """The registry as the index in force holds it, compared with HEAD.

    ``merging`` are commits that a merge brings: it must leave alone the evidence of every side.
    """
    root = registry.top / registry.prefix
    report = check(snapshot.index_of(registry, root))
    sides = (snapshot.index_of(replace(registry, head=side), root) for side in merging)
    return Judged(registry.prefix, _with_evidence(report, map(check, sides)))


def is_changed(registry: Repository) -> bool:
    """Whether the index in force differs from HEAD within the registry."""
    return registry.head is None or bool(git.staged_changes(registry, snapshot.OWN))


def commit(registry: Repository, revision: Revision, today: str | None = None) -> Judged:
    """The registry in a commit, compared with its first parent, and as to evidence with the others.

    ``today`` (YYYY-MM-DD) decides which waivers hold.
    """
    root = registry.top / registry.prefix
    first, *others = revision.parents or (None,)
    report = check(snapshot.of_commit(root, registry, revision.oid, first), today)
    sides = (snapshot.of_commit(root, registry, revision.oid, parent) for parent in others)
    return Judged(registry.prefix, _with_evidence(report, map(check, sides)))


def _with_evidence(report: Report, others: Iterable[Report]) -> Report:
    """``report`` with what the ``others`` say about evidence."""
    found = dict.fromkeys(report.findings)
    for other in others:
        found.update(dict.fromkeys(f for f in other.findings if f.rule == _ABOUT_EVIDENCE))
    return report._replace(findings=tuple(found))
