"""Opening a lock file in a folder that others write too, or saying why it is none.

Nothing is followed, emptied or waited for: a name below /tmp is anybody's to take first.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import stat
from pathlib import Path

from registry_tool.errors import ToolError
from registry_tool.verifier.locks import mounts

# flock(2) needs no write access, O_CREAT is only used where the file is missing (Linux refuses it
# on other people's files in sticky folders), and O_NONBLOCK keeps a FIFO from blocking the open.
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_ANOTHER = "name another file in registry.yaml (targets.*.lock.path)"
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ETXTBSY)
_KINDS = {
    stat.S_IFDIR: "is a folder",
    stat.S_IFIFO: "is a pipe (FIFO), not a regular file",
    stat.S_IFSOCK: "is a socket, not a regular file",
    stat.S_IFCHR: "is a device, not a regular file",
    stat.S_IFBLK: "is a device, not a regular file",
}


def open_lock(path: Path) -> int:
    """A descriptor of the regular file ``path``, made if it is missing; readable by everybody then.

    Raises ToolError, with what to type, for anything else.
    """
    _check_folder(path)
    while True:
        try:
            named = path.lstat()
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                return _create(path)
            continue
        except OSError as error:
            raise _unreachable(path, error) from None
        _check_kind(path, named.st_mode)
        try:
            descriptor = _open_existing(path)
        except FileNotFoundError:
            continue
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return descriptor
        os.close(descriptor)
        _check_kind(path, mode)


def unlockable(path: Path, error: OSError) -> ToolError:
    """What to say where flock(2) itself fails on a file that could be opened."""
    kind = mounts.kind_of_folder(path)
    where = f"; {path.parent} is on a file system of type {kind}" if kind else ""
    return ToolError(
        f"it cannot be locked: {error.strerror}{where}",
        path=path,
        fix="put the lock on a local file system (registry.yaml: targets.*.lock.path), for "
        "example: /tmp/mlir-air-npu.lock",
    )


def _check_folder(path: Path) -> None:
    """Raise ToolError for a link on the way to ``path`` that another user could turn elsewhere."""
    for folder in reversed(path.absolute().parents):
        try:
            found = folder.lstat()
        except OSError:
            return  # what is wrong is said when the file is opened
        if not stat.S_ISLNK(found.st_mode):
            continue
        target = _target(folder)
        if found.st_uid not in (0, os.geteuid()):
            raise ToolError(
                f"its folder {folder} is a symbolic link to {target} that belongs to user "
                f"{found.st_uid}, so it is not followed",
                path=path,
                fix=f"ls -ld {shlex.quote(str(folder))}   # then {_ANOTHER}",
            )
        if not folder.exists():
            raise ToolError(
                f"its folder {folder} is a symbolic link to {target}, which leads nowhere",
                path=path,
                fix=f"mkdir -p {shlex.quote(os.path.realpath(folder))}   # or {_ANOTHER}",
            )


def _check_kind(path: Path, mode: int) -> None:
    quoted = shlex.quote(str(path))
    if stat.S_ISLNK(mode):
        target = _target(path)
        gone = "" if path.exists() else ", which is not there"
        raise ToolError(
            f"the lock path is a symbolic link to {target}{gone}; it is not followed",
            path=path,
            fix=f"ls -l {quoted}   # whose is it? then: rm {quoted}, or {_ANOTHER}",
        )
    words = _KINDS.get(stat.S_IFMT(mode))
    if words is not None:
        raise ToolError(
            f"the lock path {words}", path=path, fix=f"ls -ld {quoted}   # then {_ANOTHER}"
        )


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return "something"


def _open_existing(path: Path) -> int:
    for access in (os.O_RDWR, os.O_RDONLY, os.O_WRONLY):
        try:
            return os.open(path, access | _FLAGS)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno == errno.ELOOP:  # it became a link since it was looked at: look again
                raise FileNotFoundError from None
            refused = error
            if error.errno not in _REFUSED:
                break
    raise _closed(path, refused)


def _closed(path: Path, error: OSError) -> ToolError:
    """What to say of a file that is there and cannot be opened."""
    if error.errno not in _REFUSED:
        return ToolError(
            f"the lock file cannot be opened: {error.strerror}",
            path=path,
            fix=f"ls -l {shlex.quote(str(path))}   # then {_ANOTHER}",
        )
    mine = False
    with contextlib.suppress(OSError):
        mine = path.lstat().st_uid == os.geteuid()
    command = f"chmod a+rw {shlex.quote(str(path))}"
    return ToolError(
        f"the lock file cannot be opened ({error.strerror}); it is owned by {_owner(path)}",
        path=path,
        fix=command if mine else f"ask its owner to type: {command}   # or: sudo {command}",
    )


def _owner(path: Path) -> str:
    try:
        found = path.lstat()
    except OSError:
        return "an unknown user"
    return f"user {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o}"


def _create(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o666)
    except FileExistsError:
        raise
    except OSError as error:
        raise _not_made(path, error) from None
    # A umask of 077 would lock the other users out of the lock, not out of the device.
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, os.fstat(descriptor).st_mode & 0o777 | 0o444)
    return descriptor


def _not_made(path: Path, error: OSError) -> ToolError:
    """What to say where there is no file and none can be made."""
    folder = shlex.quote(str(path.parent))
    if error.errno == errno.ENOENT:
        message = f"the folder {path.parent} of the lock does not exist"
        return ToolError(message, path=path, fix=f"mkdir -p {folder}   # or {_ANOTHER}")
    if error.errno in _REFUSED:
        make = f"install -m 0666 /dev/null {shlex.quote(str(path))}"
        return ToolError(
            f"the lock file cannot be created ({error.strerror}); its folder is owned by "
            f"{_owner(path.parent)}",
            path=path,
            fix=f"sudo {make}   # or {_ANOTHER}",
        )
    message = f"the lock file cannot be created: {error.strerror}"
    return ToolError(message, path=path, fix=f"df {folder}; ls -ld {folder}   # or {_ANOTHER}")


def _unreachable(path: Path, error: OSError) -> ToolError:
    """What to say where not even the way to the file can be gone."""
    if error.errno == errno.ENOTDIR:
        message, look = "a parent of the lock path is not a folder", "namei -l"
    elif error.errno == errno.ELOOP:
        message, look = "a parent of the lock path is a symbolic link to itself", "namei -l"
    elif error.errno in _REFUSED:
        message, look = (
            f"a folder on the way to it may not be entered ({error.strerror})",
            "namei -l",
        )
    else:
        message, look = f"the lock path cannot be reached: {error.strerror}", "ls -ld"
    return ToolError(message, path=path, fix=f"{look} {shlex.quote(str(path))}   # then {_ANOTHER}")
