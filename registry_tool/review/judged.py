"""What the gate says of a change: of its later state, by the base's measure, and of each commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from registry_tool.errors import GitError
from registry_tool.rules import engine
from registry_tool.rules.context import measure_of
from registry_tool.rules.finding import Finding
from registry_tool.rules.layout import kind_of
from registry_tool.rules.ranges import check_range
from registry_tool.store import git
from registry_tool.store.snapshot import OWN, Snapshot


class Judged(NamedTuple):
    """Findings, number of records, and why the commits in between were not judged (or None)."""

    findings: tuple[Finding, ...]
    records: int
    unjudged: str | None = None


def of(state: Snapshot, rows: AbstractSet[str]) -> Judged:
    """The findings about ``state`` and how it came from its base; ``rows`` are those that changed.

    A row that changed and only holds by pages or policy of the same change is found by those of
    the base; a commit in between that was refused is found even if a later one took it back.
    """
    report = engine.check(state)
    found = [*report.findings, *_by_base(state, report.findings, rows)]
    unjudged = None
    try:
        found += _commits(state, found)
    except GitError as error:
        unjudged = f"{error.message} (next: {error.fix})" if error.fix else error.message
    return Judged(tuple(found), report.records, unjudged)


def _by_base(
    state: Snapshot, findings: Sequence[Finding], rows: AbstractSet[str]
) -> Iterator[Finding]:
    if state.base is None or not any(
        kind_of(change.path) in ("policy", "spec") for change in state.changes
    ):
        return
    # Rules about changes tell most of it already; one reason to refuse a row is enough.
    refused = {one.record for one in findings if one.severity == "error"}
    for one in engine.check(state, by=measure_of(state.root, state.base)).findings:
        if one.severity == "error" and one.record in rows - refused:
            yield one._replace(message=f"by pages and policy as they were before: {one.message}")


def _commits(state: Snapshot, findings: Sequence[Finding]) -> Iterator[Finding]:
    """What commits before the last one brought in, and does not stand any more."""
    repository, base, head = state.repository, state.base, state.anchor
    if state.kind != "revision" or repository is None or base is None or head is None:
        return
    if len(git.walk(repository, base, head, OWN)) < 2:
        return
    standing = {(one.path, f"{one.rule} {one.message}") for one in findings}
    for one in check_range(state.root, f"{base}..{head}").findings:
        if not any(one.path == path and one.message.endswith(text) for path, text in standing):
            yield one
