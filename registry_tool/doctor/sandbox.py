"""Short runs that must change nothing: a private TMPDIR, a time limit, nothing left behind."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from registry_tool.errors import ToolError
from registry_tool.verifier import process
from registry_tool.verifier.hardware import OUTER_MAKE, PEANO, check_path

_LONGEST = 4 << 20
# What make takes from a calling make, and what would colour or translate the output.
_DROPPED = (*OUTER_MAKE, "LANGUAGE")


@dataclass(frozen=True)
class Captured:
    """How a short run ended and what it said; ``status`` is None if the limit ended it."""

    status: int | None
    out: str
    err: str

    @property
    def last_error(self) -> str:
        """The last line that it wrote to standard error, or its exit status."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        return lines[-1] if lines else f"exit status {self.status}"


@dataclass(frozen=True)
class Sandbox:
    """Where short runs happen; ``folder`` is also their TMPDIR."""

    folder: Path
    environ: Mapping[str, str]
    _numbers: Iterator[int]

    def run(
        self,
        command: Sequence[str],
        limit_s: float,
        cwd: Path | None = None,
        without: Sequence[str] = (),
    ) -> Captured:
        """Run ``command`` for at most ``limit_s``, with the variables ``without`` unset.

        Raises ToolError if the program or the folder is not there.
        """
        number = next(self._numbers)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        env = {name: value for name, value in self.environ.items() if name not in without}
        ended = process.run(command, cwd or self.folder, out, err, limit_s, env)
        captured = Captured(ended.exit_status, self._read(out), self._read(err))
        out.unlink()
        err.unlink()
        return captured

    def _read(self, path: Path) -> str:
        with path.open("rb") as file:
            return file.read(_LONGEST).decode("utf-8", "replace")


@contextmanager
def sandbox(environ: Mapping[str, str]) -> Iterator[Sandbox]:
    """A sandbox that is gone afterwards; ``environ`` is what its programs inherit."""
    with TemporaryDirectory(prefix="registry-tool-doctor-") as name:
        folder = Path(name).resolve()
        private = {
            "TMPDIR": name,
            "LC_ALL": "C",
            "NO_COLOR": "1",
            "PYTHON_COLORS": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "200",
        }
        yield Sandbox(folder, {**harmless(environ), **private}, itertools.count())


def harmless(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` as programs may have it: a PEANO_INSTALL_DIR that is no plain path is left out.

    make would expand what stands in it, also where the command line does not name it.
    """
    kept = {key: value for key, value in environ.items() if key not in _DROPPED}
    if PEANO in kept:
        try:
            check_path(kept[PEANO], PEANO)
        except ToolError:
            del kept[PEANO]
    return kept
