"""What the tree keeps beside itself: counters, and a journal of every start; JSON lines."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
HOME = TOP / ".standin"
EXAMPLES = TOP / "programming_examples"


@dataclass(frozen=True)
class Start:
    """One start of a script: which one it is of its folder, of its step, and of the tree."""

    folder: str
    step: str
    of_folder: int
    of_step: int
    of_tree: int
    of_tree_step: int


def config() -> dict[str, Any]:
    """How this tree was set up: ``lock`` (the outer lock), ``cache`` and the like."""
    path = HOME / "config.json"
    return dict(json.loads(path.read_bytes())) if path.is_file() else {}


def folder_of(script: Path) -> str:
    """The folder of a script below programming_examples/."""
    return script.resolve().parent.relative_to(EXAMPLES).as_posix()


def new_start(folder: str, step: str) -> Start:
    """Count a start of ``step`` in ``folder``."""
    with _counters() as counts:
        names = (folder, f"{folder}:{step}", "*", f"*:{step}")
        of = [_next(counts, name) for name in names]
    return Start(folder, step, *of)


def next_dispatch() -> int:
    """The number of the next work that the device is given, over the whole tree, from 1."""
    with _counters() as counts:
        return _next(counts, "dispatch")


def _next(counts: dict[str, int], name: str) -> int:
    counts[name] = counts.get(name, 0) + 1
    return counts[name]


@contextmanager
def _counters() -> Iterator[dict[str, int]]:
    HOME.mkdir(exist_ok=True)
    with open(HOME / "counters.json", "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        counts = json.loads(file.read() or "{}")
        yield counts
        file.truncate(0)
        file.write(json.dumps(counts))


def note(event: str, start: Start, **more: object) -> None:
    """Append one event to the journal; ``at`` is a clock that all processes share, s."""
    entry = {
        "event": event,
        "folder": start.folder,
        "step": start.step,
        "number": start.of_folder,
        "pid": os.getpid(),
        "at": time.monotonic(),
        **more,
    }
    # One write of a short line to a file opened for appending is whole.
    with open(HOME / "journal.jsonl", "ab", buffering=0) as file:
        file.write(json.dumps(entry).encode() + b"\n")


def outer_lock() -> str:
    """Who holds the lock that callers of a harness take: ``ours``, ``other`` or ``free``.

    ``ours`` is a holder among this process's ancestors.
    """
    path = config().get("lock")
    if not path or not Path(path).exists():
        return "free"
    inode = Path(path).stat().st_ino
    holders = set()
    for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(inode):
            holders.add(int(words[4]))
    if not holders:
        return "free"
    return "ours" if holders & set(_ancestors()) else "other"


def _ancestors() -> Iterator[int]:
    pid = os.getpid()
    while pid > 1:
        yield pid
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        pid = int(stat.rpartition(")")[2].split()[1])


def describe(argv: list[str]) -> Mapping[str, object]:
    """What the journal says of a start."""
    return {
        "argv": argv,
        "cwd": str(Path.cwd()),
        "outer_lock": outer_lock(),
        "peano": os.environ.get("PEANO_INSTALL_DIR"),
    }
