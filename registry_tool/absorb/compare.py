"""A region as it stands against what its records show: which change is a person's to make.

Nothing is decided about files here; see `apply`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from msgspec import convert
from msgspec.structs import replace

from registry_tool.absorb import beside, credits, human, identity, wording
from registry_tool.absorb.bases import Base
from registry_tool.absorb.credits import Names
from registry_tool.absorb.expected import (
    HUMAN,
    IDENTITY,
    ExpectedRow,
    ExpectedTable,
    Key,
    Worded,
)
from registry_tool.absorb.found import FoundRow
from registry_tool.absorb.identity import UnclearError
from registry_tool.absorb.model import (
    DROP,
    Edit,
    Outcome,
    Place,
    Planned,
    Refusal,
    Said,
    Wording,
    edit_command,
    verify_command,
)
from registry_tool.absorb.pair import pair
from registry_tool.adoption.uses import Reader
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.layout import CellLayout
from registry_tool.records.record import Record, Use
from registry_tool.tables import cells, layout_figures
from registry_tool.tables.layout_files import file_of
from registry_tool.tables.layout_template import literal


@dataclass(frozen=True)
class Side:
    """What a table is held to: the records as they are, and what the page began from.

    ``current`` says that the region was made from the records as they are; else ``bases`` are the
    versions that it may have been made from, and those that its checksum names are its origin.
    ``models`` are the model names that are known; ``reader`` tells call sites from other words.
    """

    records: Mapping[RowId, Record]
    models: Collection[str]
    bases: Sequence[Base]
    current: bool
    reader: Reader

    @property
    def names(self) -> Names:
        """How the name of a model is told from other words."""
        return Names(self.models, self.reader)

    def showed(self, key: Key) -> list[list[str]]:
        """The cells of a row in the older versions that the page may have been made from."""
        return [] if self.current else [base.rows[key] for base in self.bases if key in base.rows]

    def is_newer(self, key: Key) -> bool:
        """Whether the page was made before the row was there."""
        origin = [base for base in self.bases if base.is_origin] or self.bases
        return not self.current and bool(origin) and all(key not in base.rows for base in origin)


@dataclass(frozen=True)
class _Line:
    """A line of a table, the row that it shows, and the table."""

    table: ExpectedTable
    found: FoundRow
    expected: ExpectedRow

    @property
    def place(self) -> Place:
        return Place(self.table.path, self.found.line)

    @property
    def name(self) -> str:
        row = self.expected.row
        return str(row) if row is not None else self.table.named(self.expected.texts)

    def refusal(self, at: int, message: str, fix: str) -> Refusal:
        """Why the cell in column ``at`` is not taken over."""
        title = self.table.columns[at].title
        was, now = self.expected.texts[at], self.found.texts[at]
        return Refusal(self.place, self.name, message, fix, title, was, now)


def compare(table: ExpectedTable, rows: Sequence[FoundRow], side: Side, outcome: Outcome) -> None:
    """Add to ``outcome`` what the lines of a region say otherwise than its records."""
    pairing = pair(table, rows)
    outcome.refusals += pairing.refusals
    for found, expected in pairing.pairs:
        line = _Line(table, found, expected)
        for at, showed in _changed(line, side):
            _edit(line, at, showed, side, outcome)
    for found in pairing.added:
        _added(table, found, side, outcome)
    for expected in pairing.missing:
        if side.is_newer(table.key(expected.texts)):
            outcome.unshown += expected.rows
            continue
        place = Place(table.path, _gap(table, pairing.pairs, expected))
        if expected.rows:
            outcome.deleted += [(place, row) for row in expected.rows]
        else:
            message = "the line is missing, and it is computed from the rows"
            outcome.refusals.append(Refusal(place, table.named(expected.texts), message, DROP))


def _gap(
    table: ExpectedTable, pairs: Sequence[tuple[FoundRow, ExpectedRow]], missing: ExpectedRow
) -> int:
    """The line after which a missing row would stand."""
    line_of = {id(expected): found.line for found, expected in pairs}
    at = next(at for at, one in enumerate(table.rows) if one is missing)
    before = [line_of[id(one)] for one in table.rows[:at] if id(one) in line_of]
    return before[-1] if before else min(line_of.values(), default=1)


def _changed(line: _Line, side: Side) -> Iterator[tuple[int, list[str]]]:
    """The cells that a person changed, with what older versions of the page showed there."""
    older = side.showed(line.table.key(line.expected.texts))
    for at, column in enumerate(line.table.columns):
        now = line.found.texts[at]
        showed = [texts[at] for texts in older]
        # What an older version showed is not an edit: the page lags behind the record.
        if column.cell not in IDENTITY and now not in (line.expected.texts[at], *showed):
            yield at, showed


def _edit(line: _Line, at: int, showed: Sequence[str], side: Side, outcome: Outcome) -> None:
    """One changed cell: into the rows of its line, or among the refusals."""
    column, worded = line.table.columns[at], line.expected.worded.get(at)
    was, now = line.expected.texts[at], line.found.texts[at]
    if worded is None and (column.cell not in HUMAN or line.expected.row is None):
        outcome.refusals.append(_measured(line, at, side))
        return
    held = {row: outcome.records.get(row) or side.records[row] for row in line.expected.rows}
    try:
        if showed and was not in showed:
            raise UnclearError("the row has changed since the page was made, and so has this")
        if worded is not None:
            changed = _reworded(line, at, worded, held, side, outcome)
        else:
            (row,) = held
            source = line.found.sources[at]
            changed = {row: _with(held[row], column.cell, now, source, side.names)}
    except UnclearError as error:
        outcome.refusals.append(line.refusal(at, str(error), _by_command(line, at, worded)))
        return
    changed = {row: record for row, record in changed.items() if record != held[row]}
    outcome.records |= changed
    if changed or worded is not None:
        uses = [use for record in changed.values() for use in record.used_by]
        source = "" if worded is not None else line.found.sources[at]
        remarks = human.remarks(source, now, uses, side.models)
        rows = tuple(changed)
        outcome.edits.append(Edit(line.place, line.name, column.title, was, now, remarks, rows))


def _by_command(line: _Line, at: int, worded: Worded | None) -> str:
    """What to type instead of an edit of a human-owned cell that is not clear."""
    row, cell = line.expected.row, line.table.columns[at].cell if worded is None else worded.cell
    if row is None or cell is None:
        return f"correct the cell; {DROP}"
    text = line.found.texts[at].removeprefix(worded.prefix if worded else "")
    text = " ".join(text.split()) or "TEXT"
    if cell == "notes":
        return f"put back {_was(line, at)}, then: {edit_command('note', str(row), text)}; {DROP}"
    note = edit_command("note", str(row), f"{beside.USED_BY}{text}")
    use = edit_command("use", str(row), "MODEL", "SITE")
    return f"put back {_was(line, at)}, then: {use}, or: {note}; {DROP}"


def _measured(line: _Line, at: int, side: Side) -> Refusal:
    row = line.expected.row
    if row is None and line.table.spec is not None:
        kept = file_of(line.table.path)
        return line.refusal(
            at, f"the line is the page's own, kept in {kept}", f"edit it there; {DROP}"
        )
    if row is None:
        return line.refusal(at, "it is computed from the rows", DROP)
    message = "it comes from a run, and only another run changes it"
    column, record = line.table.columns[at], side.records[row]
    assert line.table.spec is not None
    if column.cell not in IDENTITY and column.argument in line.table.spec.variants:
        spec, variant = line.table.spec, column.argument
        row = row_id(row.target, row.kernel, spec.dims, record.shape, variant)
        if row not in side.records:
            run = verify_command(row, record.shape, variant, None, None)
            return line.refusal(
                at, "no run is known of it", f"put back {_was(line, at)}, then: {run}"
            )
        record = side.records[row]
    run = _run(line, row, record, at)
    return line.refusal(at, message, f"put back {_was(line, at)}, then: {run}")


def _was(line: _Line, at: int) -> str:
    return repr(line.expected.texts[at])


def _reworded(
    line: _Line,
    at: int,
    worded: Worded,
    held: Mapping[RowId, Record],
    side: Side,
    outcome: Outcome,
) -> dict[RowId, Record]:
    """The rows of a cell that the page words itself; its new wording goes into ``outcome``."""
    was, now = line.expected.texts[at], line.found.texts[at]
    source = line.found.sources[at]
    lead = cells.escape(worded.prefix)
    if not now.startswith(worded.prefix) or not source.startswith(lead):
        raise UnclearError(f"{worded.prefix!r} at its beginning is computed")
    after, source = now[len(worded.prefix) :].strip(), source[len(lead) :].strip()
    if worded.cell is None and worded.line is None:
        raise UnclearError(
            f"the words of this line are the page's, kept in {file_of(line.table.path)}"
        )
    changed: dict[RowId, Record] = {}
    said: dict[str, list[str]] = {}
    if worded.cell is not None:
        if not held:
            raise UnclearError("no row stands behind this line")
        before = was[len(worded.prefix) :].strip()
        changed = _said_by_rows(line, worded, (before, after), held, side)
        if changed != held:
            rows = tuple(row for row in held if changed[row] != held[row])
            outcome.said.append(Said(rows, worded.cell, before, source))
        words = [human.words(record, worded.cell) for record in changed.values()]
        said = {worded.cell: list(dict.fromkeys(word for one in words for word in one))}
    if worded.line is not None:
        cell = wording_of(worded, source, said)
        outcome.wordings.append(
            Wording(line.table.path, line.table.region, worded.line, worded.column, cell)
        )
    return changed


def _said_by_rows(
    line: _Line, worded: Worded, texts: tuple[str, str], held: Mapping[RowId, Record], side: Side
) -> dict[RowId, Record]:
    """The rows after a cell was changed from one text to the other: its words and its remarks."""
    assert worded.cell is not None
    if texts[0].split() == texts[1].split():
        return dict(held)
    first = line.expected.row
    found = None
    if worded.cell == "used_by" and worded.line is not None:
        found = beside.change(*texts, side.reader)
    kept = found is not None and found.is_all and found.is_held(held)
    changed = dict(held)
    # A text that credits nobody, before and after, makes no user of its first word.
    if not (kept and not worded.words):
        try:
            made = _credits(worded, texts, side) or wording.change(
                *texts, worded.words, worded.cell
            )
            changed = {
                row: human.with_words(record, worded.cell, made, side.names, is_first=row == first)
                for row, record in held.items()
            }
        except UnclearError:
            if not kept:
                raise
    if found is not None:
        changed = {row: found.on(record) for row, record in changed.items()}
        if all(record == held[row] for row, record in changed.items()) and first is not None:
            changed[first] = found.with_new(changed[first])
    return changed


def _credits(worded: Worded, texts: tuple[str, str], side: Side) -> wording.Change | None:
    """What became of the call sites of a cell that credits them as an import reads them."""
    if worded.cell != "used_by" or worded.line is None:
        return None
    return credits.change(*texts, worded.words, side.reader)


def wording_of(worded: Worded, source: str, said: Mapping[str, Sequence[str]]) -> CellLayout | None:
    """How the page words the cell now; None where its column says the same without a wording.

    Raises UnclearError for a wording that no layout may have, see `layout_figures`.
    """
    for cell, words in said.items():
        plain = " ".join(part for part in (worded.lead, f"{{{cell}}}") if part)
        spelled = cells.escape(wording.BETWEEN[cell].join(words))
        if (worded.layout.cell, source) == (plain, spelled):
            return None
    text = " ".join(part for part in (worded.lead, literal(source)) if part)
    made = convert({"text": text, "of": worded.of, **said}, CellLayout)
    problem = layout_figures.of_wording(worded.layout, made)
    if problem is not None:
        raise UnclearError(f"the cell {problem}")
    return made


def _with(record: Record, cell: str, text: str, source: str, names: Names) -> Record:
    """The record with what a cell says; raises UnclearError."""
    human.require_kept(source, text)
    if cell == "notes":
        return replace(record, notes=human.read_notes(text, record.notes))
    return replace(record, used_by=human.read_uses(text, record.used_by, names))


def _run(line: _Line, row: RowId, record: Record, at: int) -> str:
    """The run that would change a measured cell, with the new tile or herd if it is about one."""
    spec, column, text = line.table.spec, line.table.columns[at], line.found.texts[at]
    assert spec is not None
    sizes = {**record.tile, **dict(zip(spec.herd, record.herd, strict=False))}
    with suppress(UnclearError):  # then it is the row's own again
        sizes |= identity.configuration(spec, column, text)
    tile, herd = identity.tile_and_herd(spec, sizes)
    return verify_command(row, record.shape, record.variant, tile, herd, "--force")


def _added(table: ExpectedTable, found: FoundRow, side: Side, outcome: Outcome) -> None:
    """A line without a row: to be verified, or left over from a row that is gone."""
    place, shown = Place(table.path, found.line), table.named(found.texts)
    if found.texts in side.showed(table.key(found.texts)):
        outcome.gone.append((place, shown))
        return
    if table.spec is None:
        message = "no page has this line: the table is computed from the rows"
        outcome.refusals.append(Refusal(place, shown, message, DROP))
        return
    try:
        outcome.planned.append(_planned(table, found, side.names))
    except UnclearError as error:
        fix = f"correct the cell, or delete the line; {DROP}"
        outcome.refusals.append(Refusal(place, shown, f"no row can be read here: {error}", fix))


def _planned(table: ExpectedTable, found: FoundRow, names: Names) -> Planned:
    spec = table.spec
    assert spec is not None
    assert table.target is not None
    named = identity.identity(table, found.texts)
    sizes: dict[str, int] = {}
    notes: list[str] = []
    uses: list[Use] = []
    dropped = {}
    for column, text, source in zip(table.columns, found.texts, found.sources, strict=True):
        if column.cell in identity.CONFIGURATION:
            sizes |= identity.configuration(spec, column, text)
        elif column.cell == "notes":
            human.require_kept(source, text)
            notes = human.read_notes(text, [])
        elif column.cell == "used_by":
            human.require_kept(source, text)
            uses = human.read_uses(text, [], names)
        elif column.cell not in IDENTITY and not identity.is_empty(text):
            dropped[column.title] = text
    tile, herd = identity.tile_and_herd(spec, sizes)
    return Planned(
        place=Place(table.path, found.line),
        row=row_id(table.target, spec.kernel, spec.dims, named.shape, named.variant),
        # Without a variant in a kernel that has some, the run decides which row it becomes.
        is_named=named.variant is not None or not spec.variants,
        shape=named.shape,
        variant=named.variant,
        tile=tile,
        herd=herd,
        notes=notes,
        uses=uses,
        dropped=dropped,
    )
