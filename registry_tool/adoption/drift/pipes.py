"""Table rows that GitHub reads otherwise than their author meant: bare pipes, missing cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from registry_tool.adoption.drift.finding import Finding, Side
from registry_tool.adoption.model import Adoption, Table, TableRow
from registry_tool.records.spec import KernelSpec


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Every such row, of any table."""
    for table in adoption.tables:
        for row in table.rows:
            if row.shown is not None:
                yield _finding(table, row)


def _finding(table: Table, row: TableRow) -> Finding:
    where = f"{table.file}:{row.line}"
    assert row.shown is not None
    found = " | ".join(row.shown)
    lost = " | ".join(row.dropped)
    says = f" and drops {lost!r}" if lost else ""
    return Finding(
        kind="row-misread",
        sides=(Side(where, found),),
        record=None,
        found=found,
        expected=" | ".join(row.cells),
        confidence="high",
        message=f"a bare pipe divides a cell here: GitHub shows {found!r}{says}; write it as \\|",
    )
