"""What an existing registry says, as data: tables, claims and merged rows; nothing is read here.

A *claim* is what one place (a line of a details page or of the index, an entry of a JSON file) says
about one row. A *row* is a kernel x shape x variant with every claim about it. Which claim is right
is not decided here: `merge` chooses what a record holds, `drift` names what disagrees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from registry_tool.records.spec import KernelSpec

Place = Literal["details", "json", "index"]
# In the order in which a record believes them.
PLACES: tuple[Place, ...] = ("details", "json", "index")

# What a measured value is called in records; latency in microseconds, GFLOP/s, GB/s.
Field = Literal[
    "latency_us", "gflops", "gbps", "mean_rel_L1", "max_abs", "max_rel", "correlation", "tiles"
]

# `shapes`: tested shapes, one row a line; `pivot`: one column per variant; `sweep`: other tiles of
# a shape; `accuracy`: the figures of one shape, one a line; `parameters`: recommended knobs;
# `overview`: the kernels of the index; `other`: nothing about rows.
TableKind = Literal["shapes", "pivot", "sweep", "accuracy", "parameters", "overview", "other"]


@dataclass(frozen=True)
class Quantity:
    """One number as written, and what it says.

    ``low`` and ``high`` are in the unit of ``field`` and equal unless a range is written; ``half``
    is half a unit of the last digit, what rounding hides. ``column`` is the heading or JSON key
    that it stands under, and ``misplaced`` says that its own words or unit contradict that column.
    ``shared`` says that the line gives it once for several variants (a tier, or all of them).
    """

    field: Field
    written: str
    low: float
    high: float
    half: float
    column: str
    line: int
    bold: bool = False
    mark: str = ""
    sign: str = ""
    misplaced: bool = False
    shared: bool = False

    @property
    def value(self) -> float:
        """The middle of what is written, without the noise of binary fractions."""
        if self.low == self.high:
            return self.low
        return float(f"{(self.low + self.high) / 2:.12g}")

    @property
    def is_range(self) -> bool:
        """Whether two ends are written."""
        return self.low != self.high

    def agrees(self, other: Quantity) -> bool:
        """Whether both can be roundings of one value (or of one range)."""
        slack = (self.half + other.half) * (1 + 1e-9) + 1e-12 * abs(self.high)
        return self.low - other.high <= slack and other.low - self.high <= slack


@dataclass(frozen=True)
class Column:
    """One column: ``role`` is what `columns` makes of its heading, None where that is nothing.

    ``names`` are the dims, knobs or axes of its cells, in order; ``variants`` those that it is
    about, and ``tiers`` the precision tiers that its cells give side by side.
    """

    index: int
    title: str
    role: str | None
    names: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True)
class TableRow:
    """One line of a table.

    ``cells`` are what the author meant: ``sources`` as Markdown, ``cells`` as displayed. Where bare
    pipes make GitHub read the line otherwise, ``shown`` is what GitHub shows, and ``dropped`` what
    it leaves out; else ``shown`` is None.
    """

    line: int
    sources: tuple[str, ...]
    cells: tuple[str, ...]
    shown: tuple[str, ...] | None = None
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """One table; ``line`` is that of its header, ``lead`` the paragraph before it."""

    file: str
    place: Place
    line: int
    kind: TableKind
    kernel: str | None
    variant: str | None
    heading: str
    heading_line: int
    lead: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]

    def column(self, role: str) -> Column | None:
        """The first column of a role, or None."""
        return next((column for column in self.columns if column.role == role), None)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What one place says about one row.

    ``tile`` and ``herd`` hold what is written there, which may be a part or nothing. ``glyph`` is
    that of the status column (or of the cell of this variant, ``cell_glyph``). ``used_by`` is the
    text about call sites as written. ``notes`` are all remaining words, each with the title of its
    column. ``cells`` are the cells of the line by column title, as displayed.
    ``says_nothing`` marks a claim without any number, tile or glyph of its own.
    """

    place: Place
    file: str
    line: int
    kernel: str
    shape: dict[str, int]
    variant: str | None
    kind: Literal["row", "accuracy", "sweep"] = "row"
    table: int | None = None
    tile: dict[str, int] = field(default_factory=dict)
    herd: tuple[int, ...] | None = None
    herd_is_default: bool = False
    quantities: tuple[Quantity, ...] = ()
    glyph: str | None = None
    cell_glyph: str | None = None
    used_by: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    layout: str = ""
    tier: str | None = None
    bold: bool = False
    inherited: bool = False
    shifted: bool = False
    cells: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """``file:line``, relative to the registry that was read."""
        return f"{self.file}:{self.line}"

    def quantity(self, name: str) -> Quantity | None:
        """The first quantity of a field, one in its own column before a misplaced one."""
        found = [one for one in self.quantities if one.field == name]
        return min(found, key=lambda one: (one.misplaced, one.shared), default=None)


