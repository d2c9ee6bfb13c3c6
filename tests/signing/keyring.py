"""Real SSH keys, and real ssh-keygen to sign and verify with them."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from registry_tool.signing import keys
from registry_tool.signing.names import NAMESPACE
from registry_tool.signing.wire import string

TYPES = {
    "ed25519": ("-t", "ed25519"),
    "rsa": ("-t", "rsa", "-b", "2048"),
    "ecdsa256": ("-t", "ecdsa", "-b", "256"),
    "ecdsa384": ("-t", "ecdsa", "-b", "384"),
    "ecdsa521": ("-t", "ecdsa", "-b", "521"),
}


def keygen(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "TZ": "UTC"}
    environment.pop("SSH_AUTH_SOCK", None)
    return subprocess.run(
        ["ssh-keygen", *words], input=stdin, env=environment, capture_output=True, check=False
    )


@dataclass(frozen=True)
class SshKey:
    """A key pair in files."""

    path: Path

    @property
    def public(self) -> str:
        """Type and base64, as allowed signers files have it."""
        return " ".join(self.path.with_name(f"{self.path.name}.pub").read_text().split()[:2])

    @property
    def blob(self) -> bytes:
        return keys.parse(self.public)

    def sign(
        self, message: bytes, namespace: str = NAMESPACE, hash_name: str = "sha512", cert: str = ""
    ) -> bytes:
        key = f"{self.path}{cert}"
        done = keygen(
            "-Y", "sign", "-n", namespace, "-O", f"hashalg={hash_name}", "-f", key, stdin=message
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def make(folder: Path, name: str, *options: str) -> SshKey:
    path = folder / name
    done = keygen("-q", "-N", "", "-C", "", "-f", str(path), *(options or TYPES["ed25519"]))
    assert done.returncode == 0, done.stderr
    return SshKey(path)


def accepts(folder: Path, signature: bytes, message: bytes) -> bool:
    """Whether ssh-keygen takes ``signature`` for one of ``message``, whoever made it."""
    path = folder / "signature"
    path.write_bytes(signature)
    done = keygen("-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(path), stdin=message)
    return done.returncode == 0


@dataclass(frozen=True)
class SoftKey:
    """An Ed25519 key in this process, for thousands of signatures."""

    private: Ed25519PrivateKey

    @property
    def blob(self) -> bytes:
        return string(b"ssh-ed25519") + string(self.private.public_key().public_bytes_raw())

    @property
    def public(self) -> str:
        return f"ssh-ed25519 {base64.b64encode(self.blob).decode()}"

    def sign(self, message: bytes) -> bytes:
        parts = (NAMESPACE.encode(), b"", b"sha512")
        digest = hashlib.sha512(message).digest()
        signed = b"SSHSIG" + b"".join(map(string, (*parts, digest)))
        signature = string(b"ssh-ed25519") + string(self.private.sign(signed))
        head = b"SSHSIG" + (1).to_bytes(4, "big")
        return armoured(head + b"".join(map(string, (self.blob, *parts, signature))))


def armoured(blob: bytes) -> bytes:
    """A signature's blob as its file holds it."""
    text = base64.b64encode(blob)
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    begin, end = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
    return b"\n".join([begin, *lines, end, b""])
