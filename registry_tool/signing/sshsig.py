"""A detached SSH signature taken apart (OpenSSH's PROTOCOL.sshsig); verifies nothing.

Stricter than OpenSSH where that costs nothing: no word after the footer, nothing reserved.
"""

from __future__ import annotations

from typing import NamedTuple

from registry_tool.signing.wire import Reader, WireError, base64, string

_BEGIN = b"-----BEGIN SSH SIGNATURE-----\n"
_END = b"\n-----END SSH SIGNATURE-----"
_MAGIC = b"SSHSIG"
_VERSION = 1
HASHES = (b"sha256", b"sha512")
_LONGEST = 64 * 1024


class SshSignature(NamedTuple):
    """What a signature says of itself; ``key`` is the public key (or certificate) that made it."""

    key: bytes
    key_type: str
    namespace: bytes
    hash_name: str
    algorithm: str
    signature: bytes

    def signed(self, digest: bytes) -> bytes:
        """What was signed, of a message with this digest (by ``hash_name``)."""
        parts = (self.namespace, b"", self.hash_name.encode(), digest)
        return _MAGIC + b"".join(map(string, parts))


def parse(data: bytes) -> SshSignature:
    """The signature in an armoured file; raises WireError with what is wrong with it."""
    if len(data) > _LONGEST:
        raise WireError(f"{len(data)} bytes are too many for a signature")
    if not data.startswith(_BEGIN):
        raise WireError("it does not start with the line -----BEGIN SSH SIGNATURE-----")
    end = data.find(_END)
    if end < 0:
        raise WireError("the line -----END SSH SIGNATURE----- is missing")
    if data[end + len(_END) :] not in (b"", b"\n"):
        raise WireError("something follows its last line")
    blob = Reader(base64(data[len(_BEGIN) : end]))
    if blob.take(len(_MAGIC)) != _MAGIC:
        raise WireError("it does not hold an SSH signature")
    version = blob.number()
    if version != _VERSION:
        raise WireError(f"its version is {version}; {_VERSION} is known")
    key, namespace, reserved, hash_name, inner = (blob.string() for _ in range(5))
    blob.end()
    if reserved:
        # Nobody signs that part of it, so anything could be written there.
        raise WireError("its reserved part is not empty")
    if hash_name not in HASHES:
        raise WireError(f"its digest is {_shown(hash_name)}; sha256 or sha512 are known")
    signature = Reader(inner)
    algorithm = signature.string()
    # What follows the algorithm depends on it; for a security key it is more than one string.
    rest = signature.take(signature.rest)
    return SshSignature(
        key, _shown(Reader(key).string()), namespace, hash_name.decode(), _shown(algorithm), rest
    )


def _shown(name: bytes) -> str:
    return name.decode("ascii", "backslashreplace")
