"""The part of an audit that judges each commit by today's rules: KR602, as `check --range` does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from registry_tool.history.audit.finding import Found
from registry_tool.history.audit.look import Range
from registry_tool.store import git, snapshot
from registry_tool.store.git import Repository
from registry_tool.store.git_history import Commit, commits

_TOLD_ALREADY = ("KR106", "KR601")
"""Rules about a change whose cases the audit finds itself, and tells of in its own words."""
_COMMIT = re.compile(r"commit ([0-9a-f]{12}) \(.*?\): (?=KR\d)", re.DOTALL)


def failing(root: Path, repository: Repository, wanted: Range) -> Iterator[Found]:
    """What each commit of the range brought in that today's rules refuse; raises GitError."""
    from registry_tool.rules.ranges import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        check_range,
    )

    listed = {commit.oid: commit for commit in commits(repository, wanted.tip)}
    base = wanted.base
    if base is None:
        # A range begins after a commit: the first one of all is judged by itself.
        first = next(oid for oid in reversed(listed) if not listed[oid].parents)
        yield from _first(root, listed[first])
        base = first
    report = check_range(
        root,
        f"{base}..{git.resolve(repository, wanted.tip)}",
        lambda rule: rule not in _TOLD_ALREADY,
    )
    by_name = {oid[:12]: commit for oid, commit in listed.items()}
    for finding in report.findings:
        match = _COMMIT.match(finding.message)
        if match is not None:
            message = finding.message[match.end() :]
            yield Found(
                "fails-rules", by_name[match[1]], finding.record, finding.path, message, finding.fix
            )


def _first(root: Path, commit: Commit) -> Iterator[Found]:
    from registry_tool.rules.engine import check

    made = datetime.fromisoformat(commit.date.replace("Z", "+00:00"))
    for finding in check(snapshot.of_revision(root, commit.oid), f"{made:%Y-%m-%d}").findings:
        if finding.severity == "error" and finding.rule not in _TOLD_ALREADY:
            yield Found(
                "fails-rules",
                commit,
                finding.record,
                finding.path,
                f"{finding.rule} {finding.message}",
                f"git show {commit.oid[:12]}; {finding.fix}",
            )
