"""A review as Markdown for a pull request's comment: compact tables, the rest behind a click."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from registry_tool.report import md
from registry_tool.report import review_words as words
from registry_tool.report.escape import code, markdown
from registry_tool.report.figures import judgement, number, share
from registry_tool.report.markdown import COMMENT_BYTES, Section, document, section
from registry_tool.review.model import (
    Answer,
    Figure,
    NeedMove,
    Review,
    RowChange,
    WaiverChange,
)

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
    if review.unjudged:
        lines += ["", f"The commits in between were not judged: {markdown(review.unjudged)}"]
    return "\n".join(lines)


def _sections(review: Review, way: str) -> Iterator[Section]:
    errors, elsewhere, others = words.findings(review)
    measured = [row for row in review.rows if row.kind not in ("re-noted", "reformatted")]
    moved, met = words.moves(review)
    yield from md.sections(errors, way)
    yield md.of_findings("What blocks where this change did nothing", elsewhere, way)
    yield section("Rows", measured, _row, _ROW)
    yield section("Needs of models that moved", moved, _need, _NEED)
    yield section("Lookup answers that differ", words.altered(review), _answer, _ANSWER)
    loosened = [(one.path, text) for one in review.measures for text in one.loosened]
    yield section("Limits that are loosened", loosened, _pair, ("file", "what"))
    yield section("Waivers", review.waivers, _waiver, _WAIVER)
    met_lines = [f"{model}: {words.many(number_, 'need')}" for model, number_ in met.items()]
    yield section("Needs newly met", met_lines, _item, folded=True)
    yield section("Owed (baseline.json)", words.debt(review), _item, folded=True)
    yield section("Stale evidence", words.stale(review), _item, folded=True)
    runs = words.run_lines(review.verdicts)
    yield section(
        "Verdicts that did not pass, are touched or newly signed", runs, _item, folded=True
    )
    yield section("Pages, policy and models", words.measures(review), _item, folded=True)
    yield section("Remarks and users", _remarks(review.rows), _pair, ("row", "remark"), True)
    detailed = [row for row in measured if row.setting]
    yield section("Details of the rows", detailed, _detail, ("row", "detail"), True)
    yield md.of_findings("Warnings", others, way, folded=True)


_ROW = ("change", "row", "accuracy", "speed", "tiles", "verdict", "used by")
_NEED = ("model", "need", "on", "move", "before", "after")
_ANSWER = ("kernel", "shape", "asked", "before", "after", "why")
_WAIVER = ("change", "row", "rule", "until", "by", "why")


def _item(words_: str) -> Sequence[str]:
    return (markdown(words_.strip()),)


def _pair(pair: tuple[str, str]) -> Sequence[str]:
    return code(pair[0]), markdown(pair[1])


def _detail(row: RowChange) -> Sequence[str]:
    return code(row.row), "<br>".join(map(markdown, _details(row)))


def _waiver(one: WaiverChange) -> Sequence[str]:
    return (
        one.kind,
        code(one.row),
        code(one.rule),
        markdown(_until(one.was_until, one.until)),
        markdown(one.by),
        markdown(one.reason),
    )


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
        markdown(" and ".join(one.asked)),
        markdown(one.before or "an error"),
        markdown(one.after or "an error"),
        f"{one.cause} row" if one.cause else "**no row of this shape changed**",
    )


def _until(was: str | None, now: str | None) -> str:
    return f"{was} → {now}" if was and now and was != now else f"{now or was}"


def _remarks(rows: Sequence[RowChange]) -> Iterator[tuple[str, str]]:
    for row in rows:
        if row.kind == "added":
            yield from ((row.row, f"note: {text}") for text in row.notes)
        elif row.kind != "removed":
            for sign, some in (
                ("note added", row.notes_added),
                ("note removed", row.notes_removed),
                ("user added", row.users_added),
                ("user removed", row.users_removed),
            ):
                yield from ((row.row, f"{sign}: {text}") for text in some)


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
