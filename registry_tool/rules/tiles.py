"""KR201-KR203: a herd that uses the array, and a tiling that the kernel is known to get right."""

from __future__ import annotations

from collections.abc import Iterator

from registry_tool.planning.search import COMPUTED, legal_herds, under_target_note
from registry_tool.records import kernel
from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.views import RowView

_SHOWN = 8


def _product(row: RowView) -> Iterator[Complaint]:
    record = row.record
    tiles = kernel.tiles_in_flight(record.herd)
    if tiles != record.tiles_in_flight:
        herd = "×".join(map(str, record.herd))
        yield Complaint(
            f"the herd {herd} has {tiles} tiles in flight, the row says {record.tiles_in_flight}",
            "/tiles_in_flight",
        )


def _target_or_reason(row: RowView) -> Iterator[Complaint]:
    record, spec = row.record, row.spec
    tiles = kernel.tiles_in_flight(record.herd)
    if spec is None or tiles >= spec.tiles_target:
        return
    claims = [note for note in record.notes if note.startswith(_CLAIM)]
    said = [note for note in record.notes if not note.startswith(COMPUTED)]
    if not claims and said:
        return
    computed = under_target_note(spec, record.shape, record.variant)
    more = [
        herd
        for herd in legal_herds(spec, record.shape, record.variant)
        if kernel.tiles_in_flight(herd) > tiles
    ]
    if computed in claims and not more:
        return
    lead = f"{tiles} of {spec.tiles_target} tiles in flight"
    if more:
        shown = ", ".join("×".join(map(str, herd)) for herd in more[:_SHOWN])
        others = f" and {len(more) - _SHOWN} more" if len(more) > _SHOWN else ""
        why = f"legal herds with more are {shown}{others}"
    else:
        why = "no legal herd has more, and no note says so"
    wrong = "the computed note is not true of this row; " if claims else ""
    at = f"/notes/{record.notes.index(claims[0])}" if claims else "/herd"
    yield Complaint(f"{lead}, {wrong}{why}", at)


_CLAIM = f"{COMPUTED}no legal herd"


_GUIDELINE = "nothing must be done; registry-tool plan shows whether another tile keeps to it"


def _constraints(row: RowView) -> Iterator[Complaint]:
    record, spec = row.record, row.spec
    if spec is None:
        return
    for broken in kernel.violations(spec, record.shape, record.variant, record.tile, record.herd):
        message = f"{broken.id}: {broken.message}"
        if broken.hard:
            yield Complaint(message, "/tile")
        else:
            yield Complaint(message, "/tile", severity="warning", fix=_GUIDELINE)


RULES = (
    Rule(
        id="KR201",
        title="wrong product",
        summary="tiles_in_flight is not the product of the herd's extents.",
        rationale="The number is derived; a row where it differs was edited.",
        fix="git checkout HEAD -- FILE, or VERIFY --force",
        on_row=_product,
    ),
    Rule(
        id="KR202",
        title="unused array",
        summary="A row has fewer tiles in flight than its kernel's target, and no note says why. "
        "A computed reason is computed again.",
        rationale="A herd that leaves compute tiles idle is a shape nobody tuned, or a constraint "
        "worth knowing; the note tells which.",
        fix='registry-tool note ROW "why", or VERIFY --force --herd LARGER',
        waivable="always",
        owed=True,
        on_row=_target_or_reason,
    ),
    Rule(
        id="KR203",
        title="illegal tiling",
        summary="Tile and herd break a hard constraint of the kernel, or are known to be wrong. A "
        "guideline that recorded rows break only warns.",
        rationale="What a tiling does not cover is never written, often silently.",
        fix="registry-tool plan shows a legal tile and herd; registry-tool verify runs it",
        waivable="warnings",
        owed=True,
        on_row=_constraints,
    ),
)
