"""When a recipe is tried again, and what earlier verdicts say of it; nothing is run here.

A recipe is a kernel x shape x variant x tile x herd with its command. It gets one retry; a pass
after a failure, in this run or an earlier one, is a flaky pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import UNSET

from registry_tool.records import canonical
from registry_tool.records.verdict import Verdict
from registry_tool.verifier.attempt import Attempt
from registry_tool.verifier.job import Job

RETRIES = 1
"""Further attempts at a recipe on hardware; an emulation always says the same."""
# A wrong result is held against the recipe; a hang or a crash may have been the machine's.
_HELD_AGAINST = ("fail", "incomplete")


def worth_another(job: Job, attempts: list[Attempt]) -> bool:
    """Whether ``job`` is tried again after ``attempts``."""
    last = attempts[-1]
    if last.passed or not job.is_hardware or len(attempts) > RETRIES:
        return False
    # What took too long to compile takes as long again.
    return not (last.deciding.kind == "compile" and last.deciding.finished.timed_out)


def earlier_failures(job: Job, folder: Path, sources: Mapping[str, str]) -> int:
    """How many verdicts in ``folder`` found this very recipe wrong, built from these sources."""
    return sum(
        verdict.status in _HELD_AGAINST
        and verdict.canary is UNSET
        and dict(verdict.subject.shape) == dict(job.shape)
        and dict(verdict.subject.tile) == dict(job.tile)
        and tuple(verdict.subject.herd) == job.herd
        and verdict.subject.variant == job.variant
        and verdict.sources == sources
        for verdict in _verdicts(folder)
    )


def _verdicts(folder: Path) -> list[Verdict]:
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(canonical.decode_lenient(path.read_bytes(), Verdict))
        except (OSError, ValueError):
            continue  # the gate complains of it
    return found
