"""Which kind of file system a path is on; reads the kernel's table and nothing else."""

from __future__ import annotations

import os
import re
from pathlib import Path

_TABLE = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    {"9p", "acfs", "afs", "beegfs", "ceph", "ceph-fuse", "cifs", "coda", "davfs", "davfs2", "ftpfs"}
    | {"gcsfuse", "gfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs3", "nfs4"}
    | {"ocfs2", "orangefs", "panfs", "pvfs2", "rclone", "s3fs", "smb2", "smb3", "smbfs", "sshfs"}
    | {"virtiofs", "wekafs"}
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


def read_table() -> str:
    """The mounts of this process, as /proc tells them; empty where it does not."""
    try:
        return _TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def kind(path: Path, table: str) -> str | None:
    """The type of the file system that holds ``path``, by the mount table; None if unknown."""
    wanted = os.path.realpath(path)
    found: tuple[int, str] | None = None
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) < 10 or "-" not in fields[6:]:
            continue
        point = _ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4])
        inside = wanted == point or wanted.startswith(point.rstrip("/") + "/")
        # A later mount on the same point hides the earlier one.
        if inside and (found is None or len(point) >= found[0]):
            found = len(point), fields[fields.index("-", 6) + 1]
    return found[1] if found else None


def kind_of_folder(path: Path) -> str | None:
    """The same for the folder of ``path``, by the mounts of now."""
    return kind(path.parent, read_table())


def is_network(kind: str) -> bool:
    """Whether files on it are shared with other machines, or flock(2) may not be what it says."""
    return kind.removeprefix("fuse.") in _NETWORK
