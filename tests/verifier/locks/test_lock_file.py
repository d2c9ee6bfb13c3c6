from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry_tool.errors import LockBusyError, ToolError
from registry_tool.verifier.locks import mounts
from registry_tool.verifier.locks.lock import DeviceLock, holders
from registry_tool.verifier.locks.lock_file import open_lock

pytestmark = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs Linux's /proc")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs another user to be")
NOBODY = 65534


def silent(message: str) -> None:
    del message


def refusal(path: Path) -> ToolError:
    """The error of taking the lock ``path``, which must name it and say what to type."""
    with pytest.raises(ToolError) as caught, DeviceLock(path, 1, silent):
        pass
    assert not isinstance(caught.value, LockBusyError)
    assert caught.value.path == path
    assert caught.value.fix
    return caught.value


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user may enter: pytest keeps its own to their owner."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def as_nobody(path: Path, umask: int = 0o022) -> str:
    """What taking the lock ``path`` says to another user."""
    code = (
        "import os; from pathlib import Path\n"
        "from registry_tool.errors import ToolError\n"
        "from registry_tool.verifier.locks.lock import DeviceLock\n"
        f"os.umask({umask}); os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "try:\n"
        f"    with DeviceLock(Path({str(path)!r}), 0.2, lambda text: None): print('held')\n"
        "except ToolError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_folder_a_pipe_a_socket_and_a_device_are_called_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name, words in {
            "folder": "is a folder",
            "pipe": "is a pipe (FIFO), not a regular file",
            "socket": "is a socket, not a regular file",
        }.items():
            error = refusal(tmp_path / name)
            assert words in error.message
            assert f"ls -ld {tmp_path / name}" in (error.fix or "")
    assert "is a device" in refusal(Path("/dev/null")).message


def test_a_symbolic_link_is_not_followed_wherever_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"")
    for target, words in {
        "real": "symbolic link to real; it is not followed",
        "gone": "symbolic link to gone, which is not there; it is not followed",
        "link": "symbolic link to link",
    }.items():
        link = tmp_path / "link"
        link.symlink_to(target)
        error = refusal(link)
        assert words in error.message
        assert f"rm {link}" in (error.fix or "")
        link.unlink()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["real"]


def test_a_link_put_there_at_the_last_moment_is_not_followed_either(tmp_path: Path) -> None:
    path, target = tmp_path / "npu.lock", tmp_path / "target"
    target.write_bytes(b"")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (tmp_path / "link").symlink_to(target)
            (tmp_path / "link").replace(path)
            (tmp_path / "file").write_bytes(b"")
            (tmp_path / "file").replace(path)

    swapping = threading.Thread(target=swap)
    swapping.start()
    refused = opened = 0
    try:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            try:
                descriptor = open_lock(path)
            except ToolError:
                refused += 1
                continue
            opened += 1
            found = os.fstat(descriptor).st_ino
            os.close(descriptor)
            assert found != target.stat().st_ino
    finally:
        done.set()
        swapping.join()
    assert refused
    assert opened


def test_a_folder_that_is_a_link_of_ours_is_followed(tmp_path: Path) -> None:
    # As /var/lock is one to /run/lock.
    (tmp_path / "run").mkdir()
    (tmp_path / "lock").symlink_to("run")
    with DeviceLock(tmp_path / "lock" / "npu.lock", 1, silent):
        assert [holder.pid for holder in holders(tmp_path / "run" / "npu.lock")] == [os.getpid()]


def test_a_folder_that_is_a_link_to_nowhere_or_to_itself(tmp_path: Path) -> None:
    (tmp_path / "away").symlink_to(tmp_path / "gone")
    error = refusal(tmp_path / "away" / "npu.lock")
    assert f"{tmp_path / 'away'} is a symbolic link to {tmp_path / 'gone'}" in error.message
    assert "leads nowhere" in error.message
    assert f"mkdir -p {tmp_path / 'gone'}" in (error.fix or "")
    assert not (tmp_path / "gone").exists()
    (tmp_path / "loop").symlink_to("loop")
    assert "symbolic link to loop" in refusal(tmp_path / "loop" / "npu.lock").message


@needs_root
def test_a_folder_that_is_a_link_of_another_user_is_not_followed(shared: Path) -> None:
    (shared / "real").mkdir()
    (shared / "link").symlink_to("real")
    os.lchown(shared / "link", NOBODY, NOBODY)
    error = refusal(shared / "link" / "npu.lock")
    assert f"belongs to user {NOBODY}, so it is not followed" in error.message
    assert f"ls -ld {shared / 'link'}" in (error.fix or "")
    assert list((shared / "real").iterdir()) == []


