"""Pages that were cut off at the end of a line, as far as the other places betray it.

A page whose last line is a row is suspected where another place lists further rows of that table,
or rows of whole methods, all of them behind what the page still has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from registry_tool.adoption.model import Claim, Source, Table
from registry_tool.errors import InputError

# One row that only the index has is an oversight more often than a cut.
_FEWEST = 2

_Row = tuple[tuple[int, ...], str | None]


def check(
    folder: Path, sources: Iterable[Source], tables: Sequence[Table], claims: Sequence[Claim]
) -> None:
    """Raise InputError for a page that ends in a table of which other places have the rest."""
    for source in sources:
        if source.place == "details" and _ends_in_a_row(source.data):
            own = [table for table in tables if table.file == source.name and table.rows]
            last = max(own, key=lambda table: table.rows[-1].line, default=None)
            if last is not None and last.kernel is not None:
                _check(folder / source.name, last, claims)


def _ends_in_a_row(data: bytes) -> bool:
    """Whether nothing stands behind the last row, not even an empty line."""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    return len(lines) > 1 and not lines[-1].strip() and lines[-2].lstrip().startswith(b"|")


def _check(path: Path, last: Table, claims: Sequence[Claim]) -> None:
    of_kernel = [one for one in claims if one.kind == "row" and one.kernel == last.kernel]
    here = [_row(one) for one in of_kernel if one.file == last.file]
    elsewhere = {
        place: [
            _row(one)
            for one in of_kernel
            if one.place == place and (one.variant is None or _has_figure(one))
        ]
        for place in ("json", "index")
    }
    for place, rows in elsewhere.items():
        lost = [row for row in dict.fromkeys(rows) if row not in here]
        methods = {variant for _, variant in here}
        of_table = [row for row in lost if row[1] == last.variant]
        whole = [row for row in lost if row[1] not in methods]
        rest = of_table if _is_behind(of_table, rows, here, last.variant) else []
        missing = [*rest, *whole]
        if len(missing) < _FEWEST:
            continue
        sizes, variant = missing[0]
        first = "×".join(map(str, sizes)) + (f" {variant}" if variant else "")
        where = "JSON" if place == "json" else "index"
        raise InputError(
            f"the page ends with a row of a table, and the {where} has {len(missing)} rows more "
            f"({first} ...): it may be truncated",
            path=path,
            line=last.rows[-1].line,
            fix=f"fetch the whole file again; if it is whole: echo >> {path}",
        )


def _row(claim: Claim) -> _Row:
    return tuple(claim.shape.values()), claim.variant


def _has_figure(claim: Claim) -> bool:
    return any(not one.shared for one in claim.quantities)


def _is_behind(
    lost: Sequence[_Row], rows: Sequence[_Row], here: Sequence[_Row], variant: str | None
) -> bool:
    """Whether the lost rows stand behind all others of the method in the other place."""
    order = [row for row in dict.fromkeys(rows) if row[1] == variant]
    kept = [order.index(row) for row in order if row in here]
    return bool(lost) and all(order.index(row) > max(kept, default=-1) for row in lost)
