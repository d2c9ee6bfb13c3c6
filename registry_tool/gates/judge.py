"""Judging registries by the rules where a hook stands; knows nothing of how that is printed."""

from __future__ import annotations

from typing import NamedTuple

from registry_tool.rules.engine import check
from registry_tool.rules.model import Finding, Report
from registry_tool.store import snapshot
from registry_tool.store.git import Repository, Revision

_ABOUT_EVIDENCE = "KR106"


class Judged(NamedTuple):
    """What was found in the registry that stands in ``prefix`` (empty, or with its slash)."""

    prefix: str
    report: Report


def index(registry: Repository) -> Judged:
    """The registry as the index in force holds it."""
    state = snapshot.index_of(registry, registry.top / registry.prefix)
    return Judged(registry.prefix, check(state))


def commit(registry: Repository, revision: Revision) -> Judged:
    """The registry in a commit, compared with its first parent.

    A merge must leave alone the evidence of every side: what it does to that of the others is
    looked at too.
    """
    root = registry.top / registry.prefix
    first, *others = revision.parents or (None,)
    report = check(snapshot.revision_of(registry, root, revision.oid, first))
    found: dict[Finding, None] = dict.fromkeys(report.findings)
    for parent in others:
        more = check(snapshot.revision_of(registry, root, revision.oid, parent))
        found.update(dict.fromkeys(f for f in more.findings if f.rule == _ABOUT_EVIDENCE))
    return Judged(registry.prefix, report._replace(findings=tuple(found)))
