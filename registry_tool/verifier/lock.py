"""The device lock: flock(2) on a file, shared with `flock -x`; it knows nothing of what is run."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from registry_tool.errors import LockBusyError, ToolError
from registry_tool.verifier import stop as stopping

Announce = Callable[[str], None]

_FIRST_SLEEP_S = 0.004
_LONGEST_SLEEP_S = 0.25
_REMIND_S = 60.0
# flock(2) needs no write access, O_CREAT is only used where the file is missing (Linux refuses it
# on other people's files in sticky folders), and O_NONBLOCK keeps a FIFO from blocking the open.
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_PROC = Path("/proc")


@dataclass(frozen=True)
class Holder:
    """A process that holds the lock; ``inherited`` if the one that took it has ended."""

    pid: int
    command: str
    inherited: bool = False

    def __str__(self) -> str:
        how = ", which inherited it from a process that has ended" if self.inherited else ""
        return f"process {self.pid} ({self.command}){how}"


@dataclass(frozen=True)
class Slot:
    """A lock that is held: which of a target's slots, and how long it took to get, s."""

    index: int
    path: Path
    wait_s: float


class DeviceLock:
    """Holds ``path`` exclusively inside a `with`, which yields the seconds waited.

    Raises LockBusyError when ``limit_s`` is over, ToolError for a file that is no lock, and
    Stopped once ``stop`` is set.
    """

    def __init__(
        self,
        path: Path,
        limit_s: float,
        announce: Announce,
        stop: threading.Event | None = None,
    ) -> None:
        self.path = path
        self.limit_s = limit_s
        self._announce = announce
        self._stop = stop
        self._descriptor: int | None = None

    def __enter__(self) -> float:
        self._descriptor, slot = _take([self.path], self.limit_s, self._announce, self._stop)
        return slot.wait_s

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            _release(self._descriptor)
            self._descriptor = None


@contextlib.contextmanager
def acquire_slot(
    path: Path,
    slots: int,
    limit_s: float,
    announce: Announce,
    stop: threading.Event | None = None,
) -> Iterator[Slot]:
    """Hold any free one of ``slots`` locks: slot 0 is ``path``, slot i is ``path.i``.

    With one slot it is exactly the plain lock. Raises as `DeviceLock` does.
    """
    paths = [path, *(path.with_name(f"{path.name}.{i}") for i in range(1, slots))]
    descriptor, slot = _take(paths, limit_s, announce, stop)
    try:
        yield slot
    finally:
        _release(descriptor)


def _take(
    paths: Sequence[Path], limit_s: float, announce: Announce, stop: threading.Event | None
) -> tuple[int, Slot]:
    start = time.monotonic()
    sleep_s = _FIRST_SLEEP_S
    said, said_at = "", start
    while True:
        for index, path in enumerate(paths):
            descriptor = _try(path)
            if descriptor is not None:
                return descriptor, Slot(index, path, time.monotonic() - start)
        stopping.check(stop)
        now = time.monotonic()
        if now - start >= limit_s:
            raise LockBusyError(
                f"the device lock stayed busy for {now - start:.1f} s (limit {limit_s:g} s), "
                f"held by {_who(paths)}",
                path=paths[0],
                fix="wait for that run to end, or raise the target's lock.limit_s in registry.yaml",
            )
        # Sleeping between tries, not blocking in flock(2): Ctrl-C and the time limit both work.
        if not said or now - said_at >= _REMIND_S or sleep_s == _LONGEST_SLEEP_S:
            message = f"waiting for the device lock {paths[0]}, held by {_who(paths)}"
            if message != said or now - said_at >= _REMIND_S:
                announce(message)
                said, said_at = message, now
        time.sleep(max(0.0, min(sleep_s, start + limit_s - now)))
        sleep_s = min(sleep_s * 1.5, _LONGEST_SLEEP_S)


def _try(path: Path) -> int | None:
    """A descriptor that holds the lock on what ``path`` names now, or None while it is busy."""
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file may have been unlinked or replaced between open and flock, or while another
            # process held it: then two would hold "the" lock, each on an inode of its own.
            if _names(path, os.fstat(descriptor)):
                return descriptor
        except OSError as error:
            os.close(descriptor)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return None
            if error.errno == errno.EINTR:
                continue
            raise ToolError(
                f"cannot be locked: {error.strerror}",
                path=path,
                fix="put the lock on a local file system (registry.yaml: targets.*.lock.path)",
            ) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _names(path: Path, held: os.stat_result) -> bool:
    try:
        named = path.lstat()
    except FileNotFoundError:
        return False
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


