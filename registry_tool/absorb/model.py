"""What absorbing a page comes to: edits, rows to verify, rows to retire, and what is refused."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from registry_tool.records.keys import RowId
from registry_tool.records.layout import CellLayout
from registry_tool.records.record import Record, Use

DROP = "registry-tool render --force drops what was edited by hand"


@dataclass(frozen=True)
class Place:
    """A row of a table in a page; ``line`` counts ``\\n`` from 1."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Edit:
    """A cell that a person changed and may change; ``before`` and ``after`` are what it shows.

    ``remarks`` are what the person should know about how the cell was read; ``rows`` are those
    that it changed, none where the words are only the page's.
    """

    place: Place
    row: str
    column: str
    before: str
    after: str
    remarks: Sequence[str] = ()
    rows: Sequence[RowId] = ()


@dataclass(frozen=True)
class Refusal:
    """Something in a table that cannot be taken over; ``fix`` is what to type instead.

    ``column``, ``before`` and ``after`` are set where it is about one cell.
    """

    place: Place
    row: str
    message: str
    fix: str
    column: str | None = None
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A row that a person added: nothing has verified it, so it is to be run.

    ``is_named`` says whether ``row`` is what it will be, or lacks the variant that the run picks;
    ``dropped`` are the figures that were written beside it, by column.
    """

    place: Place
    row: RowId
    is_named: bool
    shape: Mapping[str, int]
    variant: str | None
    tile: Mapping[str, int] | None
    herd: Sequence[int] | None
    notes: Sequence[str]
    uses: Sequence[Use]
    dropped: Mapping[str, str]

    @property
    def command(self) -> str:
        """The command that runs it."""
        return verify_command(self.row, self.shape, self.variant, self.tile, self.herd)

    @property
    def afterwards(self) -> list[str]:
        """The commands that give the verified row its notes and users."""
        name = str(self.row) if self.is_named else f"{self.row}+VARIANT"
        return [
            *(edit_command("note", name, note) for note in self.notes),
            *(edit_command("use", name, use.model, use.site) for use in self.uses),
        ]


@dataclass(frozen=True)
class Wording:
    """How a page words a cell from now on: page, region, line and column of its layout.

    ``cell`` is None where the words of the rows are all there is to say.
    """

    page: str
    region: str
    line: str
    column: str
    cell: CellLayout | None


@dataclass(frozen=True)
class Said:
    """A human-owned field of some rows of which a page said ``before``, and now ``source``."""

    rows: tuple[RowId, ...]
    cell: str
    before: str
    source: str


@dataclass
class Outcome:
    """What was found, page by page.

    ``gone`` are lines whose row is not there any more, ``unshown`` rows that the page was too old
    to show; ``records`` holds the new records, None for a retired one, and ``wordings`` what pages
    in columns of their own say from now on; ``said`` is what changed there, and ``echoed`` are the
    pages and rows whose other lines follow it.
    """

    edits: list[Edit] = field(default_factory=list)
    planned: list[Planned] = field(default_factory=list)
    deleted: list[tuple[Place, RowId]] = field(default_factory=list)
    gone: list[tuple[Place, str]] = field(default_factory=list)
    unshown: list[RowId] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    records: dict[RowId, Record | None] = field(default_factory=dict)
    wordings: list[Wording] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    echoed: list[tuple[str, RowId]] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)


def verify_command(
    row: RowId,
    shape: Mapping[str, int],
    variant: str | None,
    tile: Mapping[str, int] | None,
    herd: Sequence[int] | None,
    *options: str,
) -> str:
    """The `verify` command of one configuration, ready to be typed."""
    words = ["registry-tool", "verify", "--target", row.target, "--kernel", row.kernel]
    words += ["--shape", _sizes(shape)]
    if variant:
        words += ["--variant", variant]
    if tile:
        words += ["--tile", _sizes(tile)]
    if herd:
        words += ["--herd", "x".join(map(str, herd))]
    return shlex.join([*words, *options])


def edit_command(verb: str, row: str, *texts: str) -> str:
    """The `use` or `note` command of a row, ready to be typed."""
    # A text that starts with a dash is no option.
    guard = ["--"] if any(text.startswith("-") for text in texts) else []
    return shlex.join(["registry-tool", verb, *guard, row, *texts])


def _sizes(named: Mapping[str, int]) -> str:
    return ",".join(f"{name}={size}" for name, size in named.items())
