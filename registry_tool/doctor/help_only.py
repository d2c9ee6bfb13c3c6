"""Runs a script's `--help` and lets it do nothing else: no program, no device, no file written.

Started with the interpreter of the harness, so it uses the standard library only. What is refused
looks like a missing permission, which libraries expect. Code in C is out of its reach; that a
script's help does not compile by itself is argparse's promise, and its reader checks for argparse.
"""

import os
import runpy
import sys
from pathlib import Path

_STARTS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.forkpty",
    "pty.spawn",
)
_DEVICES = ("/dev/accel", "/dev/dri", "/dev/kfd")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _refuse(event, arguments):  # type: ignore[no-untyped-def]
    if event in _STARTS or event == "socket.connect":
        raise PermissionError(13, "not while its help is read: " + event)
    if event == "open":
        path, _, flags = arguments
        if not isinstance(path, (str, bytes)):
            return
        name = os.path.normpath(Path.cwd() / os.fsdecode(path))
        own = os.environ.get("TMPDIR", "/tmp").rstrip("/") + "/"
        writes = isinstance(flags, int) and flags & _WRITES
        if name.startswith(_DEVICES) or (
            writes and name != os.devnull and not name.startswith(own)
        ):
            raise PermissionError(13, "not while its help is read", name)


if __name__ == "__main__":
    script = sys.argv[1]
    sys.argv = [script, "--help"]
    sys.path[0] = str(Path(script).resolve().parent)
    sys.addaudithook(_refuse)
    runpy.run_path(script, run_name="__main__")
