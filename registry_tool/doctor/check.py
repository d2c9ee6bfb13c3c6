"""What one look at machine, registry or harness tree found; knows nothing of how it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "problem"]
_LONGEST = 1000


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: ``fix`` is what to type next, unless it is ok."""

    topic: str
    name: str
    status: Status
    message: str
    fix: str | None = None


@dataclass(frozen=True)
class Topic:
    """Makes the checks of one group."""

    name: str

    def ok(self, name: str, message: str) -> Check:
        """Nothing to do."""
        return Check(self.name, _line(name), "ok", _line(message))

    def warning(self, name: str, message: str, fix: str) -> Check:
        """Runs are possible, but somebody should know."""
        return Check(self.name, _line(name), "warning", _line(message), _line(fix))

    def problem(self, name: str, message: str, fix: str) -> Check:
        """It must be mended before a run means anything."""
        return Check(self.name, _line(name), "problem", _line(message), _line(fix))


def _line(text: str) -> str:
    """``text`` as one printable line: what programs and file names say may hold anything."""
    one = " ".join(text.split())
    shown = "".join(character if character.isprintable() else "?" for character in one)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."
