"""What each line of a table claims about which row; tables in, claims out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from registry_tool.adoption import cells
from registry_tool.adoption.cells import Found, Hint, Reading
from registry_tool.adoption.columns import Words
from registry_tool.adoption.model import Claim, Column, Quantity, Table, TableRow
from registry_tool.adoption.pages import Page
from registry_tool.records.kernel import check_shape
from registry_tool.records.spec import KernelSpec

INHERITED = re.compile(
    r"carried over|copied from|(?:gflops|throughput|latency|bandwidth|figures?|numbers?)\b"
    r"[^.;]{0,30}\binherited",
    re.I,
)
_BEST = re.compile(r"\W*(?:best|fastest)\b", re.I)


@dataclass
class Line:
    """What one line gives, for all its variants together and for each of them."""

    table: Table
    row: TableRow
    words: Words
    tile: dict[str, int] = field(default_factory=dict)
    herd: tuple[int, ...] | None = None
    shape: dict[str, int] = field(default_factory=dict)
    variant: str | None = None
    tier: str | None = None
    glyph: str | None = None
    used_by: list[str] = field(default_factory=list)
    layout: str = ""
    is_best: bool = False
    notes: list[tuple[str, str]] = field(default_factory=list)
    quantities: list[Quantity] = field(default_factory=list)
    tiered: list[tuple[str, Quantity]] = field(default_factory=list)
    of: dict[str, _Part] = field(default_factory=dict)

    def part(self, variant: str) -> _Part:
        """What the line gives for one variant."""
        return self.of.setdefault(variant, _Part())


@dataclass
class _Part:
    """What a pivoted line gives for one variant."""

    tile: dict[str, int] = field(default_factory=dict)
    herd: tuple[int, ...] | None = None
    glyph: str | None = None
    bold: bool = False
    speaks: bool = False
    quantities: list[Quantity] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)


def of_table(page: Page, table: Table, index: int, words: Words) -> Iterator[Claim]:
    """The claims of a table of tested shapes; raises InputError for a cell that gives no shape."""
    marks = _footnotes(page, table)
    for row in table.rows:
        line = Line(table, row, words, variant=table.variant)
        for column in table.columns:
            _read_cell(page, line, column)
        line.shape = {dim: line.shape[dim] for dim in words.spec.dims if dim in line.shape}
        problem = check_shape(words.spec, line.shape)
        if problem:
            raise page.error(f"the row gives no shape: {problem}", row.line, "complete the row")
        yield from _claims(line, index, marks)


def _read_cell(page: Page, line: Line, column: Column) -> None:
    at = column.index
    text = cells.text_of(line.row.sources[at], line.row.cells[at])
    reading = Reading(text)
    reader = _READERS.get(column.role or "", _read_measure)
    reader(page, line, column, reading)


def _read_shape(page: Page, line: Line, column: Column, reading: Reading) -> None:
    sizes: Sequence[int] | None = None
    if len(column.names) == len(line.words.spec.dims) and len(column.names) > 1:
        sizes = _by_template(line.words.spec, reading)
    if sizes is None and column.names == ("causal",):
        truth = cells.take_truth(reading)
        sizes = None if truth is None else [truth]
    if sizes is None:
        layout = cells.take_layout(reading)
        sizes = cells.take_numbers(reading, len(column.names))
        line.layout = layout or line.layout
    if sizes is None:
        raise page.error(
            f"{reading.shown!r} under {column.title!r} is no size of {', '.join(column.names)}",
            line.row.line,
            f"write it as {'×'.join('SIZE' for _ in column.names)}",
        )
    line.shape.update(zip(column.names, sizes, strict=True))
    _keep_notes(line, column, reading)


def _by_template(spec: KernelSpec, reading: Reading) -> list[int] | None:
    """The sizes of a cell that is written as the spec's own pages write a shape."""
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>\\d+)", re.escape(spec.shape_text))
    match = re.match(pattern, reading.shown)
    if match is None:
        return None
    reading.take(*match.span())
    return [int(match[dim]) for dim in spec.dims]


def _read_config(page: Page, line: Line, column: Column, reading: Reading) -> None:
    hints = cells.take_hints(reading, line.words.resolve, tuple(line.words.spec.variants))
    _take_hints(line, hints)
    line.herd = cells.take_herd(reading, len(line.words.spec.herd)) or line.herd
    numbers = cells.take_numbers(reading, len(column.names))
    if numbers is not None and all(numbers):
        axes: dict[str, int] = {}
        for name, size in zip(column.names, numbers, strict=True):
            kind, _, bare = name.partition(".")
            (line.tile if kind == "tile" else axes)[bare] = size
        line.is_best = line.is_best or bool(_BEST.match(column.title))
        if axes:
            line.herd = herd_of(line, axes)
    elif re.match(r"\s*\d", reading.shown):
        labels = "/".join(name.partition(".")[2] for name in column.names)
        raise page.error(
            f"{reading.shown!r} under {column.title!r} is not {labels}",
            line.row.line,
            f"write {len(column.names)} whole numbers with / between",
        )
    _keep_notes(line, column, reading)


