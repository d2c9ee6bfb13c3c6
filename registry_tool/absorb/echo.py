"""The other pages that said of a row, in their own wording, what a person changed on one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from registry_tool.absorb import human
from registry_tool.absorb.compare import wording_of
from registry_tool.absorb.expected import ExpectedTable
from registry_tool.absorb.identity import UnclearError
from registry_tool.absorb.model import Outcome, Said, Wording
from registry_tool.records.keys import RowId
from registry_tool.records.record import Record


def follow(
    tables: Iterable[ExpectedTable], records: Mapping[RowId, Record], outcome: Outcome
) -> None:
    """Let every line that said the same of the same rows say what was written.

    A line of more rows than those that were changed, and a cell that was edited itself, stay.
    """
    own = {(one.page, one.region, one.line, one.column) for one in outcome.wordings}
    for table in tables:
        for expected in table.rows:
            for at, worded in expected.worded.items():
                if worded.cell is None or worded.line is None or not expected.rows:
                    continue
                if (table.path, table.region, worded.line, worded.column) in own:
                    continue
                text = expected.texts[at][len(worded.prefix) :].strip()
                said = _of(outcome, worded.cell, expected.rows, text)
                if said is None:
                    continue
                after = [outcome.records.get(row) or records[row] for row in expected.rows]
                words = [word for one in after for word in human.words(one, worded.cell)]
                spoken = {worded.cell: list(dict.fromkeys(words))}
                try:
                    cell = wording_of(worded, said.source, spoken)
                except UnclearError:  # then its column speaks
                    cell = None
                place = (table.path, table.region, worded.line, worded.column)
                outcome.wordings.append(Wording(*place, cell))
                outcome.echoed.append((table.path, expected.rows[0]))


def _of(outcome: Outcome, cell: str, rows: Iterable[RowId], text: str) -> Said | None:
    for one in outcome.said:
        if one.cell == cell and one.before == text and set(rows) <= set(one.rows):
            return one
    return None
