"""How the cells of an existing column are written: its template, and the cells that differ.

What contradicts its row is not kept: there the column's own template speaks, and the drift report
says why.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from registry_tool.adoption import mark_bold
from registry_tool.adoption.columns import Words
from registry_tool.adoption.mark_written import (
    GLYPH,
    MEASURED,
    NUMBER,
    WORDED,
    Cell,
    Written,
    subject_of,
    written,
)
from registry_tool.adoption.model import Column
from registry_tool.records.layout import CellLayout, ColumnLayout
from registry_tool.records.spec import KernelSpec
from registry_tool.tables import layout, layout_figures
from registry_tool.tables.columns import NOTHING
from registry_tool.tables.layout import Kernel
from registry_tool.tables.layout_template import literal, place, places
from registry_tool.tables.layout_values import METRICS, Subject, Value

_EMPTY = re.compile(r"(?:[-–—]+|n/?a|none|tbd|\?)?", re.I)
_OTHER_HERD = "other_herd"
_FIXED = {
    "used_by": "{used_by}",
    "notes": "{notes}",
    "variant": "{variant}",
    "tier": "{precision}",
    "tiles": "{tiles}",
}
_USUAL = {
    "latency_us": "{latency_us:.0f} µs",
    "gflops": "{gflops:.0f}",
    "gbps": "{gbps:.1f}",
    "mean_rel_L1": "{mean_rel_L1:.1e}",
    "max_abs": "{max_abs:.1e}",
    "max_rel": "{max_rel:.1e}",
}


def column(
    spec: KernelSpec,
    read: Column,
    title: str,
    rule: str,
    seen: Sequence[Cell],
    kernels: Mapping[str, Kernel],
    has_users: bool,
    has_herd: bool,
) -> tuple[ColumnLayout, list[CellLayout | None]]:
    """The layout of a column, and the wording of each of its cells that has one of its own.

    ``has_users`` and ``has_herd`` say whether the table has a column for them; where it has none,
    the status column names the users of new rows, and the tile column a herd of their own.
    """
    words = Words(spec)
    bare = ColumnLayout(title=title, rule=rule, cell="")
    sample = replace(bare, cell=_usual(read))
    if read.role in METRICS:
        bare = replace(bare, bold=mark_bold.rule_of(sample, seen, kernels))
    sample = replace(sample, bold=bare.bold)
    stripped = [
        dataclasses.replace(cell, source=mark_bold.without(cell.source))
        if mark_bold.is_ruled(sample, cell, kernels)
        else cell
        for cell in seen
    ]
    made = [written(cell, read, words) for cell in stripped]
    for at, one in enumerate(made):
        # Bold that no figure carries is the cell's own.
        spelled = any(quantity.field in METRICS for quantity in seen[at].quantities)
        if not spelled and not any(found.name in METRICS for found in places(one.template)):
            stripped[at], made[at] = seen[at], written(seen[at], read, words)
    chosen = replace(bare, cell=_common(read, made, stripped, bare, kernels, has_users))
    if read.role == "config" and spec.tile and not has_herd:
        chosen = replace(chosen, cell=f"{chosen.cell} {place(_OTHER_HERD)}")
    chosen = replace(chosen, measures=layout_figures.measures(chosen.cell))
    wordings = [
        _wording(chosen, read, cell, one, kernels) for cell, one in zip(stripped, made, strict=True)
    ]
    return chosen, [
        None if one is None or layout_figures.of_wording(chosen, one) is not None else one
        for one in wordings
    ]


def _usual(read: Column) -> str:
    """What a column shows of a row where nothing that is written says otherwise."""
    role = read.role or ""
    if role in _FIXED:
        return _FIXED[role]
    if role in ("shape", "config"):
        return "/".join(place(name.rpartition(".")[2]) for name in read.names)
    if read.tiers and role in MEASURED:
        return " / ".join(_of_subject(_USUAL[role], tier) for tier in read.tiers)
    return _of_subject(_USUAL.get(role, NOTHING), subject_of(read))


def _of_subject(template: str, subject: str | None) -> str:
    return template.replace("{", f"{{{subject}.") if subject else template


def _common(
    read: Column,
    made: Sequence[Written],
    seen: Sequence[Cell],
    bare: ColumnLayout,
    kernels: Mapping[str, Kernel],
    has_users: bool,
) -> str:
    """The template that most cells are written in."""
    role = read.role or ""
    if role == "status":
        usual = place("status", None, subject_of(read))
        return usual if has_users else f"{usual} {{used_by}}"
    if role in _FIXED and role in WORDED:
        return _FIXED[role]
    offered = Counter(one.template for one in made if places(one.template) and not one.unexplained)
    offered_first = dict.fromkeys([t for t, _ in offered.most_common(12)])
    tried = [
        one
        for one in (*offered_first, *_further(read, seen))
        if layout_figures.of_column(replace(bare, cell=one)) is None
    ]
    scores = [
        (sum(_shows(replace(bare, cell=one), cell, kernels) for cell in seen), -at, one)
        for at, one in enumerate(tried)
    ]
    best = max(scores, default=(0, 0, ""))
    return best[2] if best[0] else _usual(read)


def _further(read: Column, seen: Sequence[Cell]) -> Iterator[str]:
    """Templates that no single cell suggests: quotients, and words for a dim that is 0 or 1."""
    if read.role == "derived":
        ones = [(cell.line.pick, int(cell.source)) for cell in seen if cell.source.isdecimal()]
        held = [(one, wanted) for one, wanted in ones if one is not None]
        for found in _quotients(held[0][0]) if held else ():
            if all(one.value(found) == wanted for one, wanted in held):
                yield place(found)
    if read.role == "shape" and len(read.names) == 1:
        name = read.names[0]
        by_value: dict[bool, str] = {}
        for cell in seen:
            if cell.line.pick is not None and not NUMBER.search(cell.source):
                by_value.setdefault(bool(cell.line.pick.value(name)), cell.source)
        if by_value:
            yield place(name, f"{by_value.get(True, 'yes')}|{by_value.get(False, 'no')}")


def _shows(column: ColumnLayout, cell: Cell, kernels: Mapping[str, Kernel]) -> bool:
    found = layout.cell(column, None, cell.line, kernels, None)
    return mark_bold.without(found) == mark_bold.without(cell.source)


def _quotients(one: Subject) -> Iterator[str]:
    """Every quotient of a dim and a knob or another dim of a row."""
    sizes = [name for name in (*one.spec.tile, *one.spec.dims) if one.value(name)]
    for over in one.spec.dims:
        for under in sizes:
            if over != under:
                yield f"{over} // {under}"


def _wording(
    column: ColumnLayout,
    read: Column,
    cell: Cell,
    made: Written,
    kernels: Mapping[str, Kernel],
) -> CellLayout | None:
    """The wording of a cell, None where the column's template says the same or has to speak."""
    role = read.role or ""
    line = cell.line
    if _same(layout.cell(column, None, line, kernels, None), cell, column, kernels):
        return None
    usual = [one for one in places(column.cell) if one.name not in (*WORDED, "status")]
    kept = {(one.subject, one.name) for one in places(made.template)}
    template = made.template
    if role in MEASURED or role in ("config", "tiles"):
        missing = [one for one in usual if (one.subject, one.name) not in kept]
        silent = [
            one for one in missing if one.name != _OTHER_HERD and not _same_field(one.name, kept)
        ]
        contradicts = any(line.value(one) is not None for one in silent)
        if contradicts and not read.variants and _EMPTY.fullmatch(cell.source.strip()):
            # Nothing is said here, so nothing is contradicted.
            contradicts = False
        if contradicts and GLYPH.fullmatch(cell.source.strip()) and not _is_contested(read, cell):
            # A mark in the place of a figure is a claim about it, and nobody says otherwise.
            contradicts = False
        if made.unexplained or contradicts:
            if made.wrong_settings or not _rounds_alike(role, read, cell):
                return None
            template = literal(cell.source)
            kept = set()
    of: dict[str, Value] = {}
    for one in usual:
        if (one.subject, one.name) not in kept and role in (*MEASURED, "config", "tiles"):
            of[f"{one.subject}.{one.name}" if one.subject else one.name] = line.value(one)
    if role in WORDED:
        said = list(line.words(role))
        return CellLayout(text=template, of=of, **{role: said})
    if role == "status" and "{used_by}" in column.cell:
        return CellLayout(text=template, of=of, used_by=list(line.words("used_by")))
    return CellLayout(text=template, of=of)


