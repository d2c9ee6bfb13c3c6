"""Regions of a page in columns and an order of its own: from a `Layout` and the rows it shows.

Markdown goes out and nothing is read; which page has a layout is `layout_files`' affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from msgspec import UNSET

from registry_tool.errors import RegistryError
from registry_tool.records import kernel
from registry_tool.records.layout import CellLayout, ColumnLayout, Layout, TableLayout
from registry_tool.records.spec import KernelSpec
from registry_tool.tables import layout_template
from registry_tool.tables.cells import escape, row
from registry_tool.tables.columns import NOTHING
from registry_tool.tables.layout_template import Place, literal
from registry_tool.tables.layout_values import (
    INHERITED,
    METRICS,
    SILENT,
    Subject,
    Value,
    shape_key,
    written,
)
from registry_tool.tables.rows import Row, caveats, is_good

_FIGURE = re.compile(
    r"[~≈]?\d[\d.,]*(?:\s?[–-]\s?\d[\d.,]*)?(?: (?:[A-Za-z]+/s|[GT]FLOPS|[GM]Bps)(?!\w))?"
)
_UNIT = re.compile(r" ?(?:[A-Za-z]+/s|[GT]FLOPS|[GM]Bps)(?![\w*])")
_BREAKS = re.compile(r"[\r\n]+")
_HUMAN = ("used_by", "notes")
_BETWEEN = {"used_by": " + ", "notes": "; "}


@dataclass(frozen=True)
class Kernel:
    """A kernel's rows on the target of the page, in the order of the kernel."""

    spec: KernelSpec
    rows: Sequence[Row]

    @cached_property
    def subjects(self) -> list[Subject]:
        """Its rows with their spec."""
        return [Subject(one, self.spec) for one in self.rows]

    @cached_property
    def best_siblings(self) -> Mapping[tuple[tuple[int, ...], str], float]:
        """Best throughput of each shape and tier that several measured variants have."""
        speeds: dict[tuple[tuple[int, ...], str], list[float]] = {}
        for one in self.rows:
            if one.throughput is not None and not one.facts.failed:
                speeds.setdefault((one.shape, one.tier), []).append(one.throughput)
        return {key: max(found) for key, found in speeds.items() if len(found) > 1}


@dataclass(frozen=True)
class Line:
    """What one line of a table shows: ``key`` names it, ``subjects`` are its rows.

    ``pick`` is the row that a name without a subject means; None where no row is left. ``sign``
    stands behind a figure that is another row's.
    """

    key: str
    spec: KernelSpec | None
    subjects: tuple[Subject, ...]
    pick: Subject | None
    sign: str = INHERITED

    def ties(self) -> Iterator[Line]:
        """The line about each other row that is as fast as the one that it shows, in order."""
        top = None if self.pick is None else self.pick.row.throughput
        for one in self.subjects if top is not None else ():
            if one.row.throughput == top and one is not self.pick and not one.row.facts.failed:
                yield replace(self, pick=one)

    def subject(self, name: str | None) -> Subject | None:
        """The row of a place: a variant's, or the best one of a tier; None if there is none."""
        if name is None:
            return self.pick
        if name in ("high", "low"):
            return best([one for one in self.subjects if one.row.tier == name])
        return next((one for one in self.subjects if one.row.variant == name), None)

    def value(self, place: Place) -> Value:
        """The value of a place; None where its row is missing."""
        if place.name in _HUMAN:
            return _BETWEEN[place.name].join(self.words(place.name)) or None
        if place.name == "status":
            return status(self, place)
        subject = self.subject(place.subject)
        if subject is None:
            return self.key if place.name == "kernel" else None
        return subject.value(place.name)

    def words(self, name: str) -> tuple[str, ...]:
        """What people wrote into a human-owned field of its rows, once each."""
        found: dict[str, None] = {}
        for one in self.subjects:
            found.update(dict.fromkeys(getattr(one.row, name)))
        return tuple(found)


