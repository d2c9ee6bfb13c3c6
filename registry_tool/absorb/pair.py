"""Which row of the records each line of a table shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from registry_tool.absorb import identity
from registry_tool.absorb.expected import ExpectedRow, ExpectedTable, Key
from registry_tool.absorb.found import FoundRow
from registry_tool.absorb.identity import UnclearError
from registry_tool.absorb.model import DROP, Place, Refusal
from registry_tool.records.keys import RowId, row_id


@dataclass
class Pairing:
    """Lines with the rows that they show, lines that show none, and rows that no line shows."""

    pairs: list[tuple[FoundRow, ExpectedRow]] = field(default_factory=list)
    added: list[FoundRow] = field(default_factory=list)
    missing: list[ExpectedRow] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


def pair(table: ExpectedTable, rows: Sequence[FoundRow]) -> Pairing:
    """Pair the lines of a table with its rows; two lines for one row are refused."""
    found = Pairing()
    by_key: dict[Key, list[ExpectedRow]] = {}
    for expected in table.rows:
        by_key.setdefault(table.key(expected.texts), []).append(expected)
    by_row = {row: expected for expected in table.rows for row in expected.rows}
    taken: dict[int, int] = {}
    added: dict[Key, int] = {}
    unsure: set[int] = set()
    for row in rows:
        key = table.key(row.texts)
        candidates = by_key.get(key) or _by_identity(table, row, by_row)
        if len(candidates) > 1:
            # Rows that the table does not tell apart: a line that nobody changed is no trouble.
            same = [one for one in candidates if one.texts == row.texts and id(one) not in taken]
            if not same:
                found.refusals.append(_ambiguous(table, row, candidates))
                unsure.update(map(id, candidates))
                continue
            candidates = same[:1]
        if candidates:
            if id(candidates[0]) in taken:
                found.refusals.append(_twice(table, row, taken[id(candidates[0])]))
            else:
                taken[id(candidates[0])] = row.line
                found.pairs.append((row, candidates[0]))
        elif key in added:
            found.refusals.append(_twice(table, row, added[key]))
        else:
            added[key] = row.line
            found.added.append(row)
    # What an ambiguous line may show is not missing.
    known = unsure | set(taken)
    found.missing = [expected for expected in table.rows if id(expected) not in known]
    return found


def _by_identity(
    table: ExpectedTable, row: FoundRow, by_row: Mapping[RowId, ExpectedRow]
) -> list[ExpectedRow]:
    """The row that shape and variant name, where its cells are spelled otherwise."""
    if table.spec is None or table.target is None:
        return []
    try:
        named = identity.identity(table, row.texts)
    except UnclearError:
        return []
    spec = table.spec
    name = row_id(table.target, spec.kernel, spec.dims, named.shape, named.variant)
    return [by_row[name]] if name in by_row else []


def _ambiguous(table: ExpectedTable, row: FoundRow, candidates: Sequence[ExpectedRow]) -> Refusal:
    names = ", ".join(str(one.row) for one in candidates)
    return Refusal(
        Place(table.path, row.line),
        table.named(row.texts),
        f"it may be any of {names}: the table does not tell them apart",
        f"registry-tool note or registry-tool use for the row that you mean; {DROP}",
    )


def _twice(table: ExpectedTable, row: FoundRow, line: int) -> Refusal:
    return Refusal(
        Place(table.path, row.line),
        table.named(row.texts),
        f"the row is here a second time; the first is on line {line}",
        "delete one of the two lines",
    )
