"""Whether the lock of a target can do its work; the lock itself is never taken."""

from __future__ import annotations

import os
import shlex
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from registry_tool.doctor.check import Check, Topic
from registry_tool.records.spec import Target
from registry_tool.verifier.locks import harness_lock, lock, mounts

_OTHERS_READ = stat.S_IROTH
_STATUS = Path("/proc/self/status")


def check(name: str, target: Target, table: str | None = None) -> Iterator[Check]:
    """Every check of the lock of ``target``; ``table`` is the mount table (default: this one)."""
    topic = Topic(f"{name}: lock")
    path = Path(target.lock.path)
    clash = harness_lock.clash(target)
    if clash is None:
        own = ", ".join(map(str, harness_lock.places(target))) or "none"
        yield topic.ok("harness lock", f"not the one that the harness takes itself ({own})")
    else:
        yield topic.problem("harness lock", clash, harness_lock.remedy(name))
    if not path.is_absolute():
        message = f"{path} means another file in another working folder"
        yield topic.problem("path", message, _another(name))
        return
    yield _path(topic, name, path)
    yield from _access(topic, path)
    yield from _file_system(topic, name, path, mounts.read_table() if table is None else table)
    yield from _holders(topic, path)


def _another(name: str) -> str:
    return f"name another file in registry.yaml (targets.{name}.lock.path)"


def _path(topic: Topic, name: str, path: Path) -> Check:
    look = f"ls -ld {shlex.quote(str(path))}   # then remove it, or {_another(name)}"
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return _missing(topic, name, path)
    except OSError as error:
        return topic.problem("path", f"{path}: {error.strerror}", look)
    if stat.S_ISLNK(mode):
        return topic.problem("path", f"{path} is a symbolic link, which is not followed", look)
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        return topic.problem("path", f"{path} is {what}", look)
    return topic.ok("path", f"{path} is a regular file")


def _missing(topic: Topic, name: str, path: Path) -> Check:
    folder = path.parent
    if not folder.is_dir():
        message = f"the folder {folder} of the lock is not there"
        return topic.problem("path", message, f"mkdir -p {shlex.quote(str(folder))}")
    if not os.access(folder, os.W_OK | os.X_OK):
        message = f"{path} is not there, and you may not create it"
        return topic.problem("path", message, _another(name))
    if _umask() & _OTHERS_READ:
        message = f"{path} will be created on the first run, and your umask shuts others out of it"
        return topic.warning("path", message, f"(umask 0; : >> {shlex.quote(str(path))})")
    return topic.ok("path", f"{path} will be created on the first run")


def _umask() -> int:
    """The umask of this process; reading it by umask(2) would change it for a moment."""
    try:
        text = _STATUS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    found = [line.split()[1] for line in text.splitlines() if line.startswith("Umask:")]
    return int(found[0], 8) if found else 0


def _access(topic: Topic, path: Path) -> Iterator[Check]:
    try:
        found = path.lstat()
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode):
        return
    mode = stat.S_IMODE(found.st_mode)
    mine = found.st_uid == os.geteuid()
    whose = f"mode {mode:04o}, owned by {'you' if mine else f'user {found.st_uid}'}"
    chmod = f"chmod a+rw {shlex.quote(str(path))}"
    if not _opens(path):
        message = f"you cannot open it: {whose}"
        yield topic.problem("access", message, chmod if mine else f"ask its owner to type: {chmod}")
    elif not mode & _OTHERS_READ:
        message = f"others cannot open it, so they do not wait for you, nor you for them: {whose}"
        yield topic.problem("access", message, chmod if mine else f"ask its owner to type: {chmod}")
    else:
        yield topic.ok("access", f"everybody can open it: {whose}")


def _opens(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _file_system(topic: Topic, name: str, path: Path, table: str) -> Iterator[Check]:
    kind = mounts.kind(path.parent, table)
    if kind is None:
        message = f"it is not known what {path.parent} is on: the mount table does not say"
        yield topic.warning("file system", message, f"stat -f {shlex.quote(str(path.parent))}")
    elif mounts.is_network(kind):
        message = f"{path.parent} is on {kind}: a lock there is slow, shared, or not kept at all"
        yield topic.problem("file system", message, _another(name))
    else:
        yield topic.ok("file system", f"{kind}, local")


def _holders(topic: Topic, path: Path) -> Iterator[Check]:
    held = lock.holders(path)
    if not held:
        yield topic.ok("holder", "nobody holds it, as far as /proc tells")
    for holder in held:
        look = f"ps -o pid,user,lstart,args -p {holder.pid}   # then wait for it to end"
        yield topic.warning("holder", f"held by {holder}", look)


def check_temporary(environ: Mapping[str, str]) -> Check:
    """Whether TMPDIR moves the lock that the harnesses take themselves."""
    topic = Topic("machine")
    usual = os.path.realpath("/tmp")
    setters = [name for name in ("TMPDIR", "TEMP", "TMP") if environ.get(name)]
    for name in setters:
        folder = environ[name]
        if not Path(folder).is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            message = f"{name}={folder} is no folder that you can write to"
            return topic.warning("TMPDIR", message, f"unset {name}")
        if os.path.realpath(folder) != usual:
            message = (
                f"{name}={folder} moves the harness's own lock there, so runs of others with "
                "another one do not exclude yours"
            )
            return topic.warning("TMPDIR", message, f"unset {name}")
        break
    return topic.ok(
        "TMPDIR", f"temporary files and the harness's own lock are in {tempfile.gettempdir()}"
    )