@dataclass(frozen=True)
class TableText:
    """A table before it is put together: sources of its headings and cells, and its lines."""

    titles: list[str]
    rules: list[str]
    lines: list[Line]
    cells: list[list[str]]

    @property
    def text(self) -> str:
        """The table as Markdown."""
        head = [row(list(map(cell_source, self.titles))), "|" + "|".join(self.rules) + "|"]
        return "\n".join([*head, *(row(list(map(cell_source, line))) for line in self.cells), ""])


def best(subjects: Iterable[Subject]) -> Subject | None:
    """The fastest row that no run disproved and some page calls good: of tier high if it can be."""
    standing = [one for one in subjects if not one.row.facts.failed]
    if not standing:
        return None
    # The order of the kernel decides where nothing was measured.
    order = _preference(standing[0])
    return min(
        standing,
        key=lambda one: (
            one.row.facts.doubted,
            one.row.tier == "low",
            -(one.row.throughput or 0.0),
            order.get(one.row.variant, len(order)),
        ),
    )


def _preference(one: Subject) -> dict[str | None, int]:
    shape = dict(zip(one.spec.dims, one.row.shape, strict=True))
    names = kernel.variant_order(one.spec, shape)
    return {name: at for at, name in enumerate(names)}


def status(line: Line, place: Place) -> str | None:
    """The status of a line: of its own row, of a variant's, or of all rows of a kernel.

    For rows that nobody has run here yet it is the mark that their page had: the format of the
    place, where this table says something else than the record kept. A mark that the record kept
    is no pass where something is known against the row.
    """
    if place.subject is not None or len(line.subjects) < 2 or line.pick is None:
        one = line.subject(place.subject)
        rows = [] if one is None else [one.row]
    elif line.key == line.pick.spec.kernel:
        rows = [one.row for one in line.subjects]
    else:
        rows = [line.pick.row]
    if not rows:
        return None
    if all(one.clean for one in rows):
        return rows[0].facts.status
    open_rows = [one for one in rows if not one.clean]
    if all(one.facts.imported and not one.facts.waived for one in open_rows):
        if place.form:
            return place.form
        if len(rows) == 1:
            beside = line.subjects if place.subject is None else ()
            return _claimed_status(line, rows[0], beside)
    # Of a whole kernel, only the mark: its page has the reasons.
    doubtful = next((one for one in open_rows if one.facts.waived or not one.facts.imported), None)
    text = (doubtful or open_rows[0]).facts.status
    return text if len(rows) == 1 else text.split()[0]


def _claimed_status(line: Line, row: Row, beside: Iterable[Subject]) -> str:
    """The mark that an imported row has from its page, or what is known against it.

    A line that shows the figures of other rows too says which of them failed or contradict.
    """
    facts = row.facts
    assert line.spec is not None
    if facts.claim is None or facts.doubted or not is_good(facts.claim):
        return facts.claim or facts.status
    against = caveats(line.spec, row)
    against += [
        f"{one.row.variant} {caveat}"
        for one in beside
        if one.row != row
        for caveat in caveats(line.spec, one.row)
        if caveat in ("failing", "contradicted")
    ]
    if not against and not facts.contested:
        return facts.claim
    return ": ".join([facts.status, *([", ".join(against)] if against else [])])


def page(layout: Layout, kernels: Mapping[str, Kernel], sign: str = INHERITED) -> dict[str, bytes]:
    """The body of each region of a page; ``kernels`` are those of the registry, by name.

    ``sign`` stands behind a figure that is another row's, see `layout_files.sign_of`.
    Raises RegistryError for a layout that names a kernel or a value that does not exist.
    """
    return {
        table.region: f"\n{assembled(table, kernels, sign).text}\n".encode()
        for table in layout.tables
    }


def blank(layout: Layout) -> bytes:
    """What a page that is not there yet starts from: a heading and its regions."""
    regions = [
        f"<!-- registry:begin {table.region} -->\n<!-- registry:end -->\n"
        for table in layout.tables
    ]
    return "\n".join([f"# {layout.page}\n", *regions]).encode()


def column_keys(titles: Sequence[str]) -> list[str]:
    """What the cells of each column are called in a line: its heading, numbered if there twice."""
    seen: dict[str, int] = {}
    keys = []
    for title in titles:
        seen[title] = seen.get(title, 0) + 1
        keys.append(title if seen[title] == 1 else f"{title}#{seen[title]}")
    return keys


