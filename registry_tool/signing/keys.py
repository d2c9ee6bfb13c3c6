"""Public keys as people write them (`type base64 comment`), and their fingerprints."""

from __future__ import annotations

import base64 as plain_base64
import hashlib
from functools import lru_cache

from registry_tool.signing.wire import Reader, WireError, base64

_STARTS = ("ssh-", "ecdsa-", "sk-", "rsa-")


def is_type(word: str) -> bool:
    """Whether ``word`` may be the type of a public key."""
    return word.startswith(_STARTS)


def parse(text: str) -> bytes:
    """The blob of the public key in ``text``; raises WireError with what is wrong."""
    words = text.split(maxsplit=2)
    if len(words) < 2 or not is_type(words[0]):
        raise WireError("expected a public key: its type, and its base64")
    blob = base64(words[1].encode("utf-8", "replace"))
    if Reader(blob).string() != words[0].encode():
        raise WireError(f"the key is not of the type {words[0]}")
    return blob


@lru_cache(maxsize=256)
def fingerprint(key: bytes) -> str:
    """How `ssh-keygen -l` names a key, e.g. ``SHA256:47DEQpj8HBSa...``."""
    digest = hashlib.sha256(key).digest()
    return f"SHA256:{plain_base64.b64encode(digest).decode().rstrip('=')}"


def type_of(key: bytes) -> str:
    """The type that a key's blob names; raises WireError for no key."""
    return Reader(key).string().decode("ascii", "replace")


def is_certificate(key_type: str) -> bool:
    """Whether keys of this type carry somebody else's word for them."""
    return "-cert-v" in key_type
