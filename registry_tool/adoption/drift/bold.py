"""Bold marks: a bold throughput is the best of its column, or of the methods of its shape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from registry_tool.adoption.drift.figures import disagree, shown
from registry_tool.adoption.drift.finding import Confidence, Finding, Side
from registry_tool.adoption.drift.naming import figure_side, row_name
from registry_tool.adoption.drift.stray import stray_figure
from registry_tool.adoption.drift.throughput import contradictions
from registry_tool.adoption.model import Adoption, Claim, Quantity, Row
from registry_tool.records.kernel import precision_of, shape_text
from registry_tool.records.spec import KernelSpec

_Figure = tuple[Row, Claim, Quantity]


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Table by table, column by column."""
    columns: dict[tuple[int, str], list[_Figure]] = defaultdict(list)
    for row in adoption.rows:
        for claim, figure in row.quantities(specs[row.kernel].metric):
            if claim.kind == "row" and claim.table is not None and not figure.misplaced:
                columns[(claim.table, figure.column)].append((row, claim, figure))
    for figures in columns.values():
        kernel = specs[figures[0][0].kernel]
        if kernel.variants:
            yield from _of_shape(adoption, figures, specs)
        else:
            yield from _of_column(figures, kernel, specs)
    yield from _bold_words(adoption, specs)


def _of_column(
    figures: list[_Figure], spec: KernelSpec, specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    """A kernel with one method: its bold figure is the best of the column."""
    sound = [
        one
        for one in figures
        if not any(claim is one[1] for claim, *_ in contradictions(one[0], spec))
    ]
    if not sound:
        return
    best_row, best_claim, best = max(sound, key=lambda one: one[2].high)
    crowned = any(figure.bold and not disagree(figure, best) for _, _, figure in figures)
    for row, claim, figure in figures:
        if not figure.bold or figure.high >= best.high or not disagree(figure, best):
            continue
        # Where the best is bold as well, this one may be bold for some other reason.
        confidence: Confidence = "medium" if crowned else "high"
        text = shape_text(spec, best_row.shape)
        yield Finding(
            kind="bold-not-best",
            sides=(figure_side(claim, figure), figure_side(best_claim, best)),
            record=row_name(row, specs),
            found=shown(figure),
            expected=shown(best),
            confidence=confidence,
            message=f"{shown(figure)} is bold; the best of the column is {shown(best)} ({text})",
        )


def _of_shape(
    adoption: Adoption, figures: list[_Figure], specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    """A kernel with several: a bold figure is the fastest of its shape, or of its column."""
    best = max(figures, key=lambda one: one[2].high)[2]
    for row, claim, figure in figures:
        if figure.bold and disagree(figure, best):
            yield from _beaten(adoption, row, claim, figure, shown(figure), specs)


def _bold_words(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """A bold cell of a variant without a figure: the figure is that of another place."""
    for row in adoption.rows:
        metric = specs[row.kernel].metric
        figure = next((value for _, value in row.quantities(metric) if not value.shared), None)
        for claim in row.claims:
            bold = claim.kind == "row" and claim.bold and claim.quantity(metric) is None
            if bold and figure is not None and row.variant:
                yield from _beaten(adoption, row, claim, figure, row.variant, specs)


def _beaten(
    adoption: Adoption,
    row: Row,
    claim: Claim,
    figure: Quantity,
    text: str,
    specs: Mapping[str, KernelSpec],
) -> Iterator[Finding]:
    """A variant of the same tier, or of the more precise one, that is faster at this shape."""
    spec = specs[row.kernel]
    siblings = [one for one in adoption.siblings(row) if one.key != row.key]
    faster = [
        (other, there, value)
        for other in siblings
        if _tier(other, spec) in (_tier(row, spec), "high")
        and stray_figure(other, (*siblings, row), spec.metric) is None
        for there, value in other.quantities(spec.metric)
        if there.kind == "row" and value.low > figure.high and disagree(value, figure)
    ]
    if not faster:
        return
    other, there, value = max(faster, key=lambda one: one[2].high)
    yield Finding(
        kind="bold-not-best",
        sides=(Side(claim.where, text), figure_side(there, value)),
        record=row_name(row, specs),
        found=f"{row.variant} {shown(figure)}",
        expected=f"{other.variant} {shown(value)}",
        confidence="high",
        message=f"the cell of {row.variant} is bold ({shown(figure)}); {other.variant} has "
        f"{shown(value)}",
    )


def _tier(row: Row, spec: KernelSpec) -> str | None:
    try:
        return precision_of(spec, row.variant)
    except KeyError:
        return None
