"""The entries of a state, sorted into rows and the rest; fast over ten thousands of lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from registry_tool.rules.layout import row_of
from registry_tool.store.snapshot import Snapshot

Files = dict[str, str]
"""Path to blob id."""


class Entries:
    """The lines of a snapshot, or some of them; they are sorted by path."""

    def __init__(self, snapshot: Snapshot, lines: Sequence[str]) -> None:
        self._snapshot = snapshot
        self._lines = lines
        prefix = snapshot.repository.prefix if snapshot.repository else ""
        # Mode and object id have the same length in every line.
        self._tab = lines[0].index("\t") if lines else 0
        self._cut = self._tab + 1 + len(prefix)

    def path(self, line: str) -> str:
        """The path of a line, below the registry."""
        return line[self._cut :]

    @cached_property
    def around(self) -> Snapshot:
        """The state without records and verdicts."""
        lines = self._lines
        records, verdicts = self._range("records/"), self._range("verdicts/")
        kept = [
            *lines[: records.start],
            *lines[records.stop : verdicts.start],
            *lines[verdicts.stop :],
        ]
        return self._snapshot.narrowed(kept)

    def rows(self, wanted: Iterable[str] | None) -> tuple[dict[str, Files], list[str]]:
        """The files of the ``wanted`` rows (None: of all), and the lines that are no row's."""
        rows: dict[str, Files] = {} if wanted is None else {row: {} for row in wanted}
        strays = []
        tab, cut, oid = self._tab, self._cut, slice(7, self._tab - 2)
        for line in self._below_rows(None if wanted is None else list(rows)):
            path = line[cut:]
            row = row_of(path)
            if row is None or line[tab - 1] != "0" or not line.startswith("100"):
                strays.append(line)
            elif row in rows:
                rows[row][path] = line[oid]
            else:
                rows[row] = {path: line[oid]}
        return rows, strays

    def _below_rows(self, wanted: list[str] | None) -> Iterator[str]:
        if wanted is None:
            yield from self._below("records/")
            yield from self._below("verdicts/")
            return
        for row in wanted:
            yield from self._below(f"records/{row}.json")
            yield from self._below(f"verdicts/{row}/")

    def records_of(self, target: str, kernel: str) -> Files:
        """The records of one kernel on one target."""
        cut, oid = self._cut, slice(7, self._tab - 2)
        return {
            line[cut:]: line[oid]
            for line in self._below(f"records/{target}/{kernel}/")
            if self._is_file(line) and row_of(line[cut:])
        }

    def apart_from_rows(self, touched: set[str]) -> list[str]:
        """The lines of the ``touched`` paths that hold no file of a row."""
        # git sorts by bytes: names that are no UTF-8 may stand elsewhere than Python looks.
        plain = all(path.isascii() for path in touched)
        found = self._lines
        if plain:
            found = [line for path in sorted(touched) for line in self._below(path)]
        return [
            line
            for line in found
            if line[self._cut :] in touched
            and (row_of(line[self._cut :]) is None or not self._is_file(line))
        ]

    def _is_file(self, line: str) -> bool:
        return line[self._tab - 1] == "0" and line.startswith("100")

    def _below(self, start: str) -> Sequence[str]:
        found = self._range(start)
        return self._lines[found.start : found.stop]

    def _range(self, start: str) -> range:
        """Where the lines stand whose path starts with ``start``."""
        lines = self._lines
        first = bisect_left(lines, start, key=self.path)
        # After every path that starts so, and before any other.
        after = start[:-1] + chr(ord(start[-1]) + 1)
        return range(first, bisect_left(lines, after, lo=first, key=self.path))


def place_of(row: str) -> tuple[str, str]:
    """Target and kernel of a row."""
    target, kernel, _ = row.split("/", 2)
    return target, kernel
