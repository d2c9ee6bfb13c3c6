"""Cells that disagree: figures, tiles, herds, marks and tiers that places give to one row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from registry_tool.adoption.drift.figures import disagree, shown
from registry_tool.adoption.drift.finding import Confidence, Finding, Side
from registry_tool.adoption.drift.naming import PLACE, figure_side, row_name, shape_name, side
from registry_tool.adoption.model import Adoption, Claim, Field, Quantity, Row
from registry_tool.records.kernel import precision_of
from registry_tool.records.spec import KernelSpec

_FIELDS: Mapping[Field, str] = {
    "latency_us": "latency",
    "gflops": "GFLOP/s",
    "gbps": "GB/s",
    "mean_rel_L1": "mean_rel_L1",
    "max_abs": "max_abs",
    "max_rel": "max_rel",
    "correlation": "correlation",
}

_PASSES = "✅"
# Two runs of one configuration may differ by this much.
SWEEP_NOISE = 0.02


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Row by row."""
    siblings: dict[tuple[str, tuple[int, ...]], list[Row]] = {}
    for row in adoption.rows:
        siblings.setdefault(row.key[:2], []).append(row)
    for row in adoption.rows:
        for field in _FIELDS:
            yield from _figures(adoption, row, field, siblings[row.key[:2]], specs)
        yield from _sweeps(row, specs)
        yield from _tiles(row, specs)
        yield from _herds(row, specs)
        yield from _marks(adoption, row, specs)
        yield from _tiers(row, specs)
        yield from _layouts(row, specs)
    for rows in siblings.values():
        yield from _shape_marks(adoption, rows, specs)


def _figures(
    adoption: Adoption,
    row: Row,
    field: Field,
    shape: Sequence[Row],
    specs: Mapping[str, KernelSpec],
) -> Iterator[Finding]:
    """Each place's figure against the one that a record would believe."""
    figures = [one for one in row.quantities(field) if not one[1].misplaced]
    # A figure that a line gives once for several variants contradicts none that has its own there.
    own = [one for one in figures if not one[1].shared]
    if not own:
        return
    trusted, right = own[0]
    seen: set[str] = set()
    for claim, figure in figures:
        if claim is trusted or not disagree(right, figure) or claim.where in seen:
            continue
        if _is_common(adoption, claim, figure) and _belongs_to_sibling(figure, field, row, shape):
            continue
        seen.add(claim.where)
        yield Finding(
            kind="cells-disagree",
            sides=(figure_side(claim, figure), figure_side(trusted, right)),
            record=row_name(row, specs),
            found=shown(figure),
            expected=shown(right),
            confidence="high",
            message=f"{_FIELDS[field]}: {shown(figure)} in the {PLACE[claim.place]}, "
            f"{shown(right)} in the {_from(trusted, claim)}",
        )


def _is_common(adoption: Adoption, claim: Claim, figure: Quantity) -> bool:
    """Whether a figure is about a tier, or about all methods, rather than about this one."""
    if figure.shared or claim.table is None:
        return figure.shared
    table = adoption.tables[claim.table]
    column = next((one for one in table.columns if one.title == figure.column), None)
    return column is not None and table.kind == "pivot" and not column.variants


def _belongs_to_sibling(figure: Quantity, field: Field, row: Row, shape: Sequence[Row]) -> bool:
    return any(
        not other.shared and not disagree(other, figure)
        for sibling in shape
        if sibling.key != row.key
        for _, other in sibling.quantities(field)
    )


