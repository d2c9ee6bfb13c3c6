"""Stopping runs that go on in other threads: Ctrl-C reaches only the main one."""

from __future__ import annotations

import threading


class Stopped(Exception):
    """Raised in a worker thread when its run was asked to stop; nothing of it is kept."""


def check(stop: threading.Event | None) -> None:
    """Raise Stopped if ``stop`` is set."""
    if stop is not None and stop.is_set():
        raise Stopped
