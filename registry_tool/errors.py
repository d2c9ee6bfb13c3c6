"""The errors a user can do something about; they know nothing of how they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_LOCK_BUSY = 75


class ToolError(Exception):
    """A failure with one clear message: what is wrong, where, and what to type next.

    ``path`` and ``line`` say where; ``fix`` is the next command to type, if there is one.
    """

    exit_status = EXIT_USAGE

    def __init__(
        self,
        message: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line
        self.fix = fix

    def __str__(self) -> str:
        where = ""
        if self.path is not None:
            where = f"{self.path}:{self.line}: " if self.line is not None else f"{self.path}: "
        fix = f"\n  next: {self.fix}" if self.fix else ""
        return f"{where}{self.message}{fix}"


class UsageError(ToolError):
    """The command line asks for something that does not exist or does not fit together."""


class InputError(ToolError):
    """A file that was given cannot be read, or does not hold what it must."""


class RegistryError(ToolError):
    """The registry on disk is missing, broken, or not what the command needs."""


class GitError(ToolError):
    """git refused, or the folder is not in a repository."""


class HarnessError(ToolError):
    """One kernel's harness is missing or cannot be started; those of others may be sound."""


class LockBusyError(ToolError):
    """The device lock stayed busy for the whole time limit."""

    exit_status = EXIT_LOCK_BUSY
