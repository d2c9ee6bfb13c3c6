from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from registry_tool.errors import ToolError
from registry_tool.verifier import process
from registry_tool.verifier.process import Finished, run
from registry_tool.verifier.stop import Stopped


def sh(folder: Path, script: str, limit_s: float = 30, **options: object) -> Finished:
    return run(
        ["sh", "-c", script],
        folder,
        folder / "out",
        folder / "err",
        limit_s,
        **options,  # type: ignore[arg-type]
    )


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state != b"Z"


def eventually(condition: Callable[[], bool], limit_s: float = 10) -> bool:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def test_both_streams_arrive_byte_for_byte(tmp_path: Path) -> None:
    finished = sh(tmp_path, r"printf 'a\000\377\r\n'; printf 'e\033' >&2; exit 3")
    assert (tmp_path / "out").read_bytes() == b"a\0\xff\r\n"
    assert (tmp_path / "err").read_bytes() == b"e\x1b"
    assert (finished.exit_status, finished.timed_out, finished.survivors) == (3, False, ())
    assert 0 < finished.seconds < 10
    assert finished.started.tzinfo is not None


def test_a_signal_is_a_negative_status(tmp_path: Path) -> None:
    assert sh(tmp_path, "kill -11 $$").exit_status == -11


def test_nothing_stands_on_standard_input(tmp_path: Path) -> None:
    sh(tmp_path, "cat; echo end")
    assert (tmp_path / "out").read_bytes() == b"end\n"


def test_it_runs_in_a_session_and_folder_of_its_own(tmp_path: Path) -> None:
    sh(tmp_path, "pwd; ps -o sid= -p $$ 2>/dev/null || cut -d' ' -f6 /proc/$$/stat; echo $$")
    folder, session, pid = (tmp_path / "out").read_text().split()
    assert Path(folder) == tmp_path.resolve()
    assert session == pid != str(os.getsid(0))


def test_a_hang_is_ended_at_its_limit_with_the_partial_log_kept(tmp_path: Path) -> None:
    finished = sh(tmp_path, "echo before; sleep 60", 0.3)
    assert (finished.exit_status, finished.timed_out) == (None, True)
    assert 0.3 <= finished.seconds < 5
    assert (tmp_path / "out").read_bytes() == b"before\n"


def test_the_limit_also_ends_what_ignores_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.2)
    started = time.monotonic()
    finished = sh(tmp_path, "trap '' TERM; echo $$; while :; do sleep 1; done", 0.2)
    assert finished.timed_out
    assert time.monotonic() - started < 5
    assert not lives(int((tmp_path / "out").read_text()))


def test_a_grandchild_that_holds_the_streams_is_ended_and_reported(tmp_path: Path) -> None:
    finished = sh(tmp_path, "sleep 61 & echo $!; exit 0")
    assert finished.exit_status == 0
    assert not finished.timed_out
    assert finished.survivors == ("sleep 61",)
    assert not lives(int((tmp_path / "out").read_text()))


def test_the_limit_reaches_grandchildren(tmp_path: Path) -> None:
    finished = sh(tmp_path, "sleep 61 & echo $!; sleep 62", 0.3)
    assert finished.timed_out
    assert not lives(int((tmp_path / "out").read_text()))


def test_a_process_that_leaves_the_session_is_ended_too(tmp_path: Path) -> None:
    code = "import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(61)"
    finished = sh(tmp_path, f"{sys.executable} -c '{code}' & sleep 0.5; exit 0")
    assert len(finished.survivors) == 1
    assert not lives(int((tmp_path / "out").read_text()))


def test_what_still_flushes_may_finish(tmp_path: Path) -> None:
    finished = sh(tmp_path, "(sleep 0.05; echo late) & exit 0")
    assert finished.survivors == ()
    assert (tmp_path / "out").read_bytes() == b"late\n"


def test_lines_are_handed_on_while_it_runs(tmp_path: Path) -> None:
    lines: list[str] = []
    sh(tmp_path, r"echo one; printf 'two\r\n'; printf torn", on_line=lines.append)
    assert lines == ["one", "two"]


@pytest.mark.parametrize(
    ("command", "folder", "words"),
    [
        (["no-such-program"], ".", "not found"),
        (["/etc/passwd"], ".", "may not be executed"),
        (["true"], "absent", "does not exist"),
    ],
)
def test_what_cannot_start_says_why(
    tmp_path: Path, command: list[str], folder: str, words: str
) -> None:
    with pytest.raises(ToolError, match=words) as caught:
        run(command, tmp_path / folder, tmp_path / "out", tmp_path / "err", 5)
    assert caught.value.fix


def test_an_exception_in_us_ends_the_harness_first(tmp_path: Path) -> None:
    class Interrupted(BaseException):
        pass

    def interrupt(line: str) -> None:
        raise Interrupted(line)

    with pytest.raises(Interrupted) as caught:
        sh(tmp_path, "echo $$; sleep 61", on_line=interrupt)
    assert not lives(int(str(caught.value)))


def test_a_run_can_be_stopped_from_another_thread(tmp_path: Path) -> None:
    stop = threading.Event()
    timer = threading.Timer(0.1, stop.set)
    timer.start()
    started = time.monotonic()
    with pytest.raises(Stopped):
        sh(tmp_path, "echo $$; sleep 61", stop=stop)
    assert time.monotonic() - started < 10
    assert not lives(int((tmp_path / "out").read_text()))
    timer.join()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_when_we_die_the_harness_dies(tmp_path: Path, number: signal.Signals) -> None:
    code = (
        "from pathlib import Path\n"
        "from registry_tool.verifier.process import run\n"
        "run(['sh', '-c', 'sleep 61 & echo $$; echo $!; wait'], Path('.'), Path('out'),\n"
        "    Path('err'), 60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(process.__file__).parents[2])}
    parent = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
    )
    out = tmp_path / "out"
    assert eventually(lambda: out.exists() and out.read_bytes().count(b"\n") == 2)
    pids = [int(word) for word in out.read_text().split()]
    assert all(map(lives, pids))
    parent.send_signal(number)
    parent.wait(10)
    assert eventually(lambda: not any(map(lives, pids)))