def _sweeps(row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """A line of a sweep that has the row's own tile and herd, and other figures."""
    tile, herd = row.tile(), row.herd() or tuple(specs[row.kernel].default_herd)
    for claim in row.sweeps:
        settings = bool(claim.tile) or claim.herd is not None
        same = all(tile.get(knob) == size for knob, size in claim.tile.items())
        if not settings or not same or claim.herd not in (None, herd):
            continue
        differing = [
            (figure, trusted, value)
            for figure in claim.quantities
            if not figure.misplaced
            for trusted, value in list(_own(row, figure.field))[:1]
            if disagree(figure, value)
        ]
        if not differing:
            continue
        found = ", ".join(shown(figure) for figure, _, _ in differing)
        expected = ", ".join(shown(value) for _, _, value in differing)
        far = any(
            abs(figure.value - value.value) > SWEEP_NOISE * value.value
            for figure, _, value in differing
        )
        yield Finding(
            kind="cells-disagree",
            sides=(side(claim, found), side(differing[0][1], expected)),
            record=row_name(row, specs),
            found=found,
            expected=expected,
            confidence="medium" if far else "low",
            message=f"{found} in a sweep, {expected} in the row with the same tile and herd",
        )


def _own(row: Row, field: Field) -> Iterator[tuple[Claim, Quantity]]:
    return (one for one in row.quantities(field) if not one[1].shared)


def _from(trusted: Claim, other: Claim) -> str:
    if trusted.place == other.place:
        return f"line {trusted.line}" if trusted.file == other.file else trusted.file
    return PLACE[trusted.place]


def _tiles(row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    given = [claim for claim in row.claims if claim.tile]
    for claim in given[1:]:
        trusted = given[0]
        differs = [
            knob
            for knob in claim.tile
            if trusted.tile.get(knob, claim.tile[knob]) != claim.tile[knob]
        ]
        if not differs:
            continue
        found = ", ".join(f"{knob}={claim.tile[knob]}" for knob in differs)
        expected = ", ".join(f"{knob}={trusted.tile[knob]}" for knob in differs)
        yield Finding(
            kind="cells-disagree",
            sides=(side(claim, found), side(trusted, expected)),
            record=row_name(row, specs),
            found=found,
            expected=expected,
            confidence="high",
            message=f"tile: {found} in the {PLACE[claim.place]}, {expected} in the "
            f"{_from(trusted, claim)}",
        )


def _herds(row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Herds that are given; a line that leaves it out means the default of its file or page."""
    default = tuple(specs[row.kernel].default_herd)
    given = [
        claim if claim.herd is not None else replace(claim, herd=default, herd_is_default=True)
        for claim in row.claims
        if claim.herd is not None or (claim.place == "details" and claim.kind == "row")
    ]
    own = [claim for claim in given if not claim.herd_is_default]
    if not own:
        return
    trusted = own[0]
    for claim in given:
        if claim is trusted or claim.herd == trusted.herd:
            continue
        assert claim.herd is not None
        assert trusted.herd is not None
        found, expected = _extents(claim.herd), _extents(trusted.herd)
        confidence: Confidence = "medium" if claim.herd_is_default else "high"
        left = " (its default: the row says none)" if claim.herd_is_default else ""
        yield Finding(
            kind="cells-disagree",
            sides=(side(claim, found), side(trusted, expected)),
            record=row_name(row, specs),
            found=found,
            expected=expected,
            confidence=confidence,
            message=f"herd: {found} in the {PLACE[claim.place]}{left}, {expected} in the "
            f"{_from(trusted, claim)}",
        )


def _extents(herd: Sequence[int]) -> str:
    return "×".join(map(str, herd))


def mark(claim: Claim) -> str | None:
    """The mark of this variant's cell, else that of the line where it is about one row only."""
    found = claim.cell_glyph or claim.glyph
    return found.strip("\ufe0f") if found else None


def _marks(adoption: Adoption, row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """A pivoted line's mark is about the shape: only its cell's own mark is compared."""
    given = [
        (claim, claim.cell_glyph if _is_pivot(adoption, claim) else mark(claim))
        for claim in row.claims
        if claim.kind == "row"
    ]
    marked = [(claim, glyph.strip("\ufe0f")) for claim, glyph in given if glyph]
    for claim, glyph in marked[1:]:
        trusted, right = marked[0]
        if glyph == right:
            continue
        yield Finding(
            kind="status-disagrees",
            sides=(side(claim, glyph), side(trusted, right)),
            record=row_name(row, specs),
            found=glyph,
            expected=right,
            confidence="high",
            message=f"{glyph} in the {PLACE[claim.place]}, {right} in the {_from(trusted, claim)}",
        )


def _shape_marks(
    adoption: Adoption, rows: Sequence[Row], specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    """A pivoted line that marks a shape as passing, of which no other place has a passing row."""
    lines = {
        claim.where: claim
        for row in rows
        for claim in row.claims
        if _is_pivot(adoption, claim) and claim.glyph
    }
    elsewhere = [
        (claim, glyph)
        for row in rows
        for claim in row.claims
        if claim.kind == "row" and not _is_pivot(adoption, claim) and (glyph := mark(claim))
    ]
    passing = any(glyph == _PASSES for _, glyph in elsewhere)
    for claim in lines.values():
        if mark(claim) != _PASSES or passing or not elsewhere or claim.cell_glyph:
            continue
        other, glyph = elsewhere[0]
        yield Finding(
            kind="status-disagrees",
            sides=(side(claim, _PASSES), *(side(one, found) for one, found in elsewhere)),
            record=shape_name(rows[0].kernel, rows[0].shape, None, specs),
            found=_PASSES,
            expected=glyph,
            confidence="high",
            message=f"{_PASSES} in the {PLACE[claim.place]}, and no method of the shape passes in "
            f"the {_from(other, claim)}",
        )


def _is_pivot(adoption: Adoption, claim: Claim) -> bool:
    return claim.table is not None and adoption.tables[claim.table].kind == "pivot"


def _tiers(row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    try:
        right = precision_of(specs[row.kernel], row.variant)
    except KeyError:
        return
    for claim in row.claims:
        if claim.tier is None or right is None or claim.tier == right:
            continue
        yield Finding(
            kind="tier-disagrees",
            sides=(side(claim, claim.tier),),
            record=row_name(row, specs),
            found=claim.tier,
            expected=right,
            confidence="high",
            message=f"{row.variant} is of tier {right}; the {PLACE[claim.place]} says {claim.tier}",
        )


def _layouts(row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """``2048×896`` beside an N: its product is N."""
    if len(row.shape) != 1:
        return
    size = next(iter(row.shape.values()))
    for claim in row.claims:
        extents = _whole_numbers(claim.layout)
        if len(extents) < 2 or math.prod(extents) == size:
            continue
        yield Finding(
            kind="shape-contradicts",
            sides=(Side(claim.where, claim.layout),),
            record=row_name(row, specs),
            found=claim.layout,
            expected=str(size),
            confidence="high",
            message=f"{claim.layout} is {math.prod(extents)}, and the row says {size}",
        )


def _whole_numbers(layout: str) -> list[int]:
    parts = layout.replace("*", "×").replace("x", "×").replace("·", "×").split("×")
    return [int(part) for part in (one.strip() for one in parts) if part.isdigit()]
