"""A review in words that text, test reports and annotations share; nothing in it is escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from registry_tool.report.figures import number, step
from registry_tool.review.model import (
    Answer,
    Evidence,
    NeedMove,
    Review,
    RowChange,
    Verdicts,
    WaiverChange,
)
from registry_tool.rules.finding import Finding

_SPEED = ("latency_us", "gflops", "gbps")
_ONLY_WORDS = ("re-noted", "reformatted")


def counts(review: Review) -> list[str]:
    """What a reviewer wants to know first: what blocks, what got worse, how much there is."""
    found = []
    if review.blocking:
        found.append(f"{many(review.blocking, 'finding')} block{_s(review.blocking)}")
    kinds = Counter(row.kind for row in review.rows)
    edited = kinds.pop("edited", 0)
    if edited:
        found.append(f"{many(edited, 'row')} edited without a run")
    if kinds:
        words = ", ".join(f"{number_:,} {kind}" for kind, number_ in kinds.items())
        found.append(f"{words} row{'' if kinds.total() == 1 else 's'}")
    elif not edited:
        found.append("no row differs")
    for word, rows in (
        ("worse", [row for row in review.rows if row.worse]),
        ("better", [row for row in review.rows if row.better]),
    ):
        if rows:
            found.append(f"{len(rows):,} {word}")
    moves: Counter[str] = Counter(move.move for move in review.needs)
    found += [f"{many(moves[move], 'need')} {_MOVES[move]}" for move in _MOVES if moves[move]]
    altered = [one for one in review.answers if one.before is not None]
    if altered:
        found.append(f"{many(len(altered), 'lookup answer')} differ{_s(len(altered))}")
    new = len(review.answers) - len(altered)
    if new:
        found.append(f"{many(new, 'new lookup answer')}")
    waivers = Counter(waiver.kind for waiver in review.waivers)
    found += [f"{many(waivers[kind], f'{kind} waiver')}" for kind in waivers]
    if review.debt.added:
        found.append(f"{many(len(review.debt.added), 'row')} newly owed")
    if review.debt.paid:
        found.append(f"{many(len(review.debt.paid), 'row')} owed no more")
    loosened = sum(len(measure.loosened) for measure in review.measures)
    if loosened:
        found.append(f"{many(loosened, 'limit')} loosened")
    elif review.measures:
        found.append(f"{many(len(review.measures), 'page or policy file')} changed")
    if review.stale:
        newly = sum(one.newly for one in review.stale)
        found.append(f"{many(len(review.stale), 'stale row')} ({newly} newly)")
    if review.verdicts.not_passed:
        found.append(f"{many(len(review.verdicts.not_passed), 'new verdict')} did not pass")
    if review.verdicts.signed:
        found.append(f"{many(len(review.verdicts.signed), 'old verdict')} signed")
    warnings = len(review.findings) - review.blocking
    if warnings:
        found.append(many(warnings, "warning"))
    return found


_MOVES = {
    "unmet": "unmet now",
    "tier down": "met by a lower tier",
    "tier up": "met by a higher tier",
    "variant": "met by another row",
    "met": "newly met",
}


def many(number_: int, what: str) -> str:
    """``number_`` of ``what``, in words."""
    return f"{number_:,} {what}{'' if number_ == 1 else 's'}"


def _s(number_: int) -> str:
    return "s" if number_ == 1 else ""


def title(row: RowChange) -> str:
    """A row's name with what a reader must know before any figure of it."""
    marks = [mark for mark, holds in (("emulated", row.emulated), ("worse", row.worse)) if holds]
    was = f" (was {row.was})" if row.was else ""
    return f"{row.row}{was}" + (f" [{', '.join(marks)}]" if marks else "")


def row_lines(row: RowChange) -> Iterator[str]:
    """What happened to one row, a line per kind of fact."""
    if row.problem:
        yield row.problem
    if row.setting and row.kind not in _ONLY_WORDS:
        yield row.setting
    yield from moved(row)
    if row.kind not in _ONLY_WORDS:
        for speed in (False, True):
            steps = [step(one) for one in row.figures if (one.name in _SPEED) == speed]
            if steps:
                yield "; ".join(steps)
    yield from evidence(row)
    if row.environment:
        differing = ", ".join(
            f"{one.field} {value(one.before)} → {value(one.after)}" for one in row.environment
        )
        yield f"the runs differ in {differing}"
    if row.serves:
        verb = "met" if row.after is None else "meets"
        yield f"{verb} {'; '.join(row.serves)}"
    if row.used_by and row.kind != "re-noted":
        yield f"used by {'; '.join(row.used_by)}"
    for words, some in (
        ("user added", row.users_added),
        ("user removed", row.users_removed),
        ("note added", row.notes_added),
        ("note removed", row.notes_removed),
    ):
        if row.kind not in ("added", "removed"):
            yield from (f"{words}: {text}" for text in some)
    if row.kind == "added":
        yield from (f"note: {text}" for text in row.notes)
    yield from (waiver(one) for one in row.waivers)


def moved(row: RowChange) -> Iterator[str]:
    """Tile, herd and tiles in flight where they are other ones."""
    if row.settings:
        yield "; ".join(
            f"{_FIELDS.get(one.field, one.field)} {value(one.before)} → {value(one.after)}"
            for one in row.settings
        )


_FIELDS = {"tiles_in_flight": "tiles in flight", "precision": "tier"}


def value(what: Any) -> str:
    """A field's value as people write it."""
    if isinstance(what, list):
        return "×".join(map(str, what)) if what else "none"
    if isinstance(what, float):
        return number(what)
    return "none" if what is None or what == {} else str(what)


