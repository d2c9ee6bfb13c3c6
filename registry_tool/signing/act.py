"""Signing verdicts of a registry on disk: makes the signatures and puts them beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from registry_tool.signing import keygen, sshsig
from registry_tool.signing.judge import check_bytes
from registry_tool.signing.key import Key
from registry_tool.signing.keygen import SigningError
from registry_tool.signing.names import free_name, is_of
from registry_tool.signing.wire import WireError
from registry_tool.store.files import write_atomic


def sign(root: Path, paths: Iterable[str], key: Key) -> list[str]:
    """Sign the verdicts ``paths`` (below ``root``) with ``key``; the signatures that are new.

    What the key has signed already is left alone. Raises SigningError, with nothing written, if
    one cannot be made; and for a file that stands in a signature's place and is none.
    """
    made = keygen.sign({path: (root / path).read_bytes() for path in paths}, key.path, key.program)
    written = []
    for path, data in made.items():
        name = _place(root, path, data)
        if name is not None:
            write_atomic(root / name, data)
            written.append(name)
    return written


def signatures(root: Path, path: str) -> Iterator[Path]:
    """The files beside the verdict ``path`` that are called as its signatures are."""
    file = root / path
    for one in sorted(file.parent.glob("*.sig")):
        if is_of(one.name, file.name):
            yield one


def _place(root: Path, path: str, data: bytes) -> str | None:
    """Where the new signature ``data`` belongs; None if its key has signed already."""
    message = (root / path).read_bytes()
    signature = _checked(data, message, path)
    there = list(signatures(root, path))
    for one in there:
        if _checked(one.read_bytes(), message, str(one)).key == signature.key:
            return None
    folder, _, name = path.rpartition("/")
    return f"{folder}/{free_name(name, [one.name for one in there], signature.key)}"


def _checked(data: bytes, message: bytes, path: str) -> sshsig.SshSignature:
    try:
        signature = sshsig.parse(data)
        check_bytes(signature, data, message)
    except WireError as error:
        raise SigningError(
            f"this is no signature of its verdict: {error}",
            path=path,
            fix=f"git checkout HEAD -- {path}, or rm {path} if it was never committed",
        ) from None
    return signature
