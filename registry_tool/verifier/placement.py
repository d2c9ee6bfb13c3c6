"""Whether a run failed because its configuration does not place: nobody need try it again."""

from __future__ import annotations

from registry_tool.verifier.attempt import Run
from registry_tool.verifier.logs.facts import Kind

# What the compiler says of a tiling that the array has no room or no descriptors for. Other errors
# (a module that is missing, a compiler that crashes) say nothing of the configuration.
_REFUSALS: tuple[Kind, ...] = (
    "repeat_count",
    "descriptors",
    "l2_capacity",
    "l1_capacity",
    "stride",
)


def is_refused(run: Run) -> bool:
    """Whether ``run`` ended because the compiler refused the tile and herd."""
    said = run.out.facts.has(*_REFUSALS) or run.err.facts.has(*_REFUSALS)
    return said and run.judgement.status == "error"
