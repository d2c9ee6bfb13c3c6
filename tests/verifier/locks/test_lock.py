from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry_tool.errors import EXIT_LOCK_BUSY, LockBusyError
from registry_tool.verifier.locks.lock import DeviceLock, acquire_slot, holders
from registry_tool.verifier.stop import Stopped

pytestmark = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs Linux's /proc")
HOLDING = "import time; print('held', flush=True); time.sleep(60)"


def silent(message: str) -> None:
    del message


def is_free(path: Path) -> bool:
    """Whether flock(1) would get it at once."""
    return subprocess.run(["flock", "-n", "-x", path, "true"]).returncode == 0


@contextlib.contextmanager
def held_by_flock(path: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    if shutil.which("flock") is None:
        pytest.skip("needs flock(1)")
    command = ["flock", *options, "-x", str(path), sys.executable, "-c", HOLDING]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder


@contextlib.contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    with process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_a_free_lock_is_taken_at_once_and_let_go(tmp_path: Path) -> None:
    path = tmp_path / "npu.lock"
    with DeviceLock(path, 5, silent) as waited_s:
        assert waited_s < 1
        assert not is_free(path)
    assert is_free(path)
    assert path.read_bytes() == b""


def test_a_lock_file_keeps_its_content(tmp_path: Path) -> None:
    path = tmp_path / "npu.lock"
    path.write_bytes(b"4711\n")
    with DeviceLock(path, 5, silent):
        pass
    assert path.read_bytes() == b"4711\n"


def test_an_exception_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "npu.lock"
    with pytest.raises(ZeroDivisionError), DeviceLock(path, 5, silent):
        raise ZeroDivisionError
    assert is_free(path)


def test_a_busy_lock_names_its_holder_and_exits_75(tmp_path: Path) -> None:
    path, said = tmp_path / "npu.lock", list[str]()
    with held_by_flock(path) as holder:
        with pytest.raises(LockBusyError) as caught, DeviceLock(path, 0.3, said.append):
            pass
        assert caught.value.exit_status == EXIT_LOCK_BUSY
        for message in (str(caught.value), said[0]):
            assert f"process {holder.pid} (flock -x {path}" in message
        assert "0.3 s" in str(caught.value)
        assert f"ps -o pid,user,lstart,args -p {holder.pid}" in (caught.value.fix or "")
        assert len(said) == 1


def test_the_wait_ends_when_the_holder_does(tmp_path: Path) -> None:
    path = tmp_path / "npu.lock"
    with held_by_flock(path) as holder:

        def let_go(message: str) -> None:
            del message
            os.killpg(holder.pid, signal.SIGKILL)

        with DeviceLock(path, 20, let_go) as waited_s:
            assert 0 < waited_s < 20


def test_flock_waits_for_us_too(tmp_path: Path) -> None:
    path = tmp_path / "npu.lock"
    with DeviceLock(path, 5, silent):
        waiting = subprocess.Popen(["flock", "-x", path, "true"])
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(0.2)
        assert [holder.pid for holder in holders(path)] == [os.getpid()]
    assert waiting.wait(10) == 0


def test_a_second_taker_in_this_process_waits_as_well(tmp_path: Path) -> None:
    path = tmp_path / "npu.lock"
    with (
        DeviceLock(path, 5, silent),
        pytest.raises(LockBusyError, match="this very process"),
        DeviceLock(path, 0.05, silent),
    ):
        pass


def test_an_inherited_lock_names_who_has_it_now(tmp_path: Path) -> None:
    path = tmp_path / "npu.lock"
    with held_by_flock(path) as holder:
        os.kill(holder.pid, signal.SIGKILL)  # flock(1) alone: its command keeps the descriptor
        holder.wait()
        with pytest.raises(LockBusyError) as caught, DeviceLock(path, 0.2, silent):
            pass
        assert "inherited" in str(caught.value)
        assert "time.sleep(60)" in str(caught.value)
        (child,) = holders(path)
        assert child.pid != holder.pid
        assert (caught.value.fix or "").endswith(f"kill {child.pid}")


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare(1)")
def test_an_inherited_lock_is_found_where_the_kernel_hides_its_taker(tmp_path: Path) -> None:
    # Inside a PID namespace (a container), /proc/locks leaves out locks of ended processes.
    path = tmp_path / "npu.lock"
    code = (
        "import os, signal, subprocess, sys\n"
        "from pathlib import Path\n"
        "from registry_tool.errors import LockBusyError\n"
        "from registry_tool.verifier.locks.lock import DeviceLock\n"
        f"holding = ['flock', '-x', {str(path)!r}, sys.executable, '-c', {HOLDING!r}]\n"
        "taker = subprocess.Popen(holding, stdout=subprocess.PIPE)\n"
        "taker.stdout.readline()\n"
        "taker.kill(); taker.wait()\n"
        "try:\n"
        f"    with DeviceLock(Path({str(path)!r}), 0.1, lambda text: None): print('taken')\n"
        "except LockBusyError as error: print(error)\n"
    )
    inside = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
        pytest.skip("may not make a PID namespace")
    done = subprocess.run([*inside, sys.executable, "-c", code], capture_output=True, text=True)
    assert "inherited it from a process that has ended" in done.stdout, done.stderr
    assert "time.sleep(60)" in done.stdout


def test_a_started_program_does_not_inherit_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "npu.lock"
    with DeviceLock(path, 5, silent):
        child = subprocess.Popen(
            [sys.executable, "-c", HOLDING], stdout=subprocess.PIPE, close_fds=False
        )
        assert child.stdout is not None
        child.stdout.readline()
    with ended(child):
        assert is_free(path)
        child.kill()


def test_whoever_holds_a_file_that_was_removed_is_waited_for(tmp_path: Path) -> None:
    path, said = tmp_path / "npu.lock", list[str]()
    with held_by_flock(path) as holder:
        path.unlink()
        with pytest.raises(LockBusyError, match="was removed while it was held") as caught:
            DeviceLock(path, 0.2, said.append).__enter__()
        for message in (str(caught.value), said[0]):
            assert f"process {holder.pid} (flock -x {path}" in message
        assert f"ps -o pid,user,lstart,args -p {holder.pid}" in (caught.value.fix or "")

        def let_go(message: str) -> None:
            del message
            # Those after us wait for us, not for the file that is gone.
            assert not is_free(path)
            os.killpg(holder.pid, signal.SIGKILL)

        with DeviceLock(path, 20, let_go) as waited_s:
            assert 0 < waited_s < 20
            assert [holder.pid for holder in holders(path)] == [os.getpid()]


def test_a_file_removed_while_we_wait_for_it_does_not_give_two_holders(tmp_path: Path) -> None:
    path, said = tmp_path / "npu.lock", list[str]()
    with held_by_flock(path) as holder:

        def remove_then_let_go(message: str) -> None:
            said.append(message)
            if len(said) == 1:
                path.unlink()
            else:
                os.killpg(holder.pid, signal.SIGKILL)

        with DeviceLock(path, 20, remove_then_let_go):
            assert holder.wait(10) == -signal.SIGKILL
            assert not is_free(path)
    assert "was removed" not in said[0]
    assert "was removed" in said[1]


def test_a_removed_file_that_was_inherited_names_who_has_it_now(tmp_path: Path) -> None:
    path = tmp_path / "npu.lock"
    with held_by_flock(path) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        path.unlink()
        with pytest.raises(LockBusyError) as caught, DeviceLock(path, 0.1, silent):
            pass
        assert "inherited" in str(caught.value)
        assert "was removed while it was held" in str(caught.value)


def test_a_file_removed_while_we_hold_it_is_said_afterwards(tmp_path: Path) -> None:
    path, said = tmp_path / "npu.lock", list[str]()
    with DeviceLock(path, 5, said.append):
        pass
    assert said == []
    with acquire_slot(path, 1, 5, said.append):
        path.unlink()
        path.write_bytes(b"")
    assert [str(path) in line and "removed or replaced" in line for line in said] == [True]


def test_a_file_replaced_between_open_and_lock_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real, calls = tmp_path / "npu.lock", fcntl.flock, 0

    def replaced_once(descriptor: int, operation: int) -> None:
        nonlocal calls
        if not calls:
            path.unlink()
            path.write_bytes(b"")
        calls += 1
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", replaced_once)
    with DeviceLock(path, 5, silent):
        monkeypatch.undo()
        assert calls == 2
        assert not is_free(path)


def test_any_free_slot_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "emu.lock"
    with acquire_slot(path, 2, 5, silent) as first, acquire_slot(path, 2, 5, silent) as second:
        assert (first.index, first.path) == (0, path)
        assert (second.index, second.path.name) == (1, "emu.lock.1")
        with pytest.raises(LockBusyError), acquire_slot(path, 2, 0.05, silent):
            pass
    assert is_free(path)
    with held_by_flock(path), acquire_slot(path, 2, 5, silent) as slot:
        assert slot.index == 1


def test_one_slot_is_the_plain_lock(tmp_path: Path) -> None:
    path = tmp_path / "emu.lock"
    with acquire_slot(path, 1, 5, silent):
        assert not is_free(path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["emu.lock"]


def test_a_wait_can_be_stopped_from_another_thread(tmp_path: Path) -> None:
    path, stop = tmp_path / "npu.lock", threading.Event()
    with DeviceLock(path, 5, silent):
        started = time.monotonic()
        timer = threading.Timer(0.05, stop.set)
        timer.start()
        with pytest.raises(Stopped), DeviceLock(path, 30, silent, stop):
            pass
        assert time.monotonic() - started < 5
        timer.join()


def test_ctrl_c_ends_the_wait(tmp_path: Path) -> None:
    path = tmp_path / "npu.lock"
    code = (
        "from pathlib import Path\n"
        "from registry_tool.verifier.locks.lock import DeviceLock\n"
        f"with DeviceLock(Path({str(path)!r}), 60, lambda text: print('waiting', flush=True)):\n"
        "    pass\n"
    )
    with DeviceLock(path, 5, silent):
        waiting = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with waiting:
            assert waiting.stdout is not None
            assert waiting.stdout.readline() == b"waiting\n"
            waiting.send_signal(signal.SIGINT)
            assert waiting.wait(10) != 0
