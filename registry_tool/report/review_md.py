"""A review as Markdown for a pull request's comment: compact tables, the rest behind a click."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from registry_tool.report import md
from registry_tool.report import review_words as words
from registry_tool.report.escape import code, markdown
from registry_tool.report.figures import judgement, number, share
from registry_tool.report.markdown import COMMENT_BYTES, Section, document
from registry_tool.review.model import Answer, Figure, NeedMove, Review, RowChange

MARKER = "<!-- registry-tool review -->"
"""By which a bot finds its own comment again."""
_LISTED = 5


def write_review(review: Review, way: str, limit: int = COMMENT_BYTES) -> str:
    """The review in at most ``limit`` bytes; rows that do not fit are counted."""
    return document(_head(review), list(_sections(review, way)), limit)


def _head(review: Review) -> str:
    parts = words.counts(review)
    verdict = "❌ blocked" if review.blocking else "✅ nothing blocks"
    lines = [
        MARKER,
        f"### Registry review: {verdict}",
        "",
        f"**{markdown('; '.join(parts), 2000)}**",
        "",
        f"{code(words.span(review))} · {review.records:,} rows at the later state",
    ]
    if any(row.emulated for row in review.rows):
        lines += ["", "*emulated* rows are numerics on a CPU: they say nothing about hardware."]
    return "\n".join(lines)


def _sections(review: Review, way: str) -> Iterator[Section]:
    errors = [one.finding for one in review.findings if one.finding.severity == "error"]
    others = [one.finding for one in review.findings if one.finding.severity != "error"]
    blocking, warnings = md.sections(errors, others, way)
    yield blocking
    measured = [row for row in review.rows if row.kind not in ("re-noted", "reformatted")]
    columns = ("change", "row", "accuracy", "speed", "tiles", "verdict", "used by")
    yield Section("Rows", [_row(row) for row in measured], columns)
    moved, met = words.moves(review)
    yield Section(
        "Needs of models that moved",
        [_need(move) for move in moved],
        ("model", "need", "on", "move", "before", "after"),
    )
    yield Section(
        "Lookup answers that differ",
        [_answer(one) for one in words.altered(review)],
        ("kernel", "shape", "asked", "before", "after", "why"),
    )
    loosened = [
        (code(one.path), markdown(text)) for one in review.measures for text in one.loosened
    ]
    yield Section("Limits that are loosened", loosened, ("file", "what"))
    yield Section(
        "Waivers",
        [
            (one.kind, code(one.row), code(one.rule), markdown(_until(one.was_until, one.until)),
             markdown(one.by), markdown(one.reason))
            for one in review.waivers
        ],
        ("change", "row", "rule", "until", "by", "why"),
    )  # fmt: skip
    yield _folded("Needs newly met", (f"{m}: {words.many(n, 'need')}" for m, n in met.items()))
    yield _folded("Owed (baseline.json)", words.debt(review))
    yield _folded("Verdicts that did not pass, or are touched", words.run_lines(review.verdicts))
    yield _folded("Pages, policy and models", words.measures(review))
    yield Section("Remarks and users", list(_remarks(review.rows)), ("row", "remark"), folded=True)
    differing = [(code(row.row), markdown(text)) for row in measured for text in _details(row)]
    yield Section("Details of the rows", differing, ("row", "detail"), folded=True)
    yield warnings


def _folded(title: str, lines: Iterable[str]) -> Section:
    return Section(title, [(markdown(one.strip()),) for one in lines], folded=True)


def _row(row: RowChange) -> Sequence[str]:
    change = row.kind + (" ⚠️ worse" if row.worse else "")
    name = code(row.row) + (f" (was {code(row.was)})" if row.was else "")
    accuracy = [one for one in row.figures if one.name == "mean_rel_L1"]
    speed = [one for one in row.figures if one.name in ("gflops", "gbps", "latency_us")]
    users = [*row.used_by[:_LISTED]]
    if len(row.used_by) > _LISTED:
        users.append(f"and {len(row.used_by) - _LISTED} more")
    return (
        change,
        name + (" *emulated*" if row.emulated else ""),
        "; ".join(map(_figure, accuracy)) or "–",
        "<br>".join(map(_figure, speed)) or "–",
        _tiles(row),
        _verdict(row),
        "<br>".join(markdown(user, 120) for user in users) or "–",
    )


def _figure(one: Figure) -> str:
    unit = f" {one.unit}" if one.unit else ""
    if one.trend == "gone":
        return f"{number(one.before)}{unit} → none"
    if one.trend in ("same", "new"):
        return f"{number(one.after)}{unit}"
    step = f"{number(one.before)} → {number(one.after)}{unit} ({share(one)}{judgement(one)})"
    return f"**{step}**" if one.trend == "worse" else step


def _tiles(row: RowChange) -> str:
    was, now = row.tiles
    if was is None or now is None or was == now:
        return "–" if row.problem and was is now is None else str(now if was is None else was)
    return f"{was} → {now}"


def _verdict(row: RowChange) -> str:
    if row.problem:
        return markdown(row.problem)
    one = row.after or row.before
    return markdown(words.verdict(one, row.emulated), 200) if one else "–"


def _need(move: NeedMove) -> Sequence[str]:
    return (
        markdown(move.model),
        markdown(f"{move.site} ({move.kernel} {move.shape})"),
        code(move.target) + (" *emulated*" if move.emulated else ""),
        move.move,
        markdown(words.place(move.before, move.was_tier)),
        markdown(words.place(move.after, move.tier)),
    )


def _answer(one: Answer) -> Sequence[str]:
    return (
        code(one.kernel) + (" *emulated*" if one.emulated else ""),
        markdown(one.shape),
        markdown(one.asked),
        markdown(one.before or "an error"),
        markdown(one.after or "an error"),
        f"{one.cause} row" if one.cause else "**no row of this shape changed**",
    )


def _until(was: str | None, now: str | None) -> str:
    return f"{was} → {now}" if was and now and was != now else f"{now or was}"


def _remarks(rows: Sequence[RowChange]) -> Iterator[Sequence[str]]:
    for row in rows:
        for sign, some in (
            ("note added", row.notes_added),
            ("note removed", row.notes_removed),
            ("user added", row.users_added),
            ("user removed", row.users_removed),
        ):
            if row.kind not in ("added", "removed"):
                yield from ((code(row.row), markdown(f"{sign}: {text}")) for text in some)
        if row.kind == "added":
            yield from ((code(row.row), markdown(f"note: {text}")) for text in row.notes)


def _details(row: RowChange) -> Iterator[str]:
    if row.setting:
        yield row.setting
    yield from words.moved(row)
    yield from words.evidence(row)
    if row.environment:
        yield "the runs differ in " + ", ".join(
            f"{one.field} {words.value(one.before)} → {words.value(one.after)}"
            for one in row.environment
        )
    if row.serves:
        yield f"{'met' if row.after is None else 'meets'} {'; '.join(row.serves)}"
