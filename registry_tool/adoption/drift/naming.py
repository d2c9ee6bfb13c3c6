"""What findings call a row, a shape, a place; nothing is judged here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from registry_tool.adoption.drift.figures import shown
from registry_tool.adoption.drift.finding import Side
from registry_tool.adoption.model import Adoption, Claim, Place, Quantity, Row
from registry_tool.records.keys import key_of
from registry_tool.records.spec import KernelSpec

PLACE: Mapping[Place, str] = {"details": "details page", "json": "JSON", "index": "index"}


def row_name(row: Row, specs: Mapping[str, KernelSpec]) -> str:
    """``Kernel/key`` of a row, as in the paths of records."""
    return shape_name(row.kernel, row.shape, row.variant, specs)


def shape_name(
    kernel: str, shape: Mapping[str, int], variant: str | None, specs: Mapping[str, KernelSpec]
) -> str:
    """``Kernel/key`` of a shape, with or without a variant."""
    return f"{kernel}/{key_of(specs[kernel].dims, shape, variant)}"


def measures(claim: Claim) -> bool:
    """Whether a claim gives a figure of its own to its row."""
    return any(not quantity.shared for quantity in claim.quantities)


def mentions(claim: Claim) -> bool:
    """Whether a claim says anything of its own about its row: a figure, a tile, a mark."""
    return measures(claim) or bool(claim.tile) or claim.cell_glyph is not None


def side(claim: Claim, value: str) -> Side:
    """A side of a finding."""
    return Side(claim.where, value)


def figure_side(claim: Claim, figure: Quantity) -> Side:
    """A side that is one figure; its own line, where the claim has several (JSON)."""
    return Side(f"{claim.file}:{figure.line}", shown(figure))


def places_of(adoption: Adoption, kernel: str) -> dict[Place, str]:
    """The places in which a kernel has rows, each with the ``file:line`` where they begin."""
    found: dict[Place, str] = {}
    for table in adoption.tables:
        if table.kernel == kernel and table.kind in ("shapes", "pivot"):
            found.setdefault(table.place, f"{table.file}:{table.line}")
    for entry in adoption.entries:
        if entry.kernel == kernel:
            found.setdefault("json", f"{entry.file}:{entry.line}")
    return found


def first_of_each(claims: Iterable[Claim]) -> dict[Place, Claim]:
    """The first claim of each place."""
    found: dict[Place, Claim] = {}
    for claim in claims:
        found.setdefault(claim.place, claim)
    return found
