"""The entries of a state, sorted into rows and the rest; fast over ten thousands of lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from registry_tool.rules.layout import row_of
from registry_tool.store.snapshot import Snapshot

Files = dict[str, str]
"""Path to blob id."""
_FEW = 40


@dataclass
class Grouped:
    """Files by row, and what does not belong where it stands, or is no file."""

    rows: dict[str, Files] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)


class Entries:
    """The lines of a snapshot, cut up as far as it is asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        prefix = snapshot.repository.prefix if snapshot.repository else ""
        # Mode and object id have the same length in every line.
        self._tab = snapshot.lines[0].index("\t") if snapshot.lines else 0
        self._cut = self._tab + 1 + len(prefix)

    def path(self, line: str) -> str:
        """The path of a line, below the registry."""
        return line[line.index("\t") + 1 + self._cut - self._tab - 1 :]

    @cached_property
    def around(self) -> Snapshot:
        """The state without records and verdicts."""
        cut = self._cut
        lines = [
            line
            for line in self._snapshot.lines
            if not line.startswith(("records/", "verdicts/"), cut)
        ]
        return replace(self._snapshot, lines=lines)

    def rows(self, wanted: set[str] | None) -> Grouped:
        """The files of the ``wanted`` rows (None: of all), in the order of their paths."""
        if wanted is None:
            return self._group(self._below(("records/", "verdicts/")))
        if len(wanted) > _FEW:
            every = self._group(self._below(("records/", "verdicts/")))
            return Grouped({row: every.rows.get(row, {}) for row in wanted}, every.strays)
        prefixes = [part for row in wanted for part in (f"records/{row}.json", f"verdicts/{row}/")]
        found = self._group(self._below(tuple(prefixes)))
        return Grouped({row: found.rows.get(row, {}) for row in wanted}, found.strays)

    def records_of(self, target: str, kernel: str) -> Files:
        """The records of one kernel on one target."""
        cut, oid = self._cut, slice(7, self._tab - 2)
        return {
            line[cut:]: line[oid]
            for line in self._below((f"records/{target}/{kernel}/",))
            if self._is_file(line) and row_of(line[cut:])
        }

    def apart_from_rows(self, touched: set[str]) -> list[str]:
        """The lines of the ``touched`` paths that hold no file of a row."""
        cut = self._cut
        found = [line for line in self._snapshot.lines if line[cut:] in touched]
        return [line for line in found if row_of(line[cut:]) is None or not self._is_file(line)]

    def _below(self, prefixes: tuple[str, ...]) -> list[str]:
        cut = self._cut
        return [line for line in self._snapshot.lines if line.startswith(prefixes, cut)]

    def _is_file(self, line: str) -> bool:
        return line[self._tab - 1] == "0" and line.startswith(("100644", "100755"))

    def _group(self, lines: Iterable[str]) -> Grouped:
        found = Grouped()
        rows, cut, oid = found.rows, self._cut, slice(7, self._tab - 2)
        # Lines come in the order of their paths: a row's verdicts follow each other.
        for line in lines:
            path = line[cut:]
            row = row_of(path)
            if row is None or not self._is_file(line):
                found.strays.append(line)
            elif row in rows:
                rows[row][path] = line[oid]
            else:
                rows[row] = {path: line[oid]}
        return found


def place_of(row: str) -> tuple[str, str]:
    """Target and kernel of a row."""
    target, kernel, _ = row.split("/", 2)
    return target, kernel
