"""Who holds a lock file, as far as /proc tells; nothing is opened, locked or ended here."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_UNSEEN = "of another user, so that its command is not shown"


@dataclass(frozen=True)
class Holder:
    """A process that holds the lock; ``inherited`` if the one that took it has ended.

    ``removed`` if the file that it holds is not the one that the path names any more.
    """

    pid: int
    command: str
    inherited: bool = False
    removed: bool = False

    def __str__(self) -> str:
        how = ", which inherited it from a process that has ended" if self.inherited else ""
        how += ", on a lock file that was removed while it was held" if self.removed else ""
        return f"process {self.pid} ({self.command}){how}"


@dataclass(frozen=True)
class _Lock:
    """A line of /proc/locks; ``pid`` took it, and may have ended."""

    pid: int
    device: int
    inode: int


def holders(path: Path) -> list[Holder]:
    """Who holds the lock on what ``path`` names; empty where /proc does not tell."""
    try:
        wanted = path.lstat()
    except OSError:
        return []
    locks = [lock for lock in _flocks() if lock.inode == wanted.st_ino]
    # Overlay and btrfs report another device number in stat(2) than in /proc/locks.
    exact = [lock for lock in locks if lock.device == wanted.st_dev] or locks
    found = [holder for lock in exact for holder in _describe(lock.pid, wanted)]
    # A PID namespace hides the locks of processes outside of it, and of those that have ended.
    return list(dict.fromkeys(found or _inheritors(wanted)))


def removed_holders(path: Path) -> list[Holder]:
    """Who holds a lock on a file that was removed from ``path``, and so shuts nobody out.

    It costs a read of /proc/locks, and a look at the processes that hold any lock.
    """
    name = f"{os.path.realpath(path.parent)}/{path.name} (deleted)"
    pids = {lock.pid for lock in _flocks()} - {os.getpid()}
    # Whoever took it may have ended: then any process may have the descriptor.
    alive = {pid for pid in pids if (_PROC / str(pid)).exists()}
    looked = alive if alive == pids else {int(entry) for entry in _processes()} - {os.getpid()}
    found = [(pid, taker) for pid in sorted(looked) for taker in _takers_of(pid, name)]
    return [
        Holder(pid, _command(pid) or _UNSEEN, inherited=taker not in alive, removed=True)
        for pid, taker in dict(found).items()
    ]


def _flocks() -> list[_Lock]:
    try:
        table = (_PROC / "locks").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    found = []
    for line in table.splitlines():
        fields = line.split()
        if len(fields) < 6 or fields[1] != "FLOCK":  # waiters have "->" there
            continue
        major, minor, inode = fields[5].split(":")
        device = os.makedev(int(major, 16), int(minor, 16))
        found.append(_Lock(int(fields[4]), device, int(inode)))
    return found


def _describe(pid: int, wanted: os.stat_result) -> list[Holder]:
    if pid == os.getpid():
        return [Holder(pid, "this very process")]
    command = _command(pid)
    if command is not None:
        return [Holder(pid, command)]
    return _inheritors(wanted)


def _command(pid: int) -> str | None:
    """The command line of ``pid``, on one line; None if there is no such process any more."""
    try:
        line = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    text = line.rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
    text = "".join(character if character.isprintable() else "?" for character in text)
    return (text[:117] + "...") if len(text) > 120 else text or "command unknown"


def _processes() -> list[str]:
    try:
        return [entry.name for entry in os.scandir(_PROC) if entry.name.isdigit()]
    except OSError:
        return []


def _inheritors(wanted: os.stat_result) -> list[Holder]:
    """The processes with a descriptor of the file that carries a lock."""
    return [
        Holder(int(pid), _command(int(pid)) or "command unknown", inherited=True)
        for pid in _processes()
        if int(pid) != os.getpid() and any(_descriptors(pid, wanted))
    ]


def _descriptors(pid: str, wanted: os.stat_result) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for link in (_PROC / pid / "fd").iterdir():
            with contextlib.suppress(OSError):
                found = link.stat()
                same = (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino)
                if same and _locks_of(pid, link.name):
                    yield link.name


def _takers_of(pid: int, name: str) -> Iterator[int]:
    """Who took the lock that ``pid`` has on a descriptor of the removed file ``name``."""
    with contextlib.suppress(OSError):
        for link in (_PROC / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                if os.fsdecode(link.readlink()) == name:
                    yield from _locks_of(str(pid), link.name)


def _locks_of(pid: str, descriptor: str) -> list[int]:
    """The processes that took the flock(2) locks of a descriptor."""
    text = (_PROC / pid / "fdinfo" / descriptor).read_text(errors="replace")
    lines = [line.split() for line in text.splitlines() if "FLOCK" in line]
    # lock:  1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
    return [
        int(fields[5]) for fields in lines if len(fields) > 5 and fields[5].lstrip("-").isdigit()
    ]
