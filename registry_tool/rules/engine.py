"""The gate: what is wrong with one state of a registry.

Rows are judged again only if one of their files differs from what the last check saw; what is
registry-wide (paths, pages, the change from the base) is judged again as far as it was touched.
Nothing is decoded, and little is imported, when nothing changed.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from registry_tool.rules import standing
from registry_tool.rules import state as states
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
    prefix = snapshot.repository.prefix if snapshot.repository else ""
    known = states.load(cache, tool, prefix)
    now = judged(snapshot, known, cache, tool)
    if now is not known and snapshot.repository is not None:
        states.save(cache, now, prefix)
    debt = standing.held(now)
    findings = tuple(sorted(standing.of(now, debt, today or _today()), key=_order))
    seconds = time.perf_counter() - started
    return Report(findings, sum(now.records.values()), seconds, len(debt))


def judged(snapshot: Snapshot, known: State | None, cache: Cache, tool: str) -> State:
    """The state of ``snapshot``: ``known`` itself if nothing differs from it."""
    changes = states.digest_of(snapshot.changes)
    touched = None
    if known is not None:
        touched = snapshot.differing_from(known.anchor, known.deviations)
        same = touched == set() and (known.base, known.changes) == (snapshot.base, changes)
        if same and known.anchor == snapshot.anchor:
            return known
        if touched == set() and (same or not snapshot.changes):
            # The same files in another commit.
            return replace(
                known,
                anchor=snapshot.anchor,
                deviations=states.deviations_of(snapshot.deviations),
                base=snapshot.base,
                changes=changes,
                change=known.change if same else [],
            )
    # git reads while Python imports: both take about as long for a registry of a thousand rows.
    reader = threading.Thread(target=snapshot.hold, daemon=True)
    if touched is None and len(snapshot.lines) <= _FEW:
        reader.start()
    from registry_tool.rules.rejudge import rejudge

    return rejudge(snapshot, known, touched, changes, cache, tool, reader)


_FEW = 10_000
"""Files up to which everything is read into memory at once."""


def _order(finding: Finding) -> tuple[bool, str, int, str, str]:
    # A page lags behind because of a row: whoever mends from the top down starts at the row.
    about_a_page = finding.rule.startswith("KR3")
    return about_a_page, finding.path, finding.line, finding.rule, finding.message


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())
