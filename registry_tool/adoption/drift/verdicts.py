"""Rows without an honest verdict: carried over, failing, judged by max_abs alone, not measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from registry_tool.adoption.drift import notes
from registry_tool.adoption.drift.cells import mark
from registry_tool.adoption.drift.figures import shown
from registry_tool.adoption.drift.finding import Confidence, Finding, Side, sides
from registry_tool.adoption.drift.naming import PLACE, measures, row_name, side
from registry_tool.adoption.drift.stray import stray_figure
from registry_tool.adoption.model import Adoption, Claim, Row
from registry_tool.records.spec import KernelSpec

_PASSES = frozenset("✅☑✔✓🟢")
_LONG = 200


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Row by row."""
    for row in adoption.rows:
        spec = specs[row.kernel]
        yield from _inherited(adoption, row, specs)
        yield from _failing(adoption, row, spec, specs)
        yield from _max_abs_only(row, specs)
        # A figure that stands under the wrong variant makes no row of that variant.
        if stray_figure(row, adoption.siblings(row), spec.metric) is None:
            yield from _not_measured(row, spec, specs)


def passes(row: Row) -> bool:
    """Whether some place marks the row as passing, and none marks this variant otherwise."""
    marks = [found for claim in row.claims if claim.kind == "row" and (found := mark(claim))]
    own = [claim.cell_glyph for claim in row.claims if claim.cell_glyph]
    return any(found in _PASSES for found in marks) and all(
        glyph.strip("\ufe0f") in _PASSES for glyph in own
    )


def short(text: str) -> str:
    """A sentence that fits into a message."""
    return text if len(text) <= _LONG else text[: _LONG - 1].rstrip() + "…"


def inherited(
    adoption: Adoption, row: Row, spec: KernelSpec
) -> tuple[list[Claim], list[notes.Admission]]:
    """The claims whose figures are marked as carried over, and the sentences that say so."""
    # An entry's note is about all of its methods to the reader of JSON; its sentences say which.
    claims = [
        claim
        for claim in row.claims
        if claim.kind == "row"
        and (
            (claim.inherited and claim.place != "json") or any(one.mark for one in claim.quantities)
        )
    ]
    return claims, list(notes.carried(adoption, row, spec))


def _inherited(adoption: Adoption, row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    spec = specs[row.kernel]
    claims, admitted = inherited(adoption, row, spec)
    if not claims and not admitted:
        return
    figures = [
        (claim, figure)
        for claim in row.claims
        if claim.kind == "row"
        for figure in claim.quantities
        if figure.field == spec.metric or figure.mark
    ]
    found = next(
        (shown(one) + one.mark for _, one in figures if one.mark),
        next((shown(one) for _, one in figures), "inherited"),
    )
    marked = [(claim.where, found) for claim in claims]
    said = [(one.where, short(one.text)) for one in admitted]
    reason = short(admitted[0].text) if admitted else "the figure is marked as inherited"
    yield Finding(
        kind="verdict-inherited",
        sides=sides([*marked, *said]),
        record=row_name(row, specs),
        found=found,
        expected="a measured figure",
        confidence="high",
        message=f"not measured: {reason}",
    )


def _failing(
    adoption: Adoption, row: Row, spec: KernelSpec, specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    if not passes(row):
        return
    admitted = list(notes.failures(adoption, row, spec))
    if not admitted:
        return
    passing = [claim for claim in row.claims if claim.kind == "row" and mark(claim) in _PASSES]
    yield Finding(
        kind="verdict-failing",
        sides=sides(
            [
                *((claim.where, mark(claim) or "") for claim in passing),
                *((one.where, short(one.text)) for one in admitted),
            ]
        ),
        record=row_name(row, specs),
        found=mark(passing[0]) or "",
        expected="a failing verdict, or a waiver",
        confidence="high",
        message=f"marked as passing, but: {short(admitted[0].text)}",
    )


def _max_abs_only(row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Where a place gives a max_abs in the stead of the judged figure; others may have it."""
    judged = [(claim, one) for claim, one in row.quantities("mean_rel_L1") if claim.kind == "row"]
    for claim in row.claims:
        figure = claim.quantity("max_abs")
        if claim.kind != "row" or figure is None or claim.quantity("mean_rel_L1") is not None:
            continue
        others = [(one, value) for one, value in judged if not value.shared]
        confidence: Confidence = "medium" if others else "high"
        expected = shown(others[0][1]) if others else "a mean_rel_L1"
        also = f"; the {PLACE[others[0][0].place]} has mean_rel_L1 {expected}" if others else ""
        yield Finding(
            kind="verdict-max-abs-only",
            sides=(
                Side(claim.where, f"max_abs {_bare(shown(figure))}"),
                *(side(one, shown(value)) for one, value in others[:1]),
            ),
            record=row_name(row, specs),
            found=f"max_abs {_bare(shown(figure))}",
            expected=expected,
            confidence=confidence,
            message=f"judged by max_abs {_bare(shown(figure))} alone{also}",
        )


def _bare(written: str) -> str:
    return written.removeprefix("max_abs").strip(" =")


def _not_measured(row: Row, spec: KernelSpec, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    if not passes(row):
        return
    # A pivoted line's mark is about the shape: it makes no row of a method that was not run.
    lines = [
        claim
        for claim in row.claims
        if claim.kind == "row"
        and (claim.variant is None or claim.place != "index" or claim.bold or measures(claim))
    ]
    if not lines:
        return
    accurate = any(
        claim.quantity(name) is not None
        for claim in lines
        for name in ("mean_rel_L1", "max_abs", "max_rel")
    )
    timed = any(
        claim.quantity(name) is not None for claim in lines for name in (spec.metric, "latency_us")
    )
    if accurate and timed:
        return
    missing = "nothing" if not accurate and not timed else "accuracy" if timed else "throughput"
    text = "nothing was measured" if missing == "nothing" else f"no {missing} was measured"
    yield Finding(
        kind="verdict-not-measured",
        sides=sides((claim.where, "—") for claim in lines),
        record=row_name(row, specs),
        found="—",
        expected="measured accuracy and throughput" if missing == "nothing" else missing,
        confidence="high" if not accurate else "medium",
        message=f"marked as passing, but {text}, in any place",
    )
