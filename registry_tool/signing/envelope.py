"""A DSSE envelope around a payload, signed with an SSH key so that standard tools verify it.

ssh-keygen and agents sign only in SSH's own form, which those tools do not know. So the private key
must be a file, without a passphrase: Ed25519, or ECDSA on nistp256.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from registry_tool.signing.keygen import SigningError

_Private = Ed25519PrivateKey | ec.EllipticCurvePrivateKey
_HOW = "attest without --dsse; or --key with an Ed25519 or nistp256 key file without a passphrase"


def load(path: Path) -> _Private:
    """The private key of ``path`` (or beside a public one); raises SigningError for what cannot."""
    file = path.with_suffix("") if path.suffix == ".pub" else path
    try:
        key = serialization.load_ssh_private_key(file.read_bytes(), None)
    except OSError as error:
        raise SigningError(
            f"an envelope needs the private key as a file: {error.strerror}", path=file, fix=_HOW
        ) from None
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SigningError(
            f"the key cannot sign an envelope: {error}", path=file, fix=_HOW
        ) from None
    if isinstance(key, Ed25519PrivateKey):
        return key
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    raise SigningError("keys of this type are not used for envelopes", path=file, fix=_HOW)


def public_pem(key: _Private) -> bytes:
    """The public key, as tools for DSSE read it."""
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def wrap(payload: bytes, payload_type: str, key: _Private) -> dict[str, Any]:
    """The envelope of ``payload``; its keyid is the SHA-256 of the public key in PEM."""
    signed = authenticated(payload, payload_type)
    if isinstance(key, Ed25519PrivateKey):
        signature = key.sign(signed)
    else:
        signature = key.sign(signed, ec.ECDSA(hashes.SHA256()))
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": payload_type,
        "signatures": [
            {
                "keyid": hashlib.sha256(public_pem(key)).hexdigest(),
                "sig": base64.b64encode(signature).decode(),
            }
        ],
    }


def authenticated(payload: bytes, payload_type: str) -> bytes:
    """What a DSSE signature is over (its pre-authentication encoding)."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
