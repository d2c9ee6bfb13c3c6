"""Blobs that a partial clone left with its remote, fetched together instead of one by one."""

from __future__ import annotations

from collections.abc import Iterable

from registry_tool.errors import GitError
from registry_tool.store.git import Repository


def promisor(repository: Repository) -> str | None:
    """The remote that has what a partial clone lacks; None for a clone that has everything."""
    try:
        out = repository.run("config", "--get-regexp", r"^remote\..*\.promisor$", "true")
    except GitError:
        return None
    name = out.decode("utf-8", "surrogateescape").partition("\n")[0].rpartition(" ")[0]
    return name.removeprefix("remote.").removesuffix(".promisor")


def fetch_missing(repository: Repository, remote: str, oids: Iterable[str], tip: str) -> None:
    """Fetch those of ``oids`` (blobs that ``tip`` reaches) that are not here, in one go.

    Raises GitError if the remote cannot be asked.
    """
    out = repository.run("rev-list", "--objects", "--missing=print", tip, "--")
    missing = {line[1:].decode() for line in out.split(b"\n") if line.startswith(b"?")}
    wanted = [oid for oid in dict.fromkeys(oids) if oid in missing]
    if not wanted:
        return
    try:
        # As git itself does for a single object.
        repository.run(
            "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--no-tags",
            "--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none", "--stdin",
            "--end-of-options", remote, stdin=("\n".join(wanted) + "\n").encode(),
        )  # fmt: skip
    except GitError as error:
        raise GitError(
            f"this partial clone lacks {len(wanted)} versions, and its remote {remote!r} cannot be "
            f"asked for them: {error.message.rpartition(chr(10))[2]}",
            fix=f"git fetch {remote}   # what does it say?",
        ) from None
