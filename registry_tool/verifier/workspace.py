"""A harness's build folders: made anew for each attempt, and for one verifier at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from registry_tool.errors import HarnessError, LockBusyError
from registry_tool.verifier import stop as stopping

_SLEEP_S = 0.1


@contextlib.contextmanager
def prepared(
    build: Sequence[Path],
    limit_s: float,
    announce: Callable[[str], None],
    stop: threading.Event | None = None,
) -> Iterator[None]:
    """``build``, empty, inside a `with` that no other verifier enters for the same folders.

    An old object that make takes for new would be measured in the place of this tile's. Raises
    HarnessError if the harness's folder is not there or not ours to write, LockBusyError after
    ``limit_s``.
    """
    with contextlib.ExitStack() as held:
        for parent in sorted({folder.parent for folder in build}):
            held.enter_context(_alone_in(parent, limit_s, announce, stop))
        for folder in build:
            _renew(folder)
        yield


@contextlib.contextmanager
def _alone_in(
    folder: Path,
    limit_s: float,
    announce: Callable[[str], None],
    stop: threading.Event | None,
) -> Iterator[None]:
    # flock(2) on the folder itself: nothing is left behind in a tree that is not ours.
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise HarnessError(
            f"the harness's folder cannot be opened: {error.strerror}",
            path=folder,
            fix="registry-tool doctor",
        ) from None
    try:
        deadline, said = time.monotonic() + limit_s, False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            except OSError as error:  # some network file systems have no flock(2) on folders
                announce(f"{folder} cannot be held ({error.strerror}): let nobody else build there")
                break
            stopping.check(stop)
            if time.monotonic() >= deadline:
                raise LockBusyError(
                    f"another verify has been building here for {limit_s:g} s",
                    path=folder,
                    fix="wait for it to end, or give this one a harness tree of its own",
                )
            if not said:
                announce(f"waiting for another verify, which builds in {folder}")
                said = True
            time.sleep(_SLEEP_S)
        yield
    finally:
        os.close(descriptor)


def _renew(folder: Path) -> None:
    try:
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
    except OSError as error:
        raise HarnessError(
            f"the build folder cannot be made anew: {error.strerror}",
            path=folder,
            fix=f"ls -ld {folder.parent}   # it must be yours to write",
        ) from None
