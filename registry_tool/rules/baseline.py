"""KR111 and KR112: imported rows are debt while they stay as they came; the debt never grows."""

from __future__ import annotations

from collections.abc import Iterator

from registry_tool.rules.layout import BASELINE
from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.views import BaselineView, ChangeView, LostView

_RECORD = "a measured field of its record"


def _held(view: BaselineView) -> Iterator[Complaint]:
    for row, (record, artifact) in view.imported.items():
        entry = view.entries.get(row)
        if entry is None:
            words = f"the row is imported, and {BASELINE} does not name it: a new row needs a run"
        elif (entry.record, entry.artifact) != (record, artifact):
            what = _RECORD if entry.record != record else "its imported artifact"
            words = f"{what} is not as it was imported: a changed row needs a run of its own"
        else:
            continue
        path = f"records/{row}.json"
        back = "" if entry is None else f"git checkout HEAD -- {path} takes the edit back; or "
        yield Complaint(words, "/verdict", path=path, line=1, fix=f"{back}{_run(row)}")


def _stale(view: BaselineView) -> Iterator[Complaint]:
    for row, entry in view.entries.items():
        if row not in view.imported and row not in view.unread:
            yield Complaint(
                f"{row} is gone, or stands on a verdict of its own: nothing is owed any more",
                line=entry.line,
                fix="registry-tool verify --baseline removes it; so may you",
                severity="warning",
            )


def _baseline(view: BaselineView) -> Iterator[Complaint]:
    yield from _held(view)
    yield from _stale(view)


def _grown(view: ChangeView) -> Iterator[Complaint]:
    ledger = view.ledger
    if ledger is None:
        return
    if isinstance(ledger, LostView):
        yield Complaint(
            f"{BASELINE} was deleted, and {_rows(ledger.rows)} that no run replaced: it may go "
            "once each of them is verified or retired, whatever they waive",
            path=BASELINE,
            line=1,
            fix=ledger.back,
        )
    for row, entry in ledger.entries.items():
        if ledger.before is None:
            if not ledger.added(row):
                words = f"{row} is no row that this very change imports: it cannot become debt"
                yield Complaint(words, path=BASELINE, line=entry.line, fix=_out(row))
        elif row not in ledger.before:
            words = f"{row} is new in the baseline, which only ever shrinks"
            yield Complaint(words, path=BASELINE, line=entry.line, fix=_out(row))
        elif list(ledger.before[row]) != [entry.record, entry.artifact]:
            words = f"a digest of {row} is another one than before: a changed row needs a run"
            yield Complaint(words, path=BASELINE, line=entry.line, fix=_out(row))
    for row, reason in ledger.returned.items():
        words = f"{reason}, and an import may not take that place"
        fix = f"take the change of the row back, or {_run(row)}"
        yield Complaint(words, path=f"records/{row}.json", line=1, fix=fix)


def _rows(number: int) -> str:
    return "1 imported row stands" if number == 1 else f"{number} imported rows stand"


def _out(row: str) -> str:
    return f"take the change of {BASELINE} back, and then {_run(row)}"


def _run(row: str) -> str:
    """The command that runs a row, from its name alone."""
    target, kernel, key = row.split("/")
    shape, _, variant = key.partition("+")
    only = f" --variant {variant}" if variant else ""
    return f"registry-tool verify --target {target} --kernel {kernel} --shape {shape}{only}"


RULES = (
    Rule(
        id="KR111",
        title="changed debt",
        summary="Where a registry has a baseline, an imported row is not in it, or a measured "
        "field of the row or its imported artifact has changed. An entry without an imported row "
        "only warns.",
        rationale="Rows that were imported are taken on trust once, as they came. What is new or "
        "edited since was written by a person, and needs a run as any other row does. What people "
        "own (used_by, notes, waivers) may change.",
        fix="registry-tool verify --baseline",
        on_baseline=_baseline,
    ),
    Rule(
        id="KR112",
        title="growing debt",
        summary="A change adds an entry to the baseline or alters a digest in it, deletes "
        "baseline.json while imported rows stand, or puts an imported row where a verdict, or no "
        "row, stood. The change that imports a registry makes the baseline, of just the rows that "
        "it adds.",
        rationale="A baseline that could grow would let any number in without a run. It is made "
        "once, and from then on only shrinks; deleting it is no way to a new one, for the last one "
        "in history counts.",
        fix="git checkout HEAD -- FILE",
        on_change=_grown,
    ),
)
