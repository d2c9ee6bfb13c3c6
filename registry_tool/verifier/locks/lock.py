"""The device lock: flock(2) on a file, shared with `flock -x`; it knows nothing of what is run."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from registry_tool.errors import LockBusyError
from registry_tool.verifier import stop as stopping
from registry_tool.verifier.locks import mounts
from registry_tool.verifier.locks.holders import Holder, holders, removed_holders
from registry_tool.verifier.locks.lock_file import open_lock, unlockable

__all__ = ["Announce", "DeviceLock", "Holder", "Slot", "acquire_slot", "holders"]

Announce = Callable[[str], None]

_FIRST_SLEEP_S = 0.004
_LONGEST_SLEEP_S = 0.25
_REMIND_S = 60.0


@dataclass(frozen=True)
class Slot:
    """A lock that is held: which of a target's slots, and how long it took to get, s."""

    index: int
    path: Path
    wait_s: float


class DeviceLock:
    """Holds ``path`` exclusively inside a `with`, which yields the seconds waited.

    Raises LockBusyError when ``limit_s`` is over, ToolError for a file that is no lock, and
    Stopped once ``stop`` is set. ``announce`` is told who holds it while we wait, and afterwards
    if somebody removed the file while we held it.
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
            _release(self._descriptor, self.path, self._announce)
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
        _release(descriptor, slot.path, announce)


def _take(
    paths: Sequence[Path], limit_s: float, announce: Announce, stop: threading.Event | None
) -> tuple[int, Slot]:
    start = time.monotonic()
    wait = _Wait(paths, limit_s, start, announce, stop)
    while True:
        for index, path in enumerate(paths):
            descriptor = _try(path)
            if descriptor is None:
                continue
            try:
                # A removed file shuts nobody out, yet whoever holds it is on the device: we wait
                # for them with the new file held, so that those after us wait for us.
                while found := removed_holders(path):
                    wait.again(found)
                if _names(path, os.fstat(descriptor)):
                    return descriptor, Slot(index, path, time.monotonic() - start)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        wait.again([])


class _Wait:
    """Waiting between tries: it sleeps longer and longer, says for whom, and ends at the limit."""

    def __init__(
        self,
        paths: Sequence[Path],
        limit_s: float,
        start: float,
        announce: Announce,
        stop: threading.Event | None,
    ) -> None:
        self._paths = paths
        self._limit_s = limit_s
        self._start = start
        self._announce = announce
        self._stop = stop
        self._sleep_s = _FIRST_SLEEP_S
        self._said, self._said_at = "", start

    def again(self, found: Sequence[Holder]) -> None:
        """Sleep before the next try; ``found`` is who holds it, asked of /proc if that is empty.

        Raises LockBusyError at the limit, and Stopped.
        """
        stopping.check(self._stop)
        now = time.monotonic()
        if now - self._start >= self._limit_s:
            raise _busy(self._paths, now - self._start, self._limit_s, found or self._holders())
        # Sleeping between tries, not blocking in flock(2): Ctrl-C and the time limit both work.
        is_time = now - self._said_at >= _REMIND_S
        if not self._said or is_time or self._sleep_s == _LONGEST_SLEEP_S:
            who = _who(self._paths, found or self._holders())
            message = f"waiting for the device lock {self._paths[0]}, held by {who}"
            if message != self._said or is_time:
                self._announce(message)
                self._said, self._said_at = message, now
        left_s = self._start + self._limit_s - now
        time.sleep(max(0.0, min(self._sleep_s, left_s)))
        self._sleep_s = min(self._sleep_s * 1.5, _LONGEST_SLEEP_S)

    def _holders(self) -> list[Holder]:
        return [holder for path in self._paths for holder in holders(path)]


def _busy(
    paths: Sequence[Path], waited_s: float, limit_s: float, found: Sequence[Holder]
) -> LockBusyError:
    return LockBusyError(
        f"the device lock stayed busy for {waited_s:.1f} s (limit {limit_s:g} s), "
        f"held by {_who(paths, found)}",
        path=paths[0],
        fix=_what_to_do(paths[0], found),
    )


def _who(paths: Sequence[Path], found: Sequence[Holder]) -> str:
    if found:
        return " and ".join(map(str, found))
    kind = mounts.kind_of_folder(paths[0])
    if kind is not None and mounts.is_network(kind):
        return f"a process that may be on another machine: {paths[0].parent} is on {kind}"
    return "a process that this system does not name"


def _what_to_do(path: Path, found: Sequence[Holder]) -> str:
    """The next command to type for who holds ``path``."""
    quoted = shlex.quote(str(path))
    raise_it = "raise the target's lock.limit_s in registry.yaml"
    if not found:
        if mounts.is_network(mounts.kind_of_folder(path) or ""):
            return "put the lock on a local file system (registry.yaml: targets.*.lock.path)"
        return f"sudo fuser -v {quoted}   # then wait for that run to end, or {raise_it}"
    if any(holder.pid == os.getpid() for holder in found):
        return f"wait for that run to end, or {raise_it}"
    look = f"ps -o pid,user,lstart,args -p {','.join(str(holder.pid) for holder in found)}"
    if all(holder.inherited for holder in found):
        pids = " ".join(str(holder.pid) for holder in found)
        return f"{look}   # if it only outlived its run: kill {pids}"
    return f"{look}   # then wait for that run to end, or {raise_it}"


def _try(path: Path) -> int | None:
    """A descriptor that holds the lock on what ``path`` names now, or None while it is busy."""
    while True:
        descriptor = open_lock(path)
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
            raise unlockable(path, error) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _names(path: Path, held: os.stat_result) -> bool:
    try:
        named = path.lstat()
    except OSError:
        return False
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


def _release(descriptor: int, path: Path, announce: Announce) -> None:
    is_kept = _names(path, os.fstat(descriptor))
    # Unlocking says so for every copy of the descriptor; closing alone would not.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
    if not is_kept:
        announce(
            f"the lock file {path} was removed or replaced while it was held: another run may "
            "have used the device at the same time"
        )
