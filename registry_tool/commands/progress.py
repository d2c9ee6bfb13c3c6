"""How far a verification is: one line that moves on a terminal, plain lines everywhere else."""

from __future__ import annotations

import sys
import threading
import time

from registry_tool.commands.common import warn


class Progress:
    """Counts finished needs and guesses the rest from those that are done."""

    def __init__(self, total: int, quiet: bool = False) -> None:
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._moving = sys.stderr.isatty() and not quiet
        self._quiet = quiet
        self._lock = threading.Lock()

    def running(self, text: str) -> None:
        """``text`` has started."""
        with self._lock:
            if self._moving:
                self._transient(f"[{self._done}/{self._total}] {text} ...{self._estimate()}")

    def line(self, text: str) -> None:
        """A line that stays, whatever moves below it."""
        with self._lock:
            self._print(text)

    def finished(self, text: str) -> None:
        """One more need is answered."""
        with self._lock:
            self._done += 1
            if not self._quiet:
                self._print(f"[{self._done}/{self._total}] {text}")

    def close(self) -> None:
        """Leave the terminal's line clean."""
        with self._lock:
            if self._moving:
                self._transient("")

    def _estimate(self) -> str:
        if not self._done:
            return ""
        left = (time.monotonic() - self._started) / self._done * (self._total - self._done)
        return f" about {left:.0f} s left"

    def _print(self, text: str) -> None:
        if self._moving:
            self._transient("")
        warn(text)

    def _transient(self, text: str) -> None:
        warn(f"\r\x1b[K{text}", end="")
