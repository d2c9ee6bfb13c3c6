"""Configurations that were tried and do not place: the failing verdicts remember them for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from registry_tool.records import canonical, kernel
from registry_tool.records.keys import RowId, parse_verdict_path
from registry_tool.records.verdict import Verdict
from registry_tool.store.registry import Registry

ConfigurationKey = tuple[tuple[tuple[str, int], ...], tuple[int, ...]]
"""Tile and herd, so that they can be looked up."""


def key_of(tile: Mapping[str, int], herd: tuple[int, ...] | list[int]) -> ConfigurationKey:
    """The key of a configuration."""
    return tuple(tile.items()), tuple(herd)


@dataclass(frozen=True)
class Refusal:
    """A configuration that the compiler refused, and its words."""

    tile: Mapping[str, int]
    herd: tuple[int, ...]
    message: str

    @property
    def tiles_in_flight(self) -> int:
        """Compute tiles that it would have used."""
        return kernel.tiles_in_flight(self.herd)


class Verdicts:
    """The verdicts of each row, read when they are asked for."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def read_ahead(self, rows: Iterable[RowId]) -> None:
        """Fetch the verdicts of ``rows`` in one go: a process for each would take the time."""
        self._registry.snapshot.read_many(path for row in rows for path in self._paths.get(row, ()))

    def of(self, row: RowId) -> list[Verdict]:
        """Every readable verdict of ``row``, the oldest first."""
        found = []
        for path in self._paths.get(row, ()):
            try:
                found.append(canonical.decode_lenient(self._registry.snapshot.read(path), Verdict))
            except ValueError:
                continue  # the gate complains of it
        return found

    @cached_property
    def _paths(self) -> dict[RowId, list[str]]:
        paths: dict[RowId, list[str]] = {}
        for path in sorted(self._registry.snapshot.oids):
            if path.startswith("verdicts/") and path.endswith(".json"):
                parts = parse_verdict_path(path)
                if parts is not None:
                    paths.setdefault(parts.row, []).append(path)
        return paths

    def refusals(self, row: RowId) -> dict[ConfigurationKey, Refusal]:
        """The configurations of ``row`` that do not place, with the latest message of each.

        One that was run to an end later does place.
        """
        found: dict[ConfigurationKey, Refusal] = {}
        for verdict in self.of(row):
            subject = verdict.subject
            key = key_of(subject.tile, subject.herd)
            if verdict.places is False:
                message = verdict.reason or verdict.status
                found[key] = Refusal(subject.tile, tuple(subject.herd), message)
            elif verdict.status in ("pass", "fail"):
                found.pop(key, None)
        return found
