"""What would run today on a target: from this tool, the harness tree here, or the newest run.

An emulation is this tool's own: its sources are known everywhere. Its toolchain (NumPy, BLAS, CPU)
differs from one desk to the next without a row being any less true, so that it does not count. A
harness tree may not be at hand: then the newest passing run of the same kernel shows what the
others should have run with.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from registry_tool.errors import ToolError
from registry_tool.records.spec import KernelSpec, Target
from registry_tool.records.verdict import Fact, Verdict
from registry_tool.stale.moved import Current
from registry_tool.verifier.hardware import find_place
from registry_tool.verifier.machine import environment

Known = Callable[[KernelSpec, Iterable[Verdict]], Current]
"""What is current for a kernel, given the passing verdicts of its rows on the target."""

NEWEST = "as the newest run of this kernel had it"


def on_target(name: str, target: Target, root: Path, environ: Mapping[str, str]) -> Known:
    """How to learn what is current on the target ``name`` of the registry in ``root``."""
    is_here = (
        target.kind == "hardware"
        and target.harness_root is not None
        and Path(target.harness_root).expanduser().is_dir()
    )
    if not is_here:
        return from_the_registry(target, root)
    toolchain = _toolchain(name, target, environ)
    return lambda spec, _: Current(
        "in the harness tree now", environment.sources(spec, target, root, name), toolchain
    )


def from_the_registry(target: Target, root: Path) -> Known:
    """The same without a look at a harness tree: every machine learns the same."""
    if target.kind == "emulated":
        return lambda spec, _: _of_emulation(spec, target, root)
    return lambda _, verdicts: of_newest(verdicts)


def _of_emulation(spec: KernelSpec, target: Target, root: Path) -> Current:
    since = "this version of the emulation"
    try:
        return Current(since, environment.sources(spec, target, root))
    except FileNotFoundError:
        return Current(since)  # the registry's own emulator is gone: nobody can tell any more


def of_newest(verdicts: Iterable[Verdict]) -> Current:
    """What the newest of ``verdicts`` of one kernel ran with."""
    newest = max(
        (verdict for verdict in verdicts if verdict.sources),
        key=lambda verdict: verdict.run_id,
        default=None,
    )
    if newest is None:
        return Current("no run remembers its sources")
    since = f"{NEWEST}, {newest.run_id}"
    return Current(since, newest.sources, newest.environment.toolchain)


def _toolchain(name: str, target: Target, environ: Mapping[str, str]) -> Mapping[str, Fact]:
    try:
        place = find_place(name, target, environ)
    except ToolError:
        place = None  # no compiler here: the tree alone can be looked at
    return environment.survey(target, os.environ, place).toolchain