def test_a_folder_that_is_missing_or_none(tmp_path: Path) -> None:
    error = refusal(tmp_path / "absent" / "npu.lock")
    assert "does not exist" in error.message
    assert f"mkdir -p {tmp_path / 'absent'}" in (error.fix or "")
    (tmp_path / "file").write_bytes(b"")
    assert "not a folder" in refusal(tmp_path / "file" / "npu.lock").message
    assert "too long" in refusal(tmp_path / ("x" * 300)).message


def test_a_path_with_a_space_is_quoted_for_the_shell(tmp_path: Path) -> None:
    assert f"'{tmp_path / 'a b'}'" in (refusal(tmp_path / "a b" / "npu.lock").fix or "")


@needs_root
@pytest.mark.parametrize("mode", [0o644, 0o444, 0o604, 0o602, 0o666])
def test_a_lock_file_of_somebody_else_that_can_be_opened_works(shared: Path, mode: int) -> None:
    path = shared / "npu.lock"
    path.write_bytes(b"")
    path.chmod(mode)
    assert as_nobody(path) == "held\n"
    with DeviceLock(path, 1, silent):
        assert f"held by process {os.getpid()}" in as_nobody(path)


@needs_root
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o000])
def test_a_lock_file_of_somebody_else_that_cannot_be_opened(shared: Path, mode: int) -> None:
    path = shared / "npu.lock"
    path.write_bytes(b"")
    path.chmod(mode)
    said = as_nobody(path)
    assert f"owned by user 0, mode {mode:04o}" in said
    assert f"ask its owner to type: chmod a+rw {path}" in said


@needs_root
def test_a_sticky_folder_keeps_nobody_from_the_lock_of_another(shared: Path) -> None:
    # fs.protected_regular refuses O_CREAT on it there.
    shared.chmod(0o1777)
    path = shared / "npu.lock"
    with DeviceLock(path, 1, silent):
        pass
    assert as_nobody(path) == "held\n"


@needs_root
def test_a_umask_does_not_shut_the_others_out(shared: Path) -> None:
    shared.chmod(0o1777)
    path = shared / "npu.lock"
    assert as_nobody(path, umask=0o077) == "held\n"
    assert path.stat().st_uid == NOBODY
    assert path.stat().st_mode & 0o777 == 0o644


@needs_root
def test_a_folder_of_somebody_else(shared: Path) -> None:
    said = as_nobody(shared / "npu.lock")
    assert "cannot be created (Permission denied); its folder is owned by user 0" in said
    assert f"sudo install -m 0666 /dev/null {shared / 'npu.lock'}" in said
    (shared / "npu.lock").write_bytes(b"")
    shared.chmod(0o700)
    said = as_nobody(shared / "npu.lock")
    assert "may not be entered" in said
    assert f"namei -l {shared / 'npu.lock'}" in said


@needs_root
def test_our_own_file_that_we_cannot_open_is_ours_to_mend(shared: Path) -> None:
    path = shared / "npu.lock"
    path.write_bytes(b"")
    path.chmod(0)
    os.chown(path, NOBODY, NOBODY)
    assert f"next: chmod a+rw {path}" in as_nobody(path)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace(1) to make flock fail")
@pytest.mark.parametrize(
    ("fault", "words"),
    [("ENOLCK", "No locks available"), ("EOPNOTSUPP", "not supported"), ("EBADF", "Bad file")],
)
def test_a_file_system_that_cannot_lock_is_named(tmp_path: Path, fault: str, words: str) -> None:
    code = (
        "from pathlib import Path\n"
        "from registry_tool.errors import ToolError\n"
        "from registry_tool.verifier.locks.lock import DeviceLock\n"
        "try:\n"
        f"    with DeviceLock(Path({str(tmp_path / 'npu.lock')!r}), 1, print): print('held')\n"
        "except ToolError as error: print(type(error).__name__, error)\n"
    )
    inject = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=flock:error={fault}"]
    done = subprocess.run([*inject, sys.executable, "-c", code], capture_output=True, text=True)
    if "ptrace" in done.stderr:
        pytest.skip("may not trace")
    assert done.stdout.startswith("ToolError "), done.stderr
    assert words in done.stdout
    assert (
        f"{tmp_path} is on a file system of type {mounts.kind_of_folder(tmp_path / 'x')}"
        in done.stdout
    )
    assert "put the lock on a local file system" in done.stdout
