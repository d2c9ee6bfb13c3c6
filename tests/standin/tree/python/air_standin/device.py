"""The device that is not there: the lock a harness takes itself, dispatches, and their times."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OVERHEAD_US = 60.0
GFLOPS, GBPS = 4000.0, 40.0
"""Rates that a run comes out at: what wide shapes are recorded with on this device."""
_WOBBLE = (1.0, 1.013, 0.991, 1.004, 0.996)


@contextmanager
def own_lock() -> Iterator[None]:
    """The lock that a harness takes for itself, below TMPDIR; released with its process."""
    # Not truncated and not followed: the folder is everybody's.
    path = Path(tempfile.gettempdir()) / "npu.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def latency_us(flops: float | None, moved: float | None, number: int) -> float:
    """A time that fits the work, a little different at each start, us."""
    compute = 0.0 if flops is None else flops / (GFLOPS * 1e3)
    memory = 0.0 if moved is None else moved / (GBPS * 1e3)
    return (OVERHEAD_US + max(compute, memory)) * _WOBBLE[number % len(_WOBBLE)]
