"""The key to sign with: a file that was named, or what git is configured to sign commits with."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from registry_tool.signing import keys
from registry_tool.signing.keygen import SigningError
from registry_tool.store import git

_HOW = (
    "git config gpg.format ssh && git config user.signingkey ~/.ssh/id_ed25519.pub, or --key FILE"
)


class Key(NamedTuple):
    """A key file for ssh-keygen (public, if an agent holds the rest), and the program to call."""

    path: Path
    program: str

    @property
    def wants_a_touch(self) -> bool:
        """Whether somebody must touch a security key for each signature, as far as one can see."""
        public = self.path if self.path.suffix == ".pub" else Path(f"{self.path}.pub")
        try:
            return public.read_text("utf-8", "replace").startswith("sk-")
        except OSError:
            return False


def is_configured(root: Path) -> bool:
    """Whether git has an SSH key to sign with in ``root``."""
    return git.configured(root, "gpg.format") == "ssh" and (
        git.configured(root, "user.signingkey") is not None
        or git.configured(root, "gpg.ssh.defaultKeyCommand") is not None
    )


@contextmanager
def chosen(root: Path, named: str | None) -> Iterator[Key]:
    """The key ``named`` (a file, or `key::` and a public key), else git's own.

    Raises SigningError, with what to configure, if there is none.
    """
    program = git.configured(root, "gpg.ssh.program") or "ssh-keygen"
    text = named if named is not None else _configured(root)
    literal = text.removeprefix("key::")
    if literal == text and not keys.is_type(text):
        path = Path(text).expanduser()
        if not path.is_file():
            raise SigningError("there is no such key", path=path, fix=_HOW)
        yield Key(path.absolute(), program)
        return
    # Only an agent can have the other half of a key that is written out.
    with tempfile.TemporaryDirectory(prefix="registry-tool-key-") as folder:
        path = Path(folder, "key.pub")
        path.write_text(f"{literal}\n", encoding="utf-8")
        yield Key(path, program)


def _configured(root: Path) -> str:
    if git.configured(root, "gpg.format") != "ssh":
        raise SigningError("git is not set up to sign with an SSH key", fix=_HOW)
    text = git.configured(root, "user.signingkey")
    if text is None:
        command = git.configured(root, "gpg.ssh.defaultKeyCommand")
        text = _answer(command, root) if command is not None else None
    if text is None:
        raise SigningError("git has no key to sign with", fix=_HOW)
    return text


def _answer(command: str, root: Path) -> str:
    """The first key that gpg.ssh.defaultKeyCommand prints, as git takes it."""
    try:
        done = subprocess.run(
            shlex.split(command),
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except (OSError, ValueError) as error:
        raise SigningError(f"gpg.ssh.defaultKeyCommand: {error}", fix=_HOW) from None
    first = done.stdout.partition("\n")[0].strip()
    if done.returncode != 0 or not keys.is_type(first.removeprefix("key::")):
        raise SigningError(f"gpg.ssh.defaultKeyCommand ({command}) printed no key", fix=_HOW)
    return first