def assembled(
    table: TableLayout, kernels: Mapping[str, Kernel], sign: str = INHERITED
) -> TableText:
    """One table of a layout, cell by cell."""
    lines = [replace(line, sign=sign) for line in lines_of(table, kernels)]
    wordings = {line.row: line.cells for line in table.lines if line.row is not None}
    words = iter([line.cells for line in table.lines if line.row is None])
    leading = [_leading(column, lines) for column in table.columns]
    keys = column_keys([column.title for column in table.columns])
    cells = []
    for line in lines:
        own = wordings.get(line.key, {}) if line.key else next(words)
        cells.append(
            [
                cell(column, own.get(key), line, kernels, lead)
                for column, key, lead in zip(table.columns, keys, leading, strict=True)
            ]
        )
    titles = [column.title for column in table.columns]
    return TableText(titles, [column.rule for column in table.columns], lines, cells)


def lines_of(table: TableLayout, kernels: Mapping[str, Kernel]) -> list[Line]:
    """The lines of a table: those it names and that have rows, then the others that it is for."""
    known = _known_lines(table, kernels)
    named = []
    for line in table.lines:
        if line.row is None:
            named.append(Line("", None, (), None))
        elif line.row in known:
            named.append(known.pop(line.row))
    return [*named, *(known.values() if table.new_lines else ())]


def _known_lines(table: TableLayout, kernels: Mapping[str, Kernel]) -> dict[str, Line]:
    if table.lines_of == "kernel":
        return {
            name: Line(name, one.spec, tuple(one.subjects), fastest(one.subjects))
            for name, one in kernels.items()
            if one.rows
        }
    found = kernels.get(table.kernel or "")
    if found is None:
        raise RegistryError(
            f"the region {table.region!r} of a layout is of the kernel {table.kernel!r}; "
            f"known are {', '.join(kernels)}"
        )
    subjects = [
        one for one in found.subjects if not table.variants or one.row.variant in table.variants
    ]
    if table.lines_of == "row":
        return {one.key: Line(one.key, found.spec, (one,), one) for one in subjects}
    by_shape: dict[str, list[Subject]] = {}
    for one in subjects:
        by_shape.setdefault(shape_key(one.row.shape), []).append(one)
    return {key: Line(key, found.spec, tuple(own), best(own)) for key, own in by_shape.items()}


def fastest(subjects: Iterable[Subject]) -> Subject | None:
    """The row with the highest throughput that no run disproved; of several, the first."""
    standing = [one for one in subjects if not one.row.facts.failed]
    return max(standing, key=lambda one: one.row.throughput or 0.0, default=None)


def holds(wording: CellLayout, line: Line) -> bool:
    """Whether the rows still say what a cell's own wording was written for."""
    for name in _HUMAN:
        said = getattr(wording, name)
        if said is not UNSET and not set(said) <= set(line.words(name)):
            return False
    return all(
        line.value(layout_template.places(layout_template.place(name))[0]) == value
        for name, value in wording.of.items()
    )


def holding(wording: CellLayout, line: Line, column: ColumnLayout) -> Line | None:
    """The line as a cell's own wording speaks of it; None where it is not true of it any more.

    Of several rows that are equally fast the wording may mean another one than the first: the best
    figure that a page names is that of a row, with words that are true of this row.
    """
    if holds(wording, line):
        return line
    if line.spec is None or not any(one.name in METRICS for one in _measured_places(column)):
        return None
    return next((one for one in line.ties() if holds(wording, one)), None)


def _measured_places(column: ColumnLayout) -> list[Place]:
    """The places of a column that show the line's own speed; only these have ties."""
    return [one for one in layout_template.places(column.cell) if one.subject is None]


def cell(
    column: ColumnLayout,
    wording: CellLayout | None,
    line: Line,
    kernels: Mapping[str, Kernel],
    leading: float | None,
) -> str:
    """The Markdown of one cell; ``leading`` is the best of the column (see `ColumnLayout.bold`)."""
    if wording is None and line.spec is None:
        return ""
    told = None if wording is None else holding(wording, line, column)
    if wording is None or told is None:
        return _written(column.cell, column, line, kernels, leading)
    text, line = wording.text, told
    for name in _HUMAN:
        said = getattr(wording, name)
        later = () if said is UNSET else [one for one in line.words(name) if one not in said]
        if later:
            more = literal(escape(_BETWEEN[name].join(later)))
            text = f"{text}{_BETWEEN[name] if text else ''}{more}"
    return _written(text, column, line, kernels, leading)


