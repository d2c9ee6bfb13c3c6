"""The versions that led to a row as it stands: what a merge threw away is not among them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from registry_tool.history.identity import Document
from registry_tool.history.log import artifact
from registry_tool.history.versions import Version
from registry_tool.store import git
from registry_tool.store.git import Repository
from registry_tool.store.git_history import place_of

METRICS: Mapping[str, tuple[str, str, bool]] = {
    "latency": ("performance.latency_us", "us", False),
    "gflops": ("performance.gflops", "GFLOP/s", True),
    "gbps": ("performance.gbps", "GB/s", True),
    "mean_rel_L1": ("mean_rel_L1", "", False),
}
"""Figure to its field, its unit, and whether more of it is better."""


class Point(NamedTuple):
    """One measured value of a row; ``spread`` is that of its repetitions, None if unknown."""

    version: Version
    value: float
    spread: float | None
    verdict: str | None


def tips(repository: Repository, revision: str) -> dict[str, str]:
    """Path to blob of every record in ``revision``."""
    place = place_of(repository, revision)
    lines = git.tree(repository.at(place), git.resolve(repository, revision), ["records"])
    cut = len(place)
    return {
        path[cut:]: meta.split(" ")[1] for meta, path in (line.split("\t", 1) for line in lines)
    }


def by_row(found: Iterable[Version]) -> dict[str, list[Version]]:
    """The versions of each row, in the order that they come in."""
    rows: dict[str, list[Version]] = defaultdict(list)
    for version in found:
        rows[version.row].append(version)
    return dict(rows)


def line(newest_first: Sequence[Version], tip: str | None) -> list[Version]:
    """The versions that led to the blob ``tip`` (None: to no row), oldest first.

    Each version's ``new`` is the next one's ``old``, so that side branches count as far as a merge
    took them.
    """
    found: list[Version] = []
    wanted = tip
    for version in newest_first:
        if version.new == wanted:
            found.append(version)
            wanted = version.old
    return found[::-1]


def points(versions: Sequence[Version], metric: str) -> list[Point]:
    """The values of one figure, one per run, oldest first; runs without it are left out."""
    field = METRICS[metric][0]
    found: list[Point] = []
    known: object = ()
    for version in versions:
        value, spread = value_of(version.after, field), None
        if field.startswith("performance."):
            spread = value_of(version.after, "performance.spread")
        run = artifact(version.after)
        if value is not None and (run, value) != known:
            found.append(Point(version, value, spread, run))
            known = run, value
    return found


def value_of(document: Document | None, field: str) -> float | None:
    """A number of a record by the name that `diff.flat` gives it; None if it is not there."""
    at: Any = document
    for name in field.split("."):
        at = at.get(name) if isinstance(at, Mapping) else None
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None
