"""Add to a commit message which rows the commit verifies: `Verified-row: target/kernel/key run`.

For git's prepare-commit-msg hook, with the arguments that git gives it. The message is rewritten
with the trailers of what is staged now; run again, it stays as it is. Nothing depends on them.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from registry_tool.errors import EXIT_OK, GitError, InputError
from registry_tool.store import git
from registry_tool.store.files import write_if_changed
from registry_tool.store.root import POLICY

_OURS = "Verified-row"
"""What every trailer of ours begins with."""
_ANCESTORS = 4
"""Processes between git and this one: the hook's shell, and what starts Python."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What git hands to a prepare-commit-msg hook."""
    parser.add_argument("--message-file", required=True, metavar="FILE", help="the message")
    parser.add_argument(
        "source", nargs="?", metavar="SOURCE", help="message, template, merge, squash or commit"
    )
    parser.add_argument("commit", nargs="?", metavar="SHA", help="the commit that is amended")


def run(args: argparse.Namespace) -> int:
    """Rewrite the message file, if it changes."""
    path = Path(args.message_file)
    try:
        message = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror}", path=path) from None
    around = git.open_any(Path.cwd() if args.registry is None else Path(args.registry))
    if around is None:
        raise GitError("not in a git repository", fix="git init")
    repository = replace(around, head=_base(around, args.source, args.commit))
    places = [policy.removesuffix(POLICY) for policy in git.registries_staged(around, POLICY)[0]]
    # What a merge brings was verified by the commits that it merges.
    if args.source == "merge":
        places = []
    proves = any(git.staged_changes(repository.at(place), ["records"]) for place in places)
    if not proves and _OURS not in message:
        return EXIT_OK
    # Imported here: most commits are about other things, and each of them waits.
    from registry_tool.history import trailers

    wanted = trailers.of_index(repository, places) if proves else []
    new = trailers.with_trailers(repository, message, wanted)
    write_if_changed(path, new.encode("utf-8", "surrogateescape"))
    return EXIT_OK


def _base(repository: git.Repository, source: str | None, commit: str | None) -> str | None:
    """The commit that the new one will follow: HEAD, or its parent where it is amended."""
    named = git.commit_or_none(repository, commit) if source == "commit" and commit else None
    if repository.head is None or not (named == repository.head or _is_amending()):
        return repository.head
    return git.first_parent(repository, repository.head)


def _is_amending() -> bool:
    """Whether git was called with --amend, which it tells no hook if there is a -m too."""
    pid = os.getppid()
    for _ in range(_ANCESTORS):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        except OSError:
            return False
        if words[0].rpartition(b"/")[2] == b"git":
            return b"--amend" in words
        pid = int(stat.rpartition(")")[2].split()[1])
    return False
