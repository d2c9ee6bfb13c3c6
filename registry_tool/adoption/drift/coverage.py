"""What one place lists and another does not: sections, shapes, variants; rows listed twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from registry_tool.adoption.drift.finding import Finding, Side, sides
from registry_tool.adoption.drift.naming import (
    PLACE,
    first_of_each,
    measures,
    mentions,
    places_of,
    row_name,
    shape_name,
    side,
)
from registry_tool.adoption.drift.stray import stray_figure
from registry_tool.adoption.model import Adoption, Claim, Place, Row
from registry_tool.records.kernel import shape_text
from registry_tool.records.spec import KernelSpec

Sizes = tuple[int, ...]


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Kernel by kernel: the section, the counts, missing shapes and variants, the doubles."""
    by_kernel: dict[str, list[Row]] = defaultdict(list)
    for row in adoption.rows:
        by_kernel[row.kernel].append(row)
    for kernel, rows in by_kernel.items():
        places = places_of(adoption, kernel)
        shapes: dict[Sizes, list[Row]] = defaultdict(list)
        for row in rows:
            shapes[tuple(row.shape.values())].append(row)
        yield from _missing_section(adoption, kernel, places, len(shapes))
        yield from _counts(kernel, places, shapes)
        for same in shapes.values():
            yield from _missing_shapes(same, places, specs)
            yield from _missing_variants(same, specs)
        for row in rows:
            yield from _doubles(row, specs)


def _missing_section(
    adoption: Adoption, kernel: str, places: Mapping[Place, str], count: int
) -> Iterator[Finding]:
    """One finding for all rows of a kernel; of medium confidence, as the index may mean it so."""
    indexes = [source.name for source in adoption.sources if source.place == "index"]
    if "details" not in places or "index" in places or not indexes:
        return
    page = places["details"]
    shapes = f"{count} shape{'s' if count > 1 else ''}"
    yield Finding(
        kind="section-missing",
        sides=(
            Side(f"{indexes[0]}:{_line_in_overview(adoption, page.rpartition(':')[0])}", "—"),
            Side(page, shapes),
        ),
        record=None,
        found="—",
        expected=shapes,
        confidence="medium",
        message=f"the index has no rows of {kernel}, whose details page has tested shapes",
    )


def _line_in_overview(adoption: Adoption, page: str) -> int:
    """Where the overview of the index names a page; 1 where it does not."""
    for table in adoption.tables:
        if table.kind == "overview" and table.place == "index":
            for row in table.rows:
                if any(f"({page})" in source for source in row.sources):
                    return row.line
    return 1


def _lines(rows: Iterable[Row]) -> list[Claim]:
    return [claim for row in rows for claim in row.claims if claim.kind == "row"]


def _counts(
    kernel: str, places: Mapping[Place, str], shapes: Mapping[Sizes, list[Row]]
) -> Iterator[Finding]:
    counts = {
        place: sum(any(claim.place == place for claim in _lines(rows)) for rows in shapes.values())
        for place in places
    }
    if len(set(counts.values())) < 2:
        return
    said = ", ".join(f"{count} in its {PLACE[place]}" for place, count in counts.items())
    least = min(counts, key=lambda place: counts[place])
    yield Finding(
        kind="row-counts",
        sides=sides(
            (where, f"{counts[place]} shapes")
            for place, where in sorted(places.items(), key=lambda one: counts[one[0]])
        ),
        record=None,
        found=str(counts[least]),
        expected=str(len(shapes)),
        confidence="high",
        message=f"{kernel} has {len(shapes)} shapes altogether: {said}",
    )


def _missing_shapes(
    rows: list[Row], places: Mapping[Place, str], specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    claims = first_of_each(_lines(rows))
    first = rows[0]
    text = shape_text(specs[first.kernel], first.shape)
    for place, where in places.items():
        if place in claims:
            continue
        there = " and ".join(PLACE[one] for one in claims)
        yield Finding(
            kind="row-missing",
            sides=(Side(where, "—"), *(side(claim, text) for claim in claims.values())),
            record=shape_name(first.kernel, first.shape, None, specs),
            found="—",
            expected=text,
            confidence="high",
            message=f"{text} is in the {there} and not in the {PLACE[place]}",
        )


def _missing_variants(rows: list[Row], specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Of the places that list the shape: those without a variant that another one has."""
    claims = first_of_each(_lines(rows))
    for row in rows:
        if row.variant is None:
            continue
        here = first_of_each(claim for claim in _lines([row]) if measures(claim))
        if not here or stray_figure(row, rows, specs[row.kernel].metric) is not None:
            continue
        known = first_of_each(claim for claim in _lines([row]) if mentions(claim))
        for place, claim in claims.items():
            if place in known:
                continue
            there = " and ".join(PLACE[one] for one in here)
            text = f"{shape_text(specs[row.kernel], row.shape)} {row.variant}"
            yield Finding(
                kind="variant-missing",
                sides=(side(claim, "—"), *(side(one, text) for one in here.values())),
                record=row_name(row, specs),
                found="—",
                expected=text,
                confidence="high",
                message=f"{text} is in the {there}; the {PLACE[place]} lists the shape without it",
            )


def _doubles(row: Row, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    by_place: dict[Place, list[Claim]] = defaultdict(list)
    for claim in _lines([row]):
        by_place[claim.place].append(claim)
    text = shape_text(specs[row.kernel], row.shape) + (f" {row.variant}" if row.variant else "")
    for place, claims in by_place.items():
        lines = dict.fromkeys(claim.where for claim in claims)
        if len(lines) < 2:
            continue
        yield Finding(
            kind="row-twice",
            sides=tuple(Side(line, text) for line in lines),
            record=row_name(row, specs),
            found=f"{len(lines)} rows",
            expected="1 row",
            confidence="high",
            message=f"the {PLACE[place]} lists {text} {len(lines)} times",
        )
