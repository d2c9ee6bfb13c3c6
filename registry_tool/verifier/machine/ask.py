"""Asking a program of this machine a short question; it knows nothing of what is answered."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from registry_tool.errors import ToolError
from registry_tool.verifier import process

LIMIT_S = 5.0
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SIZE = 4 << 20
# A program that floods its output is ended by the kernel, not by the disk: 32 MiB, or half of it.
_BOUNDED = ("/bin/sh", "-c", 'ulimit -f 32768 2>/dev/null || :; exec "$@"', "sh")


@dataclass(frozen=True)
class Answer:
    """What a program answered: ``text`` is both its streams; ``failure`` says why it is none."""

    text: str
    failure: str | None
    hung: bool = False


def ask(command: Sequence[str], environ: Mapping[str, str], limit_s: float = LIMIT_S) -> Answer:
    """Run ``command`` in an empty folder for at most ``limit_s``; it raises nothing.

    The program and all that it starts has ended when this returns.
    """
    name = Path(command[0]).name
    program = which(command[0], environ.get("PATH", ""))
    if program is None:
        return Answer("", f"{name} is not on PATH")
    try:
        with tempfile.TemporaryDirectory(prefix="registry-tool-") as folder:
            out, err, place = (Path(folder, part) for part in ("out", "err", "cwd"))
            place.mkdir()
            words = [*_BOUNDED, program, *command[1:]]
            ended = process.run(words, place, out, err, limit_s, env=environ)
            text, said = read_some(out), read_some(err)
    except (ToolError, OSError) as error:
        return Answer("", f"{name} cannot be asked: {str(error).strip().splitlines()[0]}")
    if ended.timed_out:
        return Answer(text, f"{name} did not end within {limit_s:g} s", hung=True)
    failure = None
    if ended.exit_status is not None and ended.exit_status < 0:
        failure = f"{name} was ended by {_signal_name(-ended.exit_status)}"
    elif ended.exit_status:
        complaint = _complaint(said) or _complaint(text)
        failure = f"{name} exited with status {ended.exit_status}"
        failure += f": {complaint}" if complaint else ""
    return Answer(f"{text}\n{said}", failure)


def which(name: str, *folders: str) -> str | None:
    """The program ``name`` in ``folders`` (each may be a PATH); a folder left empty is not `.`."""
    parts = [part for folder in folders for part in folder.split(os.pathsep) if part]
    return shutil.which(name, path=os.pathsep.join(parts)) if parts or os.sep in name else None


def read_some(path: Path) -> str:
    """The first 4 MiB of a file as text, empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_SIZE).decode("utf-8", "replace")
    except OSError:
        return ""


def _complaint(text: str) -> str:
    """The line of ``text`` that says what is wrong: the first with ERROR, or else the last."""
    lines = [ESCAPE.sub("", line).strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