def _written(
    template: str,
    column: ColumnLayout,
    line: Line,
    kernels: Mapping[str, Kernel],
    leading: float | None,
) -> str:
    places = layout_template.places(template)
    metric = next((one for one in places if one.name in METRICS), None)
    strong = None
    if column.bold is not None and metric is not None:
        strong = _is_bold(column, line, _shown(metric, line), kernels, leading)
    elif _spells(template, column, line) and _is_bold(
        column, line, _shown(_metric(column), line), kernels, leading
    ):
        # A figure that no format gives back, e.g. a range, stands in for its value.
        template = _FIGURE.sub(r"**\g<0>**", template, count=1)
    if places and all(line.value(one) is None for one in places):
        rest = layout_template.parse(template)
        return "" if all(one.name in _HUMAN for one in places) and len(rest) == 1 else NOTHING
    parts = []
    for part in layout_template.parse(template):
        if isinstance(part, Place):
            text = _place(part, line)
            parts.append(f"**{text}**" if strong and part is metric else text)
        elif strong and parts and parts[-1].endswith("**") and (unit := _UNIT.match(part)):
            # The unit is part of the figure.
            parts[-1] = f"{parts[-1][:-2]}{unit[0]}**"
            parts.append(part[unit.end() :])
        else:
            parts.append(part)
    return "".join(parts).strip(" \t")


def _place(part: Place, line: Line) -> str:
    value = line.value(part)
    if part.name in SILENT:
        return escape(str(value or ""))
    subject = line.subject(part.subject)
    mark = line.sign if subject is not None and subject.inherits(part.name) else ""
    return written(value, part.form) + mark


def _spells(template: str, column: ColumnLayout, line: Line) -> bool:
    """Whether a cell without a place for its figure spells it out all the same."""
    metric = _metric(column)
    if column.bold is None or metric is None or line.value(metric) is None or "**" in template:
        return False
    return _FIGURE.match(template) is not None


def _metric(column: ColumnLayout) -> Place | None:
    return next((one for one in layout_template.places(column.cell) if one.name in METRICS), None)


def _shown(place: Place | None, line: Line) -> Subject | None:
    return None if place is None else line.subject(place.subject)


def _leading(column: ColumnLayout, lines: Sequence[Line]) -> float | None:
    """The best throughput of a column, for those whose best is bold."""
    if column.bold != "column":
        return None
    shown = [_shown(_metric(column), line) for line in lines]
    speeds = [one.row.throughput for one in shown if one is not None and not one.row.facts.failed]
    return max((speed for speed in speeds if speed is not None), default=None)


def bold(
    column: ColumnLayout, lines: Sequence[Line], kernels: Mapping[str, Kernel]
) -> list[bool | None]:
    """What the column's rule says of each of its figures; None where it says nothing."""
    leading = _leading(column, lines)
    return [
        _is_bold(column, line, _shown(_metric(column), line), kernels, leading) for line in lines
    ]


def _is_bold(
    column: ColumnLayout,
    line: Line,
    subject: Subject | None,
    kernels: Mapping[str, Kernel],
    leading: float | None,
) -> bool | None:
    """Whether a figure must be bold; None where the rule says nothing of it."""
    if subject is None:
        return False if column.bold != "siblings" else None
    one = subject.row
    if column.bold == "column":
        return one.throughput is not None and one.throughput == leading
    if column.bold == "line":
        return line.pick is not None and line.pick.row == one
    top = kernels[subject.spec.kernel].best_siblings.get((one.shape, one.tier))
    return None if top is None or one.throughput is None else one.throughput == top


def cell_source(cell: str) -> str:
    """A cell as it stands in a table line: a pipe in it does not divide."""
    return _BREAKS.sub("<br>", _PIPE.sub(r"\\|", cell))


_PIPE = re.compile(r"(?<!\\)\|")
