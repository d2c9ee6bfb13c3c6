"""What `check` finds beyond the files, if it is asked to: second runs.

Imported on the hot path, so that it imports nothing that takes long unless it is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from registry_tool.commands.common import warn

if TYPE_CHECKING:
    from registry_tool.recompute.rows import Recomputed
    from registry_tool.rules.finding import Finding
    from registry_tool.store.snapshot import Snapshot


def recomputed(state: Snapshot, which: str) -> tuple[Finding, ...]:
    """Findings of computing ``which`` (`changed` or `all`) verdicts of ``state`` again.

    Raises ToolError where ``state`` is no registry that can be read.
    """
    import signal

    from registry_tool.recompute import rows
    from registry_tool.store import registry

    # A polite end is an interruption like Ctrl-C: the emulations are ended, nothing stays.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    paths = (
        rows.every(state)
        if which == "all"
        else rows.touched(state, [change.path for change in state.changes if change.is_there])
    )
    found = rows.recompute(registry.load(state), paths, warn)
    for line in found.left_out:
        warn(f"not computed again: {line}")
    warn(_summary(found))
    return found.findings


def _summary(found: Recomputed) -> str:
    parts = []
    if found.emulated:
        parts.append(f"{_verdicts(found.emulated, 'emulated')} ran again")
    if found.derived:
        parts.append(
            f"{_verdicts(found.derived, 'hardware')} held against what a CPU can derive: element "
            "counts and zero-output share here, band, work, constraints and log by the rules of "
            "every check; accuracy and speed are the device's, and are not computed again"
        )
    if not parts:
        return "nothing to compute again"
    return "; ".join(parts)


def _verdicts(number: int, kind: str) -> str:
    return f"{number} {kind} verdict{'' if number == 1 else 's'}"
