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
from registry_tool.rules.finding import Finding
from registry_tool.rules.model import Report
from registry_tool.rules.state import State
from registry_tool.store.cache import Cache

if TYPE_CHECKING:
    from registry_tool.store.snapshot import Snapshot


def check(snapshot: Snapshot, today: str | None = None, by: Snapshot | None = None) -> Report:
    """Every finding about ``snapshot``; ``today`` (YYYY-MM-DD) decides which waivers hold.

    Rows are measured by the policy and pages of ``by`` (see `context.measure_of`), if given: those
    of the base of a change, which the change cannot have loosened.
    """
    started = time.perf_counter()
    cache = Cache(snapshot.repository)
    prefix = snapshot.repository.prefix if snapshot.repository else ""
    tool, name = states.tool_signature(), states.name_of(prefix)
    if by is not None:
        tool, name = states.measured_by(tool, by), states.name_of(prefix, states.NAME_BY)
    known = states.load(cache, tool, name)
    now = judged(snapshot, known, cache, tool, by)
    if now is not known and snapshot.repository is not None:
        states.save(cache, now, name)
    debt = standing.held(now)
    stale = _stale(snapshot, now)
    findings = tuple(sorted(standing.of(now, debt, today or _today(), stale), key=_order))
    seconds = time.perf_counter() - started
    return Report(findings, sum(now.records.values()), seconds, len(debt))


def _stale(snapshot: Snapshot, state: State) -> dict[str, list[Finding]]:
    """The findings of KR131: about all rows at once, and never remembered, as code moves on."""
    if not state.levels:
        return {}
    # Imported here: few registries ask for it.
    from registry_tool.rules import moved

    return moved.findings(snapshot) if moved.is_asked_for(state.levels) else {}


def judged(
    snapshot: Snapshot, known: State | None, cache: Cache, tool: str, by: Snapshot | None = None
) -> State:
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

    return rejudge(snapshot, known, touched, changes, cache, tool, reader, by)


_FEW = 10_000
"""Files up to which everything is read into memory at once."""


def _order(finding: Finding) -> tuple[int, str, int, str, str]:
    return _rank(finding.rule), finding.path, finding.line, finding.rule, finding.message


def _rank(rule: str) -> int:
    """Causes before what follows of them, for whoever mends from the top down.

    A row disagrees because evidence or measure was changed, a page lags behind because of a row,
    and a lookup answers otherwise because of a page.
    """
    if rule in ("KR106", "KR110"):
        return 0
    if rule.startswith("KR3"):
        return 2
    return 3 if rule == "KR402" else 1


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())
