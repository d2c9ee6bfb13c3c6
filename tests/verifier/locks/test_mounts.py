"""File systems by the mount table: which ones are shared with other machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry_tool.verifier.locks import mounts

TABLE = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 0:41 / /home/a\\040b rw master:2 - tmpfs tmpfs rw
32 22 0:42 / /mnt/far rw - fuse.sshfs far: rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/var", "ext4", False),
        ("/home", "nfs4", True),
        ("/homes", "ext4", False),
        ("/home/a b/c", "tmpfs", False),
        ("/mnt/far/x", "fuse.sshfs", True),
    ],
)
def test_the_file_system_is_that_of_the_longest_mount(path: str, kind: str, network: bool) -> None:
    found = mounts.kind(Path(path), TABLE)
    assert found == kind
    assert mounts.is_network(kind) is network


@pytest.mark.parametrize("kind", ["nfs", "cifs", "smb3", "lustre", "fuse.glusterfs", "ceph", "9p"])
def test_network_file_systems_are_known(kind: str) -> None:
    assert mounts.is_network(kind)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "fuse"])
def test_local_file_systems_are_not_taken_for_network_ones(kind: str) -> None:
    assert not mounts.is_network(kind)


def test_of_this_machine() -> None:
    assert mounts.kind_of_folder(Path("/proc/npu.lock")) == "proc"
    assert mounts.kind(Path("/x"), "torn line\n\n22 1") is None