@dataclass(frozen=True)
class Entry:
    """One shape of a JSON file, as a whole: what it says beyond its methods.

    ``best`` is precision tier to variant; ``line`` that of its opening brace, and ``lines`` those
    of its keys (``best``, ``_note``, ``methods/drain`` ...).
    """

    file: str
    line: int
    kernel: str
    shape: dict[str, int]
    best: dict[str, str]
    used_by: str
    note: str
    lines: dict[str, int]


@dataclass(frozen=True)
class Source:
    """One file that was read, relative to the registry's folder; ``data`` are its bytes."""

    name: str
    place: Place
    kernel: str | None
    data: bytes
    sha256: str


@dataclass(frozen=True)
class Remark:
    """Words that belong to no row: a line of a sweep without a shape, a footnote, a comment."""

    file: str
    line: int
    kernel: str | None
    text: str


RowKey = tuple[str, tuple[int, ...], str | None]


@dataclass(frozen=True)
class Row:
    """A kernel x shape x variant, with every claim, in the order of PLACES and of lines.

    ``sweeps`` are lines of sweep tables about the same shape: they become notes.
    """

    kernel: str
    shape: dict[str, int]
    variant: str | None
    claims: tuple[Claim, ...]
    sweeps: tuple[Claim, ...] = ()

    @property
    def key(self) -> RowKey:
        """Kernel, sizes and variant."""
        return self.kernel, tuple(self.shape.values()), self.variant

    def of(self, place: Place) -> tuple[Claim, ...]:
        """The claims of one place that are lines of rows, not of an accuracy table."""
        return tuple(one for one in self.claims if one.place == place and one.kind == "row")

    def quantities(self, name: str) -> Iterator[tuple[Claim, Quantity]]:
        """Every value of a field, with its claim, in the order in which a record believes them."""
        for claim in self.claims:
            for quantity in claim.quantities:
                if quantity.field == name:
                    yield claim, quantity

    def tile(self) -> dict[str, int]:
        """The tile that the claims give together: the first to name a knob decides it."""
        found: dict[str, int] = {}
        for claim in self.claims:
            for knob, size in claim.tile.items():
                found.setdefault(knob, size)
        return found

    def herd(self) -> tuple[int, ...] | None:
        """The herd that the first claim with one of its own gives, else a file's default."""
        own = [one for one in self.claims if one.herd is not None]
        own.sort(key=lambda one: one.herd_is_default)
        return own[0].herd if own else None


@dataclass(frozen=True)
class Adoption:
    """An existing registry, read whole."""

    folder: Path
    specs: Mapping[str, KernelSpec]
    sources: tuple[Source, ...]
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...]
    entries: tuple[Entry, ...]
    rows: tuple[Row, ...]
    defaults: Mapping[str, Mapping[str, int]]
    remarks: tuple[Remark, ...] = ()

    def row(
        self, kernel: str, shape: Mapping[str, int] | tuple[int, ...], variant: str | None
    ) -> Row | None:
        """One row, or None."""
        sizes = tuple(shape.values()) if isinstance(shape, Mapping) else shape
        return self._by_key.get((kernel, sizes, variant))

    @property
    def _by_key(self) -> dict[RowKey, Row]:
        return {row.key: row for row in self.rows}

    def siblings(self, row: Row) -> tuple[Row, ...]:
        """Every row of the same kernel and shape, this one included."""
        return tuple(one for one in self.rows if one.key[:2] == row.key[:2])

    def source(self, name: str) -> Source:
        """One file that was read; raises KeyError for another."""
        for source in self.sources:
            if source.name == name:
                return source
        raise KeyError(name)

    def entry(self, kernel: str, shape: Mapping[str, int]) -> Entry | None:
        """The JSON entry of a shape, or None."""
        for entry in self.entries:
            if entry.kernel == kernel and entry.shape == dict(shape):
                return entry
        return None
