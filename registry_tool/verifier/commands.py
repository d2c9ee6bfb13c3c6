"""The commands that run a kernel on a target; nothing is started here."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from registry_tool.errors import HarnessError, InputError
from registry_tool.records import kernel
from registry_tool.records.keys import RowId
from registry_tool.records.spec import KernelSpec, Target, Tolerance
from registry_tool.verifier import hardware
from registry_tool.verifier.job import Commands, Job, Step
from registry_tool.verifier.machine.environment import PACKAGE

_OWN_EMULATOR = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.py:[A-Za-z_][A-Za-z0-9_]*")
_PYTHON = "python3"


def make_job(
    registry_root: Path,
    row: RowId,
    spec: KernelSpec,
    target: Target,
    shape: Mapping[str, int],
    variant: str | None,
    tile: Mapping[str, int],
    herd: Sequence[int],
    inject: str | None = None,
    place: hardware.Place | None = None,
) -> Job:
    """How ``row`` is run; ``place`` is needed for hardware.

    Raises ToolError if the spec has no harness, or no emulator, for the target.
    """
    if place is not None:
        commands = hardware.commands(spec, row.target, place, shape, variant, tile, herd)
    else:
        commands = _emulated(registry_root.resolve(), spec, shape, variant, tile, herd, inject)
    return Job(
        row=row,
        spec=spec,
        shape=dict(shape),
        variant=variant,
        precision=spec.variants[variant].precision if variant is not None else None,
        tile=dict(tile),
        herd=tuple(herd),
        target=target,
        commands=commands,
    )


def _emulated(
    root: Path,
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None,
    tile: Mapping[str, int],
    herd: Sequence[int],
    inject: str | None,
) -> Commands:
    tolerance = kernel.tolerance(spec, kernel.precision_of(spec, variant))
    command = emulator_command(spec, root, shape, variant, tile, herd, tolerance, inject)
    # Where `-m registry_tool.emulator` is found whatever the caller's folder holds, installed or
    # not; a registry with a numpy.py of its own must not be what is imported.
    step = Step(tuple(command), tuple(recorded(command, root)), PACKAGE.parent)
    return Commands(correctness=step)


def emulator_command(
    spec: KernelSpec,
    registry_root: Path,
    shape: Mapping[str, int],
    variant: str | None,
    tile: Mapping[str, int],
    herd: Sequence[int],
    tolerance: Tolerance,
    inject: str | None = None,
) -> list[str]:
    """The argument list of one emulated run, for this interpreter.

    Raises HarnessError if the kernel is not emulated, InputError if its own emulator is not there.
    """
    command = [sys.executable, "-m", "registry_tool.emulator", spec.kernel]
    command += _pairs(shape)
    if variant is not None:
        command += ["--variant", variant]
    if tile:
        command += ["--tile", ",".join(_pairs(tile))]
    if herd:
        command += ["--herd", "x".join(map(str, herd))]
    command += ["--rtol", repr(tolerance.rtol), "--atol", repr(tolerance.atol)]
    command += ["--emulator", _emulator(spec, registry_root)]
    if inject is not None:
        command += ["--inject", inject]
    return command


def _pairs(sizes: Mapping[str, int]) -> list[str]:
    return [f"{name}={size}" for name, size in sizes.items()]


def _emulator(spec: KernelSpec, registry_root: Path) -> str:
    emulator = spec.emulator
    if emulator is None:
        raise HarnessError(
            f"{spec.kernel} is not emulated: its spec names no emulator function",
            fix=f"add emulator: FILE.py:FUNCTION to kernels/{spec.kernel}.yaml",
        )
    name, _, function = emulator.partition(":")
    if not name.endswith(".py"):
        return emulator
    path = registry_root / "kernels" / name
    if not _OWN_EMULATOR.fullmatch(emulator):
        raise InputError(
            f"emulator: {emulator!r} is not FILE.py:FUNCTION with a file beside the spec",
            path=f"kernels/{spec.kernel}.yaml",
        )
    if not path.is_file():
        raise InputError(
            f"the emulator of {spec.kernel} is not there",
            path=path,
            fix=f"write it, or change emulator: in kernels/{spec.kernel}.yaml",
        )
    return f"{path}:{function}"


def recorded(command: Iterable[str], registry_root: Path) -> list[str]:
    """The command as a verdict keeps it: without the interpreter's and the registry's paths."""
    prefix = f"{registry_root}/"
    words = [word.removeprefix(prefix) for word in command]
    if words[0] == sys.executable:
        words[0] = _PYTHON
    # A file name may hold bytes that are no UTF-8; a verdict may not.
    return [word.encode("utf-8", "backslashreplace").decode() for word in words]


def shell_text(command: Sequence[str]) -> str:
    """The command as one would type it, each word quoted for a POSIX shell.

    A path of this machine that is not set stays a variable for the shell to fill in.
    """
    return " ".join(_shell_word(word) for word in command)


def _shell_word(word: str) -> str:
    for unset in (hardware.UNKNOWN_PEANO, hardware.UNKNOWN_ROOT):
        before, found, after = word.partition(unset)
        if found:
            # Between double quotes a shell still reads these three.
            escaped = (re.sub(r'([\\"`])', r"\\\1", part) for part in (before, after))
            return '"' + unset.join(escaped) + '"'
    return shlex.quote(word)
