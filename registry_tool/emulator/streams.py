"""Work on blocks side by side, in order, with bounded memory; knows nothing of kernels."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def mapped(work: Callable[[T], R], items: Iterable[T], workers: int | None = None) -> Iterator[R]:
    """``work(item)`` for every item, results in the order of the items.

    Items are drawn in the calling thread while ``workers`` threads (default: one per core) work
    on the ones before (NumPy lets go of the interpreter in its loops); at most one finished
    result waits per worker.
    """
    workers = workers or cores()
    pending: deque[Future[R]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                if len(pending) > workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
