"""One emulated run, apart from any registry: no lock, no verdict, nothing is kept."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from registry_tool.records import kernel
from registry_tool.records.spec import KernelSpec, Target, Tolerance
from registry_tool.records.verdict import Output, Subject
from registry_tool.verifier import process
from registry_tool.verifier.artifact import stored_outputs
from registry_tool.verifier.attempt import captured
from registry_tool.verifier.commands import emulator_command
from registry_tool.verifier.logs.judge import judge
from registry_tool.verifier.logs.request import Request
from registry_tool.verifier.machine.environment import PACKAGE
from registry_tool.verifier.streams import read_stream


@dataclass(frozen=True)
class Again:
    """What the second run proved, and what it measured."""

    status: str
    reason: str | None
    outputs: Sequence[Output]
    zero_share: float | None


def run(
    subject: Subject,
    spec: KernelSpec,
    target: Target,
    tolerance: Tolerance,
    root: Path,
    stop: threading.Event | None = None,
) -> Again:
    """Emulate ``subject`` under ``tolerance``; ``root`` holds the registry's own emulators.

    Raises HarnessError if the kernel is not emulated, InputError if its own emulator is not there,
    Stopped once ``stop`` is set; the emulation is ended first.
    """
    command = emulator_command(
        spec, root, subject.shape, subject.variant, subject.tile, subject.herd, tolerance
    )
    with (
        tempfile.TemporaryDirectory(prefix="registry-tool-again-") as folder,
        captured(Path(folder)) as (out_path, err_path),
    ):
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        finished = process.run(
            command,
            PACKAGE.parent,
            out_path,
            err_path,
            target.run_limit_s,
            env=environment,
            stop=stop,
        )
        out, err = read_stream(out_path), read_stream(err_path)
    elements = tuple(kernel.output_elements(spec, subject.shape))
    request = Request(
        elements=elements,
        outputs=len(elements),
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        band=kernel.band(spec, subject.shape, subject.variant, subject.tile, subject.herd),
    )
    found = judge(out.facts, finished.exit_status, finished.timed_out, request, err.facts)
    share = min(out.facts.zero_shares.values(), default=None)
    return Again(found.status, found.reason, stored_outputs(found), share)
