"""Whether a signature is that of the bytes, computed in this process; needs `cryptography`.

It is imported by whoever has a signature to verify, and by nobody else: it takes 25 ms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from registry_tool.signing.sshsig import SshSignature
from registry_tool.signing.wire import Reader, WireError

_SMALLEST_RSA = 1024  # bits, as OpenSSH
_Check = Callable[[str, bytes, bytes], None]
"""Algorithm, signature (what follows the algorithm's name) and message; raises when wrong."""


def verify(signature: SshSignature, message: bytes) -> None:
    """Raise WireError unless ``signature`` was made by its key over ``message``."""
    digest = hashlib.new(signature.hash_name, message).digest()
    try:
        _key(signature.key)(signature.algorithm, signature.signature, signature.signed(digest))
    except InvalidSignature:
        raise WireError("it was not made over these bytes by its key") from None
    except (UnsupportedAlgorithm, ValueError) as error:
        raise WireError(f"its key or signature cannot be used: {error}") from None


def known(key_type: str) -> bool:
    """Whether keys of this type can be verified here; certificates cannot."""
    return key_type in _TYPES


@lru_cache(maxsize=256)
def _key(blob: bytes) -> _Check:
    reader = Reader(blob)
    name = reader.string().decode("ascii", "replace")
    make = _TYPES.get(name)
    if make is None:
        raise WireError(f"keys of the type {name} are not known")
    check = make(reader)
    reader.end()
    return check


def _ed25519(reader: Reader) -> _Check:
    key = Ed25519PublicKey.from_public_bytes(reader.string())

    def check(algorithm: str, rest: bytes, message: bytes) -> None:
        _require("ssh-ed25519", algorithm)
        key.verify(_only(rest), message)

    return check


def _security_ed25519(reader: Reader) -> _Check:
    key = Ed25519PublicKey.from_public_bytes(reader.string())
    application = reader.string()

    def check(algorithm: str, rest: bytes, message: bytes) -> None:
        _require("sk-ssh-ed25519@openssh.com", algorithm)
        plain, flags = _security_parts(rest)
        key.verify(plain, _seen_by_token(application, flags, message))

    return check


def _rsa(reader: Reader) -> _Check:
    exponent, modulus = reader.natural(), reader.natural()
    if modulus.bit_length() < _SMALLEST_RSA:
        raise WireError(f"an RSA key of {modulus.bit_length()} bits is too short")
    key = rsa.RSAPublicNumbers(exponent, modulus).public_key()
    digests: Mapping[str, hashes.HashAlgorithm] = {
        "rsa-sha2-256": hashes.SHA256(),
        "rsa-sha2-512": hashes.SHA512(),
    }
    size = (modulus.bit_length() + 7) // 8

    def check(algorithm: str, rest: bytes, message: bytes) -> None:
        if algorithm not in digests:
            raise WireError(f"RSA signatures by {algorithm} are not taken")
        # A signature that begins with zeros may be written without them.
        plain = _only(rest).rjust(size, b"\0")
        key.verify(plain, message, padding.PKCS1v15(), digests[algorithm])

    return check


_CURVES: Mapping[bytes, tuple[type[ec.EllipticCurve], type[hashes.HashAlgorithm]]] = {
    b"nistp256": (ec.SECP256R1, hashes.SHA256),
    b"nistp384": (ec.SECP384R1, hashes.SHA384),
    b"nistp521": (ec.SECP521R1, hashes.SHA512),
}


def _point(reader: Reader, wanted: bytes) -> tuple[ec.EllipticCurvePublicKey, ec.ECDSA]:
    if reader.string() != wanted:
        raise WireError("the key's type and its curve disagree")
    curve, digest = _CURVES[wanted]
    key = ec.EllipticCurvePublicKey.from_encoded_point(curve(), reader.string())
    return key, ec.ECDSA(digest())


def _ecdsa(curve: bytes) -> Callable[[Reader], _Check]:
    def make(reader: Reader) -> _Check:
        key, scheme = _point(reader, curve)

        def check(algorithm: str, rest: bytes, message: bytes) -> None:
            _require(f"ecdsa-sha2-{curve.decode()}", algorithm)
            key.verify(_der(_only(rest)), message, scheme)

        return check

    return make


def _security_ecdsa(reader: Reader) -> _Check:
    key, scheme = _point(reader, b"nistp256")
    application = reader.string()

    def check(algorithm: str, rest: bytes, message: bytes) -> None:
        _require("sk-ecdsa-sha2-nistp256@openssh.com", algorithm)
        plain, flags = _security_parts(rest)
        key.verify(_der(plain), _seen_by_token(application, flags, message), scheme)

    return check


_TYPES: Mapping[str, Callable[[Reader], _Check]] = {
    "ssh-ed25519": _ed25519,
    "ssh-rsa": _rsa,
    "ecdsa-sha2-nistp256": _ecdsa(b"nistp256"),
    "ecdsa-sha2-nistp384": _ecdsa(b"nistp384"),
    "ecdsa-sha2-nistp521": _ecdsa(b"nistp521"),
    "sk-ssh-ed25519@openssh.com": _security_ed25519,
    "sk-ecdsa-sha2-nistp256@openssh.com": _security_ecdsa,
}


def _require(wanted: str, algorithm: str) -> None:
    if algorithm != wanted:
        raise WireError(f"a key for {wanted} cannot have signed by {algorithm}")


def _only(rest: bytes) -> bytes:
    reader = Reader(rest)
    found = reader.string()
    reader.end()
    return found


def _security_parts(rest: bytes) -> tuple[bytes, bytes]:
    """The plain signature of a security key, and the flags and counter that it covers as well."""
    reader = Reader(rest)
    plain, flags = reader.string(), reader.take(5)
    reader.end()
    return plain, flags


def _seen_by_token(application: bytes, flags: bytes, message: bytes) -> bytes:
    """What a security key signs in place of ``message``."""
    return hashlib.sha256(application).digest() + flags + hashlib.sha256(message).digest()


def _der(plain: bytes) -> bytes:
    reader = Reader(plain)
    r, s = reader.natural(), reader.natural()
    reader.end()
    return encode_dss_signature(r, s)
