"""Which of the findings of a state stand today: not what is waived, nor what is owed.

Nothing that takes long is imported where the baseline holds every imported row, or none is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from registry_tool.rules import counting, waivers
from registry_tool.rules.finding import Finding
from registry_tool.rules.state import State


def held(state: State) -> frozenset[str]:
    """The imported rows that the baseline holds, unchanged.

    If it cannot be read, that is the finding: all of them count as held.
    """
    if not state.imported or (state.baseline is None and not state.baseline_unread):
        return frozenset()
    if state.baseline is None:
        return frozenset(state.imported)
    entries = state.baseline
    return frozenset(
        [row for row, digests in state.imported.items() if entries.get(row, ())[:2] == digests]
    )


def of(
    state: State, debt: Collection[str], today: str, more: Mapping[str, list[Finding]]
) -> Iterator[Finding]:
    """Every finding that stands on ``today`` (YYYY-MM-DD); ``debt`` are the rows that are held.

    ``more`` are findings about rows, by row, that are in no state.
    """
    return counting.counted(_standing(state, debt, today, more), state.levels)


def _standing(
    state: State, debt: Collection[str], today: str, more: Mapping[str, list[Finding]]
) -> Iterator[Finding]:
    owed = frozenset(state.owed)
    # What the change makes an error is said once.
    sharper = {(fields[0], fields[2], fields[4]) for fields in state.change if fields[1] == "error"}
    for name in sorted({*state.rows, *state.waivers, *more}):
        findings = [Finding(*fields) for fields in state.rows.get(name, ())]
        findings += more.get(name, ())
        if sharper:
            findings = [one for one in findings if (one.rule, one.path, one.pointer) not in sharper]
        waived = [waivers.Standing(*fields) for fields in state.waivers.get(name, ())]
        yield from waivers.apply(findings, waived, today, owed if name in debt else ())
    for group in (state.paths.values(), state.pages.values(), [state.change]):
        for some in group:
            for fields in some:
                finding = Finding(*fields)
                if not (finding.record in debt and finding.rule in owed):
                    yield finding
    if state.baseline is not None and not len(debt) == len(state.imported) == len(state.baseline):
        yield from _amiss(state)


def _amiss(state: State) -> Iterator[Finding]:
    from registry_tool.rules.judging import judge_baseline
    from registry_tool.rules.views import BaselineView, EntryView

    unread = {
        row for row, some in state.rows.items() if any(fields[0] < "KR006" for fields in some)
    }
    entries = {row: EntryView(*fields) for row, fields in (state.baseline or {}).items()}
    yield from judge_baseline(BaselineView(entries, state.imported, unread))
