"""Tables about a page's shapes that make no rows: sweeps, figures of one shape, parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

from registry_tool.adoption import cells
from registry_tool.adoption.cells import Reading
from registry_tool.adoption.claims import Line, herd_of, quantity_of
from registry_tool.adoption.columns import Words
from registry_tool.adoption.model import Claim, Column, Field, Quantity, Table
from registry_tool.records.spec import KernelSpec

_MEASURED = frozenset(get_args(Field))
_CAUSAL = re.compile(r"(non-?)?causal", re.I)


def shape_in(text: str, spec: KernelSpec) -> dict[str, int]:
    """The dims that a sentence or heading gives: ``N = 4194304 = 2048×2048``, ``lq=lk=2048``."""
    found: dict[str, int] = {}
    for chain in re.finditer(r"((?:\b[A-Za-z_]+\s*=\s*)+)([\d,]+)", text):
        for name in re.findall(r"[A-Za-z_]+", chain[1]):
            if name in spec.dims:
                found.setdefault(name, int(chain[2].replace(",", "") or 0))
    if "num_heads" in spec.dims:
        heads = re.search(r"(\d+)\s*(?:q\s*)?(?:heads)?\s*/\s*(\d+)\s*kv", text, re.I)
        if heads is not None:
            found.setdefault("num_heads", int(heads[1]))
            found.setdefault("num_kv_heads", int(heads[2]))
    if "causal" in spec.dims:
        causal = _CAUSAL.search(text)
        if causal is not None:
            found.setdefault("causal", 0 if causal[1] else 1)
    if not found:
        sizes = [one for one in cells.sizes_in(text) if len(one) == len(spec.dims) > 1]
        if len(sizes) == 1:
            found = dict(zip(spec.dims, sizes[0], strict=True))
    cube = re.search(r"(\d+)³", text)
    if not found and cube is not None:
        found = dict.fromkeys(spec.dims, int(cube[1]))
    return found


def of_accuracy(table: Table, index: int, words: Words) -> Claim | None:
    """The figures of one shape, one a line, under a heading that names the shape."""
    spec = words.spec
    title = table.columns[0].title
    given = shape_in(title, spec)
    if set(given) != set(spec.dims):
        return None
    quantities = []
    notes = []
    for row in table.rows:
        name = cells.starting_name(row.cells[0])
        reading = Reading(cells.text_of(row.sources[1], row.cells[1]))
        found = cells.take_quantities(reading) if name else []
        if not found or name is None:
            notes.append((row.cells[0], row.cells[1]))
            continue
        quantities.append(
            Quantity(
                field=name,  # type: ignore[arg-type]
                written=found[0].written,
                low=found[0].low,
                high=found[0].high,
                half=found[0].half,
                column=row.cells[0],
                line=row.line,
                bold=found[0].bold,
                mark=found[0].mark,
                sign=found[0].sign,
            )
        )
        notes += [(row.cells[0], note) for note in reading.notes()]
    return Claim(
        place=table.place,
        file=table.file,
        line=table.line,
        kernel=spec.kernel,
        shape={dim: given[dim] for dim in spec.dims},
        variant=None,
        kind="accuracy",
        table=index,
        quantities=tuple(quantities),
        notes=tuple(notes),
        shifted=any(row.shown is not None for row in table.rows),
    )


def of_sweep(table: Table, index: int, words: Words) -> Iterator[Claim]:
    """Lines of a sweep: other tiles and herds of one shape, which the merge has yet to find.

    ``shape`` holds the dims that the lines before the table give, which may be none.
    """
    spec = words.spec
    given = shape_in(table.lead, spec)
    titles = [column.title for column in table.columns]
    for row in table.rows:
        line = Line(table, row, words)
        own: dict[str, int] = {}
        for column in table.columns:
            reading = Reading(cells.text_of(row.sources[column.index], row.cells[column.index]))
            if column.role == "shape":
                own = shape_in(reading.shown, spec) or own
            elif column.role == "config":
                _sweep_config(line, column, reading)
            elif column.role in _MEASURED:
                cells.take_glyphs(reading)
                for found in cells.take_quantities(reading):
                    line.quantities.append(quantity_of(line, column, found))
            else:
                line.glyph = line.glyph or cells.take_glyphs(reading)
                for found in cells.take_quantities(reading):
                    if found.unit_field is not None:
                        line.quantities.append(quantity_of(line, column, found))
        yield Claim(
            place=table.place,
            file=table.file,
            line=row.line,
            kernel=spec.kernel,
            shape=own or given,
            variant=None,
            kind="sweep",
            table=index,
            tile=line.tile,
            herd=line.herd,
            quantities=tuple(line.quantities),
            glyph=line.glyph,
            cells=dict(zip(titles, row.cells, strict=True)),
        )


def _sweep_config(line: Line, column: Column, reading: Reading) -> None:
    numbers = cells.take_numbers(reading, len(column.names))
    if numbers is None or not all(numbers):
        return
    for name, size in zip(column.names, numbers, strict=True):
        kind, _, bare = name.partition(".")
        if kind == "tile":
            line.tile[bare] = size
        else:
            line.herd = herd_of(line, {bare: size})


def defaults(table: Table, words: Words) -> dict[str, int]:
    """What a table of parameters recommends for a knob, where that is one number."""
    found: dict[str, int] = {}
    for row in table.rows:
        resolved = words.resolve(row.cells[0].strip().strip("`"))
        match = re.match(r"\s*(\d+)\b(?!\s*[/–—,-]|\s*\((?!fixed))", row.cells[1])
        if resolved is not None and match is not None:
            found.setdefault(f"{resolved[0]}.{resolved[1]}", int(match[1]))
    return found
