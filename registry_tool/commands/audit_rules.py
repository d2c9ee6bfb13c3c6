"""The part of an audit that judges each commit by today's rules: KR602, as `check --range` does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from registry_tool.history.audit.finding import Found
from registry_tool.history.audit.look import Range
from registry_tool.rules.finding import Finding
from registry_tool.store import git, snapshot
from registry_tool.store.git import Repository
from registry_tool.store.git_history import Commit, commits, place_of
from registry_tool.store.root import POLICY

_TOLD_ALREADY = ("KR106", "KR601")
"""Rules about a change whose cases the audit finds itself, and tells of in its own words."""


def failing(root: Path, repository: Repository, wanted: Range) -> Iterator[Found]:
    """What each commit of the range brought in that today's rules refuse; raises GitError."""
    from registry_tool.rules import ranges

    listed = {commit.oid: commit for commit in commits(repository, wanted.tip)}
    base = wanted.base
    if base is None:
        # A range begins after a commit: the first one of all is judged by itself.
        first = next(oid for oid in reversed(listed) if not listed[oid].parents)
        yield from _first(root, repository, listed[first])
        base = first
    tip = git.resolve(repository, wanted.tip)
    for step, findings in ranges.failing(root, repository, base, tip, _is_wanted):
        for finding in findings:
            yield _found(listed[step.oid], finding)


def _is_wanted(rule: str) -> bool:
    return rule not in _TOLD_ALREADY


def _found(commit: Commit, finding: Finding) -> Found:
    return Found(
        "fails-rules",
        commit,
        finding.record,
        finding.path,
        f"{finding.rule} {finding.message}",
        f"git show {commit.oid[:12]}; {finding.fix}",
    )


def _first(root: Path, repository: Repository, commit: Commit) -> Iterator[Found]:
    from registry_tool.rules.engine import check

    made = datetime.fromisoformat(commit.date.replace("Z", "+00:00"))
    here = repository.at(place_of(repository, commit.oid))
    state = snapshot.of_commit(root, here, commit.oid, None)
    if not {POLICY, "records", "verdicts"} & {path.split("/")[0] for path in state.oids}:
        return  # the registry began later
    for finding in check(state, f"{made:%Y-%m-%d}").findings:
        if finding.severity == "error" and _is_wanted(finding.rule):
            yield _found(commit, finding)
