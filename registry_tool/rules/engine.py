"""The gate: what is wrong with one state of a registry.

Rows are judged again only if one of their files differs from what the last check saw; what is
registry-wide (paths, pages, the change from the base) is judged again as far as it was touched.
Nothing is decoded, and little is imported, when nothing changed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from registry_tool.rules import state as states
from registry_tool.rules import waivers
from registry_tool.rules.model import Finding, Report
from registry_tool.rules.state import State
from registry_tool.store.cache import Cache

if TYPE_CHECKING:
    from registry_tool.store.snapshot import Snapshot


def check(snapshot: Snapshot, today: str | None = None) -> Report:
    """Every finding about ``snapshot``; ``today`` (YYYY-MM-DD) decides which waivers hold."""
    started = time.perf_counter()
    cache = Cache(snapshot.repository)
    tool = states.tool_signature()
    known = states.load(cache, tool)
    now = judged(snapshot, known, cache, tool)
    if now is not known:
        states.save(cache, now)
    findings = tuple(sorted(_standing(now, today or _today()), key=_order))
    return Report(findings, sum(now.records.values()), time.perf_counter() - started)


def judged(snapshot: Snapshot, known: State | None, cache: Cache, tool: str) -> State:
    """The state of ``snapshot``: ``known`` itself if nothing differs from it."""
    changes = states.digest_of(snapshot.changes)
    same = known is not None and known.lines == snapshot.lines
    if known is not None and same and (known.base, known.changes) == (snapshot.base, changes):
        return known
    from registry_tool.rules.rejudge import rejudge

    return rejudge(snapshot, known, changes, cache, tool)


def _standing(state: State, today: str) -> Iterable[Finding]:
    for name in sorted({*state.rows, *state.waivers}):
        findings = [Finding(*fields) for fields in state.rows.get(name, ())]
        held = [waivers.Standing(**fields) for fields in state.waivers.get(name, ())]
        yield from waivers.apply(findings, held, today)
    for group in (state.paths.values(), state.pages.values(), [state.change]):
        for some in group:
            for fields in some:
                yield Finding(*fields)


def _order(finding: Finding) -> tuple[str, int, str, str]:
    return finding.path, finding.line, finding.rule, finding.message


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())