def herd_of(line: Line, axes: Mapping[str, int]) -> tuple[int, ...]:
    """The herd from the axes that a line gives; one that it leaves out has extent 1."""
    before = dict(zip(line.words.spec.herd, line.herd or (), strict=False))
    return tuple({**before, **axes}.get(name, 1) for name in line.words.spec.herd)


def _read_measure(page: Page, line: Line, column: Column, reading: Reading) -> None:
    variants = tuple(line.words.spec.variants)
    hints = cells.take_hints(reading, line.words.resolve, variants)
    if len(column.variants) == 1:
        _read_pivot(line, column, reading, hints)
        return
    _take_hints(line, hints)
    cells.take_dash(reading)
    for found in cells.take_quantities(reading, max(1, len(column.tiers))):
        quantity = quantity_of(line, column, found)
        if column.tiers:
            line.tiered.append((column.tiers[found.part], quantity))
        else:
            line.quantities.append(quantity)
    _keep_notes(line, column, reading)


def _read_pivot(line: Line, column: Column, reading: Reading, hints: Sequence[Hint]) -> None:
    """A cell of the column of one variant: its number, glyph or tile, or a dash."""
    own = column.variants[0]
    part = line.part(own)
    cells.take_dash(reading)
    for hint in hints:
        about = line.part(hint.variant or own)
        about.tile.update(hint.tile)
        about.herd = hint.herd or about.herd
        about.speaks = True
    part.glyph = cells.take_glyphs(reading)
    for found in cells.take_quantities(reading):
        part.quantities.append(quantity_of(line, column, found))
    shown = reading.text
    part.bold = bool(shown.bold) and shown.is_bold(*_first_word(shown.shown))
    part.speaks = part.speaks or bool(part.quantities or part.glyph)
    part.notes += [(column.title, note) for note in reading.notes()]


def _first_word(text: str) -> tuple[int, int]:
    match = re.search(r"\w", text)
    return match.span() if match else (0, 0)


def quantity_of(line: Line, column: Column, found: Found) -> Quantity:
    """A number of a cell, in the unit of its field: the unit that is written, or the heading's."""
    expected = str(column.role)
    named = found.name or found.unit_field
    factor = 1.0
    if found.unit_field is None and column.unit:
        unit = cells.unit_of(column.unit)
        factor = unit[1] if unit else 1.0
    name = named or expected
    return Quantity(
        field=name,  # type: ignore[arg-type]
        written=found.written,
        low=found.low * factor,
        high=found.high * factor,
        half=found.half * factor,
        column=column.title,
        line=line.row.line,
        bold=found.bold,
        mark=found.mark,
        sign=found.sign,
        misplaced=named is not None and named != expected,
    )


def _take_hints(line: Line, hints: Sequence[Hint]) -> None:
    for hint in hints:
        line.tile.update(hint.tile)
        line.herd = hint.herd or line.herd
        line.variant = hint.variant or line.variant


def _read_status(page: Page, line: Line, column: Column, reading: Reading) -> None:
    line.glyph = cells.take_glyphs(reading) or line.glyph
    # Which of the words are call sites is for the merge to say: they are kept whole.
    words = reading.shown[max((stop for _, stop in reading.taken), default=0) :].strip()
    before = reading.shown[: min((start for start, _ in reading.taken), default=0)].strip()
    if words.startswith("(") and words.endswith(")") and words.count("(") == 1:
        words = words[1:-1]
    for text in (before, words):
        if text and not cells.is_nothing(text):
            line.used_by.append(text) if text is words else line.notes.append((column.title, text))


def _read_used_by(page: Page, line: Line, column: Column, reading: Reading) -> None:
    if not cells.is_nothing(reading.shown):
        line.used_by.insert(0, reading.shown.strip())


def _read_words(page: Page, line: Line, column: Column, reading: Reading) -> None:
    if not cells.is_nothing(reading.shown):
        line.notes.append((column.title, reading.shown.strip()))


def _read_layout(page: Page, line: Line, column: Column, reading: Reading) -> None:
    if cells.is_nothing(reading.shown):
        return
    match = re.match(r"\s*\d+(?:\s*[×xX*·]\s*\d+)+", reading.shown)
    if match is not None:
        line.layout = match[0].strip()
        reading.take(*match.span())
    _keep_notes(line, column, reading)


def _read_variant(page: Page, line: Line, column: Column, reading: Reading) -> None:
    named = line.words.variants_in(reading.shown)
    spec = line.words.spec
    if len(named) == 1:
        line.variant = named[0]
    elif spec.variants:
        raise page.error(
            f"{reading.shown!r} under {column.title!r} is no method of {spec.kernel}",
            line.row.line,
            f"write one of {', '.join(spec.variants)}",
        )


