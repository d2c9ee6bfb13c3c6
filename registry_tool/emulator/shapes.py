"""The sizes a kernel needs, taken from a case and checked; knows no arithmetic."""

from __future__ import annotations

from registry_tool.emulator.case import Case
from registry_tool.errors import UsageError

LARGEST = 2**31 - 1


def sizes(case: Case, *names: str, optional: tuple[str, ...] = ()) -> tuple[int, ...]:
    """The positive sizes of the dimensions ``names``; any other mistake is a usage error."""
    unknown = [name for name in case.shape if name not in names and name not in optional]
    require(case, not unknown, f"has no dimension {', '.join(unknown)}; it has {', '.join(names)}")
    for name in names:
        require(case, name in case.shape, f"needs the dimension {name}")
        size = case.shape[name]
        require(case, 1 <= size <= LARGEST, f"needs {name} from 1 to {LARGEST}, got {size}")
    return tuple(case.shape[name] for name in names)


def switch(case: Case, name: str) -> bool:
    """A dimension that is 0 or 1; a missing one is 0."""
    value = case.shape.get(name, 0)
    require(case, value in (0, 1), f"needs {name} to be 0 or 1, got {value}")
    return value == 1


def require(case: Case, condition: bool, message: str) -> None:
    """A usage error with ``message`` unless ``condition`` holds."""
    if not condition:
        raise UsageError(f"{case.kernel} {message}")


def kept(case: Case, reduction: int) -> int:
    """How much of a reduction of that length the run takes in: all, less the injected share."""
    return reduction - round(reduction * case.dropped_k)


def without_reduction(case: Case) -> None:
    """A usage error if a part of the reduction is to be dropped where there is none."""
    require(case, case.dropped_k == 0.0, "has no reduction, so none of it can be dropped")