def _release(descriptor: int) -> None:
    # Unlocking says so for every copy of the descriptor; closing alone would not.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _open(path: Path) -> int:
    while True:
        try:
            descriptor = _open_existing(path)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                return _create(path)
            continue
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return descriptor
        os.close(descriptor)
        what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise _not_a_lock(path, f"the lock path is {what}")


def _open_existing(path: Path) -> int:
    for access in (os.O_RDWR, os.O_RDONLY):
        try:
            return os.open(path, access | _FLAGS)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _not_a_lock(
                    path, "the lock path is a symbolic link, which is not followed"
                ) from None
            if error.errno == errno.EISDIR:
                raise _not_a_lock(path, "the lock path is a folder") from None
            if error.errno == errno.ENOTDIR:
                raise _not_a_lock(path, "a parent of the lock path is not a folder") from None
            refused = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ETXTBSY)
            if access == os.O_RDWR and refused:
                continue
            if refused:
                raise ToolError(
                    f"the lock file cannot be opened ({error.strerror}); it is owned by "
                    f"{_owner(path)}",
                    path=path,
                    fix=f"ask its owner to type: chmod a+r {path}",
                ) from None
            raise _not_a_lock(path, f"the lock file cannot be opened: {error.strerror}") from None
    raise AssertionError("unreachable")


def _create(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o666)
    except FileExistsError:
        raise
    except FileNotFoundError:
        raise _not_a_lock(path, f"the folder {path.parent} of the lock does not exist") from None
    except OSError as error:
        raise _not_a_lock(path, f"the lock file cannot be created: {error.strerror}") from None


def _not_a_lock(path: Path, message: str) -> ToolError:
    return ToolError(
        message,
        path=path,
        fix="remove it, or name another file in registry.yaml (targets.*.lock.path)",
    )


def _owner(path: Path) -> str:
    try:
        found = path.lstat()
    except OSError:
        return "an unknown user"
    return f"user {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o}"


def holders(path: Path) -> list[Holder]:
    """Who holds the lock on ``path``, as far as /proc tells; empty where it does not."""
    try:
        wanted = path.lstat()
        table = (_PROC / "locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    exact: list[int] = []
    same_inode: list[int] = []
    for line in table.splitlines():
        fields = line.split()
        if len(fields) < 6 or fields[1] != "FLOCK":  # waiters have "->" there
            continue
        major, minor, inode = fields[5].split(":")
        if int(inode) != wanted.st_ino:
            continue
        device = os.makedev(int(major, 16), int(minor, 16))
        (exact if device == wanted.st_dev else same_inode).append(int(fields[4]))
    # Overlay and btrfs report another device number in stat(2) than in /proc/locks.
    return [found for pid in exact or same_inode for found in _describe(pid, wanted)]


def _describe(pid: int, wanted: os.stat_result) -> list[Holder]:
    if pid == os.getpid():
        return [Holder(pid, "this very process")]
    command = _command(pid)
    if command is not None:
        return [Holder(pid, command)]
    return [
        Holder(other, _command(other) or "command unknown", inherited=True)
        for other in _inheritors(wanted)
    ]


def _command(pid: int) -> str | None:
    try:
        line = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    text = line.rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
    text = "".join(character if character.isprintable() else "?" for character in text)
    return (text[:117] + "...") if len(text) > 120 else text or "command unknown"


def _inheritors(wanted: os.stat_result) -> Iterator[int]:
    for folder in _PROC.iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            for link in (folder / "fd").iterdir():
                found = link.stat()
                if (found.st_dev, found.st_ino) != (wanted.st_dev, wanted.st_ino):
                    continue
                if "FLOCK" in (folder / "fdinfo" / link.name).read_text(errors="replace"):
                    yield int(folder.name)
                    break


def _who(paths: Sequence[Path]) -> str:
    found = [str(holder) for path in paths for holder in holders(path)]
    return " and ".join(found) if found else "a process that this system does not name"