def _read_tier(page: Page, line: Line, column: Column, reading: Reading) -> None:
    text = reading.shown.strip().lower()
    if text in line.words.tiers:
        line.tier = text
    else:
        _read_words(page, line, column, reading)


def _ignore(page: Page, line: Line, column: Column, reading: Reading) -> None:
    """A column that follows from others: its cells are kept with the claim."""


_READERS = {
    "shape": _read_shape,
    "config": _read_config,
    "status": _read_status,
    "used_by": _read_used_by,
    "notes": _read_words,
    "layout": _read_layout,
    "variant": _read_variant,
    "tier": _read_tier,
    "derived": _ignore,
}


def _keep_notes(line: Line, column: Column, reading: Reading) -> None:
    line.notes += [(column.title, note) for note in reading.notes()]


def _claims(line: Line, index: int, marks: Mapping[str, str]) -> Iterator[Claim]:
    table, row, spec = line.table, line.row, line.words.spec
    is_pivot = table.kind == "pivot"
    speaking = [name for name, part in line.of.items() if part.speaks]
    titles = [column.title for column in table.columns]
    common = Claim(
        place=table.place,
        file=table.file,
        line=row.line,
        kernel=spec.kernel,
        shape=line.shape,
        variant=line.variant,
        table=index,
        tile=dict(line.tile),
        herd=line.herd,
        quantities=tuple(line.quantities),
        glyph=line.glyph,
        used_by=" ".join(line.used_by),
        notes=tuple(line.notes),
        layout=line.layout,
        tier=line.tier,
        shifted=row.shown is not None,
        cells=dict(zip(titles, row.cells, strict=True)),
    )
    if not is_pivot:
        bold = any(one.bold and one.field == spec.metric for one in common.quantities)
        yield _with_marks(replace(common, bold=bold), marks)
        return
    for name in spec.variants:
        if name in speaking:
            yield _with_marks(_of_variant(line, common, name, speaking), marks)


def _of_variant(line: Line, common: Claim, name: str, speaking: Sequence[str]) -> Claim:
    """One variant's claim of a pivoted line."""
    part = line.of[name]
    tier = line.words.spec.variants[name].precision
    beside = [one for one in speaking if line.words.spec.variants[one].precision == tier]
    quantities = [
        *part.quantities,
        *(replace(one, shared=len(speaking) > 1) for one in common.quantities),
        *(replace(one, shared=len(beside) > 1) for of_tier, one in line.tiered if of_tier == tier),
    ]
    # `best tile` is the tile of the best method, where the line says in bold which one that is.
    bold = [one for one in speaking if _is_bold(line.of[one])]
    is_best = not (line.is_best and bold) or name in bold
    silent = [
        (title, note)
        for other, at in line.of.items()
        if other != name and (other not in speaking)
        for title, note in at.notes
    ]
    return replace(
        common,
        variant=name,
        tile={**(common.tile if is_best else {}), **part.tile},
        herd=part.herd or (common.herd if is_best else None),
        quantities=tuple(quantities),
        cell_glyph=part.glyph,
        notes=(*common.notes, *part.notes, *silent),
        tier=tier,
        bold=_is_bold(part),
    )


def _is_bold(part: _Part) -> bool:
    return part.bold or any(one.bold for one in part.quantities)


def _with_marks(claim: Claim, marks: Mapping[str, str]) -> Claim:
    """The claim with the footnotes that its numbers point to."""
    found = [one.mark for one in claim.quantities if one.mark]
    notes = [(mark, marks.get(mark, f"marked {mark}, without a footnote")) for mark in found]
    said = " ".join(text for _, text in (*claim.notes, *notes))
    inherited = INHERITED.search(f"{said} {claim.used_by}") is not None
    return replace(claim, notes=(*claim.notes, *notes), inherited=inherited)


def _footnotes(page: Page, table: Table) -> dict[str, str]:
    """Footnote mark to text: paragraphs that start with a mark, the nearest below the table."""
    found: dict[str, str] = {}
    paragraph: list[str] = []
    ends = max((row.line for row in table.rows), default=table.line)
    for number, line in [*page.lines, (0, "")]:
        if number and number <= ends:
            continue
        text = re.sub(r"^\s*(?:>\s?)*", "", line).strip()
        if text:
            paragraph.append(text)
            continue
        if paragraph:
            body = re.sub(r"\*\*|`", "", " ".join(paragraph))
            match = re.match(r"\s*(\[\^[^\]]+\]|[†‡§¶※]+|[⁰¹²³⁴-⁹]+)\s*:?\s*(.*)", body)
            if match is not None:
                found.setdefault(match[1], match[2])
        paragraph = []
    return found
