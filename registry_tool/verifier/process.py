"""Running one harness to its end, whatever it does; knows nothing of what it prints.

The harness gets a session of its own, nothing on standard input, and the two files themselves as
standard output and error, so that what it wrote survives it and us. When it ends, nothing of its
session is left: neither after a time limit, nor after Ctrl-C, nor after `kill -9` of this process
(see `_Guard`).
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from registry_tool.errors import HarnessError
from registry_tool.verifier import stop as stopping

GRACE_S = 2.0
"""How long a process may take to end after SIGTERM before it gets SIGKILL, s."""
_AFTERLIFE_S = 0.2
"""How long what the harness left behind may go on by itself, s: a `tee` that still flushes."""
_TICK_S = 0.2
_PROC = Path("/proc")
# A process that leaves the session (setsid) still carries this in its environment.
_MARK = "REGISTRY_TOOL_RUN"


@dataclass(frozen=True)
class Finished:
    """How a run ended: ``exit_status`` is negative for a signal, None if the limit ended it.

    ``survivors`` are the commands that were still running after it, and were ended.
    """

    exit_status: int | None
    timed_out: bool
    seconds: float
    started: datetime
    survivors: tuple[str, ...] = ()


def run(
    command: Sequence[str],
    cwd: Path,
    stdout_path: Path,
    stderr_path: Path,
    limit_s: float,
    env: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
    stop: threading.Event | None = None,
) -> Finished:
    """Run ``command`` in ``cwd`` for at most ``limit_s``, its output going to the two files.

    ``on_line`` is told each line of standard output about when it appears. Raises HarnessError if
    the program cannot be started, and Stopped once ``stop`` is set; whatever is raised, the
    harness is ended first.
    """
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    environment = {**(os.environ if env is None else env), _MARK: mark}
    started, clock = datetime.now(timezone.utc), time.monotonic()
    _check(command, cwd, environment)
    with (
        stdout_path.open("wb") as out,
        stderr_path.open("wb") as err,
        _Guard() as guard,
        _Gate() as gate,
    ):
        child = subprocess.Popen(
            [*_Gate.COMMAND, *command],
            cwd=cwd,
            env=environment,
            stdin=gate.reading,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        session = _Session(child, mark)
        try:
            guard.watch(child.pid)
            gate.open()
            ended = _wait(child, clock + limit_s, stdout_path, on_line, stop)
            seconds = time.monotonic() - clock
            survivors = session.end(_AFTERLIFE_S if ended else 0.0)
        except BaseException:
            session.end(0.0)
            raise
    return Finished(
        exit_status=child.returncode if ended else None,
        timed_out=not ended,
        seconds=seconds,
        started=started,
        survivors=tuple(survivors) if ended else (),
    )


def _check(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
    """Raise HarnessError for a program or folder that is not there."""
    program = command[0]
    if not cwd.is_dir():
        raise HarnessError(
            f"the harness's folder {cwd} does not exist",
            path=cwd,
            fix="set the target's harness_root in registry.yaml to the tree that holds it",
        )
    if os.sep in program:
        path = cwd / program
        if path.is_file() and not os.access(path, os.X_OK):
            raise HarnessError(
                f"the program {program!r} may not be executed", fix=f"chmod +x {path}"
            )
        found = path.is_file()
    else:
        found = shutil.which(program, path=env.get("PATH")) is not None
    if not found:
        raise HarnessError(
            f"the program {program!r} was not found",
            fix=f"command -v {program}   # install it, or put it on PATH",
        )


def _wait(
    child: subprocess.Popen[bytes],
    deadline: float,
    stdout_path: Path,
    on_line: Callable[[str], None] | None,
    stop: threading.Event | None,
) -> bool:
    """Whether the main process ended by itself before ``deadline`` (of the monotonic clock)."""
    tick_s = math.inf if on_line is None and stop is None else _TICK_S
    with _watch(child) as ended_within, _tail(stdout_path, on_line) as tell:
        while True:
            left = deadline - time.monotonic()
            if ended_within(max(0.0, min(left, tick_s))):
                child.wait()
                return True
            tell()
            stopping.check(stop)
            if left <= 0:
                return False


@contextlib.contextmanager
def _watch(child: subprocess.Popen[bytes]) -> Iterator[Callable[[float], bool]]:
    """A function that waits at most so many seconds, and says whether the child has ended."""

    def by_waiting(seconds: float) -> bool:
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    try:
        # Popen.wait with a limit sleeps up to 50 ms too long; a pidfd wakes us at once.
        descriptor = os.pidfd_open(child.pid)
    except (AttributeError, OSError):
        yield by_waiting
        return
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        # poll(2) takes milliseconds in an int: a day at a time is well inside.
        yield lambda seconds: bool(poll.poll(min(seconds, 86400.0) * 1000))
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _tail(path: Path, on_line: Callable[[str], None] | None) -> Iterator[Callable[[], None]]:
    """A function that hands on the lines which were written since its last call."""
    if on_line is None:
        yield lambda: None
        return
    with path.open("rb") as file:
        rest = b""

        def tell() -> None:
            nonlocal rest
            *lines, rest = (rest + file.read(1 << 20)).split(b"\n")
            for line in lines:
                on_line(line.decode("utf-8", "replace").rstrip("\r"))
            rest = rest[-4096:]

        yield tell
        tell()


class _Session:
    """The processes that a harness started: its session, and those that carry its mark."""

    def __init__(self, leader: subprocess.Popen[bytes], mark: str) -> None:
        self._leader = leader
        self._mark = f"{_MARK}={mark}".encode()

    def end(self, patience_s: float) -> list[str]:
        """End what is left after ``patience_s``: SIGTERM, a bounded wait, SIGKILL.

        Returns the commands of those that did not end by themselves.
        """
        left = self._left_after(patience_s)
        commands = [_command(pid) for pid in left]
        for number, grace_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
            if not left:
                break
            self._signal(left, number)
            left = self._left_after(grace_s)
        # On its way out it is in no list any more, and cannot be reaped yet.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._leader.wait(GRACE_S)
        return commands

    def _left_after(self, patience_s: float) -> list[int]:
        deadline, sleep_s = time.monotonic() + patience_s, 0.002
        while True:
            self._leader.poll()  # reaped, so that its number is gone from the group
            left = self._members()
            if not left or time.monotonic() >= deadline:
                return left
            time.sleep(sleep_s)
            sleep_s = min(sleep_s * 2, 0.05)

    def _signal(self, pids: Sequence[int], number: signal.Signals) -> None:
        # The group first: it also reaches what was forked since the list was made.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader.pid, number)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def _members(self) -> list[int]:
        if not _PROC.joinpath("self").exists():  # not Linux: the group is all there is to see
            try:
                os.killpg(self._leader.pid, 0)
            except (ProcessLookupError, PermissionError):
                return []
            return [self._leader.pid]
        names = [entry.name for entry in os.scandir(_PROC)]
        return [int(name) for name in names if name.isdigit() and self._owns(name)]

    def _owns(self, pid: str) -> bool:
        try:
            fields = (_PROC / pid / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] in (b"Z", b"X"):
                return False
            if int(fields[3]) == self._leader.pid:
                return True
            return self._mark in (_PROC / pid / "environ").read_bytes().split(b"\0")
        except (OSError, IndexError):
            return False


def _command(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    text = b" ".join(words).decode("utf-8", "replace").strip()
    return text[:120] if text else f"process {pid}"


class _Gate:
    """Holds the harness back until its guard knows it: there is no moment without one.

    The shell becomes the harness when it is told to, and ends when we end before.
    """

    COMMAND = ("/bin/sh", "-c", 'read -r go || exit 126; exec "$@" </dev/null', "sh")

    def __enter__(self) -> _Gate:
        self.reading, self._writing = os.pipe()
        return self

    def open(self) -> None:
        """Let the harness start."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._writing, b"go\n")

    def __exit__(self, *exception: object) -> None:
        os.close(self.reading)
        os.close(self._writing)


class _Guard:
    """Kills the harness's group if this process dies without a chance to do it.

    A shell waits on a pipe of which we hold the only writing end; when we are gone, however that
    came, the kernel closes it. PR_SET_PDEATHSIG would need code between fork and exec, and would
    reach the harness but not what it started.
    """

    _SCRIPT = 'read -r group || exit 0; read -r done && exit 0; kill -9 "-$group"'

    def __enter__(self) -> _Guard:
        reading, self._writing = os.pipe()
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", self._SCRIPT],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        except BaseException:
            os.close(self._writing)
            raise
        finally:
            os.close(reading)
        return self

    def watch(self, group: int) -> None:
        """Kill the process group ``group`` if we die from now on."""
        self._write(f"{group}\n")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:  # else the clean-up may have been cut short, by a second Ctrl-C
            self._write("done\n")
        os.close(self._writing)
        self._shell.wait()

    def _write(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self._writing, text.encode())
