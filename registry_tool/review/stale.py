"""Rows whose evidence is stale after a change: what it measured with other code than the others.

Only kernels of which the change measures a row, or whose own emulator it touches, are looked at;
what is current is told from the state and this tool alone, so that everybody is told the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from registry_tool.records import canonical
from registry_tool.records.record import Record
from registry_tool.records.verdict import Verdict
from registry_tool.review.model import RowChange, Stale
from registry_tool.review.sides import Side
from registry_tool.stale.current import from_the_registry
from registry_tool.stale.moved import moved
from registry_tool.store.git import Change

_MEASURED = ("added", "re-measured", "edited", "renamed", "removed")


def compare(
    before: Side, after: Side, rows: Iterable[RowChange], changes: Iterable[Change]
) -> tuple[Stale, ...]:
    """The stale rows of the kernels that the change touches; those that were fresh before first."""
    places = {(row.target, row.kernel) for row in rows if row.kind in _MEASURED}
    if any(one.path.startswith("kernels/") and one.path.endswith(".py") for one in changes):
        places |= {(target, kernel) for target in _targets(after) for kernel in after.specs}
    found = []
    for target, kernel in sorted(places):
        now = _stale(after, target, kernel)
        was = _stale(before, target, kernel) if now else {}
        found += [Stale(row, tuple(why), newly=row not in was) for row, why in now.items()]
    return tuple(sorted(found, key=lambda one: (not one.newly, one.row)))


def _targets(side: Side) -> Iterable[str]:
    return side.context.policy.targets if side.context else ()


def _stale(side: Side, target: str, kernel: str) -> dict[str, list[str]]:
    """Why each stale row of a kernel is."""
    policy = side.context.target(target) if side.context else None
    if policy is None or kernel not in side.specs:
        return {}
    verdicts = dict(_verdicts(side, side.records([f"records/{target}/{kernel}"])))
    known = from_the_registry(policy, side.snapshot.root)
    current = known(side.specs[kernel], verdicts.values())
    return {row: why for row, verdict in verdicts.items() if (why := moved(verdict, current))}


def _verdicts(side: Side, records: Mapping[str, Record]) -> Iterator[tuple[str, Verdict]]:
    """The verdict that each row cites, where a run passed and can be read."""
    cited = {
        record.verdict.artifact: path.removeprefix("records/").removesuffix(".json")
        for path, record in records.items()
        if record.verdict.status == "pass" and record.verdict.kind != "imported"
    }
    held = side.snapshot.narrowed(side.snapshot.below(sorted(cited))).oids
    wanted = [(path, oid) for path, oid in held.items() if path in cited]
    for path, data in side.snapshot.stream(wanted):
        try:
            yield cited[path], canonical.decode_lenient(data, Verdict)
        except (ValueError, RecursionError):
            continue  # the gate complains of it
