"""KR131: rows whose evidence has moved, where registry.yaml asks for them.

Told from the state and this tool alone, so that every machine says the same: an emulation is held
against this tool's own, a run on hardware against the newest one of its kernel.
"""

from __future__ import annotations

from registry_tool.records.record import Record
from registry_tool.rules.catalog import BY_ID
from registry_tool.rules.finding import Finding
from registry_tool.rules.judging import Site, place
from registry_tool.rules.model import Complaint
from registry_tool.rules.severity import STALE, Levels
from registry_tool.stale import rows
from registry_tool.stale.current import from_the_registry
from registry_tool.store import registry as registries
from registry_tool.store.extracted import own_emulators
from registry_tool.store.registry import Registry
from registry_tool.store.snapshot import Snapshot

RULE = STALE


def is_asked_for(levels: Levels) -> bool:
    """Whether registry.yaml gives the rule a level other than `off`, for any target."""
    return any(said.get(RULE, "off") != "off" for said in levels.values())


def findings(snapshot: Snapshot) -> dict[str, list[Finding]]:
    """The stale rows of every target, by row; none where the rows cannot be read: others say so."""
    from registry_tool.errors import ToolError

    try:
        registry = registries.load(snapshot)
        with own_emulators(snapshot) as root:
            return {
                str(row): [_finding(registry, registry.records[row], row.record_path, reasons)]
                for name, target in registry.policy.targets.items()
                for row, reasons in rows.judged(
                    registry, name, from_the_registry(target, root)
                ).items()
            }
    except ToolError:
        return {}


def _finding(registry: Registry, record: Record, path: str, reasons: list[str]) -> Finding:
    data = registry.snapshot.read(path)
    row = path.removeprefix("records/").removesuffix(".json")
    complaint = Complaint(f"its evidence has moved: {'; '.join(reasons)}", "/verdict/artifact")
    return place(BY_ID[RULE], complaint, Site(path, row, {path: data}, record))