def evidence(row: RowChange) -> Iterator[str]:
    """The verdict that the row stands on, and the one that it stood on."""
    now, was = row.after, row.before
    if now is not None and now.artifact:
        yield f"{verdict(now, row.emulated)}: {now.artifact}"
    if was is not None and now is not None and now.artifact != was.artifact:
        yield f"before: {verdict(was, row.emulated)}: {was.artifact}"
    if was is not None and now is None and row.kind == "removed":
        yield f"it stood on {verdict(was, row.emulated)}: {was.artifact}"


def verdict(one: Evidence, emulated: bool) -> str:
    """Kind, status and signer of a verdict."""
    kind = f"emulated {one.kind}" if emulated and one.kind != "imported" else one.kind
    status = "passed" if one.status == "pass" else one.status
    flaky = ", only on a retry" if one.flaky else ""
    return f"{kind} {status}{flaky}, {f'signed by {one.signer}' if one.signer else 'unsigned'}"


def waiver(one: WaiverChange) -> str:
    """What happens to a waiver."""
    until = f"until {one.until}" if one.until else f"was until {one.was_until}"
    if one.was_until and one.until and one.was_until != one.until:
        until += f", was {one.was_until}"
    return f"{one.kind} waiver of {one.rule} {until}, by {one.by}: {one.reason}"


def need(move: NeedMove) -> str:
    """A need and the rows that met and meet it."""
    emulated = " [emulated]" if move.emulated else ""
    what = f"{move.model}: {move.site} ({move.kernel} {move.shape} on {move.target}){emulated}"
    return f"{what}: {place(move.before, move.was_tier)} → {place(move.after, move.tier)}"


def place(row: str | None, tier: str | None) -> str:
    """A row that meets a need, by its key, with its tier."""
    if row is None:
        return "nothing"
    return row.rpartition("/")[2] + (f" ({tier})" if tier else "")


def answer(one: Answer) -> str:
    """A question to the lookup and both answers."""
    emulated = " [emulated]" if one.emulated else ""
    why = f" ({one.cause} row)" if one.cause else " (no row of this shape changed)"
    was, now = one.before or "an error", one.after or "an error"
    asked = " and ".join(one.asked)
    what = f"{one.kernel} {one.shape} on {one.target}{emulated}, {asked}{why}"
    return f"{what}: {was} → {now}"


def altered(review: Review) -> list[Answer]:
    """Answers that a consumer could have had before, those that no row explains first."""
    found = [one for one in review.answers if one.before is not None or one.cause is None]
    return sorted(found, key=lambda one: one.cause is not None)


def run_lines(verdicts: Verdicts) -> Iterator[str]:
    """Verdicts that did not pass, and old ones that are touched or newly signed."""
    for run in verdicts.not_passed:
        yield f"{run.row}: {run.run_id} {run.status}{f': {run.reason}' if run.reason else ''}"
    for words, paths in (("edited", verdicts.edited), ("deleted", verdicts.deleted)):
        yield from (f"{words}: {path}" for path in paths)
    for one in verdicts.signed:
        yield f"signed by {one.signer or 'somebody'}: {one.artifact}"


def findings(review: Review) -> tuple[list[Finding], list[Finding], list[Finding]]:
    """What blocks and the change touched, what blocks elsewhere, and the warnings."""
    errors = [one for one in review.findings if one.finding.severity == "error"]
    return (
        [one.finding for one in errors if one.touched],
        [one.finding for one in errors if not one.touched],
        [one.finding for one in review.findings if one.finding.severity != "error"],
    )


def moves(review: Review) -> tuple[list[NeedMove], dict[str, int]]:
    """Needs that lost something, one by one, and the number newly met by model."""
    met = Counter(move.model for move in review.needs if move.move == "met")
    order = list(_MOVES)
    others = [move for move in review.needs if move.move != "met"]
    return sorted(others, key=lambda move: order.index(move.move)), dict(met)


def span(review: Review) -> str:
    """Both states, as short as they can be told."""
    base = review.base[:12] if review.base else "nothing"
    head = review.head[:12] if review.head not in ("index", "worktree") else review.head
    return f"{base}..{head}"


def measures(review: Review) -> Iterator[str]:
    """What changed in pages, policy and models."""
    for one in review.measures:
        yield f"{one.path} {one.kind}" + ("" if one.loosened else ": nothing is allowed newly")
        yield from (f"  loosened: {words}" for words in one.loosened)
        yield from (
            f"  {part.field}: {value(part.before)} → {value(part.after)}"
            for part in one.fields[:_SHOWN]
        )
        if len(one.fields) > _SHOWN:
            yield f"  and {many(len(one.fields) - _SHOWN, 'field')} more"
    for model in review.models:
        yield f"models/{model.model}.json {model.kind}: " + _needs(
            model.needs_added, model.needs_removed
        )


_SHOWN = 12


def _needs(added: Sequence[str], removed: Sequence[str]) -> str:
    return f"{many(len(added), 'need')} added, {len(removed)} removed"


def stale(review: Review) -> Iterator[str]:
    """Rows that ran with other code than would run now, those that the change made so first."""
    for one in review.stale:
        yield f"{one.row}{' (newly)' if one.newly else ''}: {'; '.join(one.reasons)}"


def debt(review: Review) -> Iterator[str]:
    """What baseline.json owes newly, and no more."""
    for words, rows in (
        ("newly owed", review.debt.added),
        ("owed no more", review.debt.paid),
        ("owed with another content", review.debt.changed),
    ):
        yield from (f"{words}: {row}" for row in rows)