def _is_contested(read: Column, cell: Cell) -> bool:
    """Whether some page calls a row of the column good."""
    own = [one for one in cell.line.subjects if one.row.variant in read.variants]
    return any(not one.row.facts.doubted for one in own)


def _same(found: str, cell: Cell, column: ColumnLayout, kernels: Mapping[str, Kernel]) -> bool:
    """Whether a cell is what stands there; bold does not count where the column's rule gives it."""
    if mark_bold.is_ruled(column, cell, kernels):
        return mark_bold.without(found) == mark_bold.without(cell.source)
    return found == cell.source


def _same_field(name: str, kept: set[tuple[str | None, str]]) -> bool:
    """Whether a cell shows the field of another row of its line, or in another unit."""
    field = name.rpartition("_")[0] if name.startswith("latency") else name
    return any(other == name or (field and other.startswith(field)) for _, other in kept)


def _rounds_alike(role: str, read: Column, cell: Cell) -> bool:
    """Whether each figure that is written is what a row of the line says, rounded or as a range."""
    own = [one for one in cell.quantities if one.field == role]
    if not own or len(own) != len(cell.quantities) or role not in MEASURED:
        return False
    subjects = [cell.line.subject(subject_of(read))] if read.variants else list(cell.line.subjects)
    return all(any(cell.agrees(one, two) for two in subjects if two is not None) for one in own)
