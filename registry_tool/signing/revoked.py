"""Keys that are trusted no more: a list of public keys, or a key revocation list (KRL).

What a KRL says of certificates is left to ssh-keygen, which judges those.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from registry_tool.signing import keys
from registry_tool.signing.allowed import BadLine
from registry_tool.signing.wire import Reader, WireError

_MAGIC = b"SSHKRL\n\0"
_CERTIFICATES, _KEYS, _SHA1, _SIGNATURE, _SHA256 = range(1, 6)
_EXTENSION = 255


class Revoked(NamedTuple):
    """Keys by their blob, or by a digest of it."""

    blobs: frozenset[bytes] = frozenset()
    sha1: frozenset[bytes] = frozenset()
    sha256: frozenset[bytes] = frozenset()

    def holds(self, key: bytes) -> bool:
        """Whether ``key`` is revoked."""
        return (
            key in self.blobs
            or (bool(self.sha1) and hashlib.sha1(key).digest() in self.sha1)
            or (bool(self.sha256) and hashlib.sha256(key).digest() in self.sha256)
        )

    @property
    def is_empty(self) -> bool:
        """Whether no key is revoked."""
        return not (self.blobs or self.sha1 or self.sha256)


def parse(data: bytes) -> tuple[Revoked, list[BadLine]]:
    """The revoked keys in a file, and what of it cannot be read."""
    if data.startswith(_MAGIC):
        try:
            return _krl(data), []
        except WireError as error:
            return Revoked(), [BadLine(1, f"the key revocation list cannot be read: {error}")]
    found, bad = set(), []
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.decode("utf-8", "replace").strip()
        if not text or text.startswith("#"):
            continue
        try:
            found.add(keys.parse(text))
        except WireError as error:
            bad.append(BadLine(number, str(error)))
    return Revoked(frozenset(found)), bad


def _krl(data: bytes) -> Revoked:
    reader = Reader(data)
    reader.take(len(_MAGIC))
    version = reader.number()
    if version != 1:
        raise WireError(f"its format has the version {version}; 1 is known")
    reader.take(3 * 8)  # its own version, when it was made, flags
    reader.string()
    reader.string()
    found: dict[int, set[bytes]] = {_KEYS: set(), _SHA1: set(), _SHA256: set()}
    while reader.rest:
        kind = reader.number(1)
        section = Reader(reader.string())
        if kind in found:
            while section.rest:
                found[kind].add(section.string())
        elif kind not in (_CERTIFICATES, _SIGNATURE, _EXTENSION):
            raise WireError(f"it has a section of the unknown kind {kind}")
    return Revoked(frozenset(found[_KEYS]), frozenset(found[_SHA1]), frozenset(found[_SHA256]))
