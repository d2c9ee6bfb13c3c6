"""Signatures as this package reads and verifies them, beside what ssh-keygen says of each."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry_tool.signing import crypto, keygen, sshsig
from registry_tool.signing.names import NAMESPACE
from registry_tool.signing.wire import WireError, string
from tests.signing import keyring
from tests.signing.keyring import SshKey, armoured

MESSAGE = b'{\n  "run_id": "20260105T000005Z-0123abcd"\n}\n'
BEGIN = b"-----BEGIN SSH SIGNATURE-----\n"
END = b"\n-----END SSH SIGNATURE-----\n"


def ours(data: bytes, message: bytes = MESSAGE) -> bool:
    """Whether this package takes ``data`` for a signature of ``message``, in our namespace."""
    try:
        signature = sshsig.parse(data)
        crypto.verify(signature, message)
    except WireError:
        return False
    return signature.namespace == NAMESPACE.encode()


def blob_of(data: bytes) -> bytes:
    return base64.b64decode(data.removeprefix(BEGIN).partition(END)[0])


def fields(blob: bytes) -> list[bytes]:
    """Key, namespace, reserved, hash and signature."""
    found, at = [], 10
    while at < len(blob):
        size = int.from_bytes(blob[at : at + 4], "big")
        found.append(blob[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def with_fields(data: bytes, version: int = 1, **changes: bytes) -> bytes:
    names = ("key", "namespace", "reserved", "hash", "signature")
    parts = dict(zip(names, fields(blob_of(data)), strict=True)) | changes
    head = b"SSHSIG" + version.to_bytes(4, "big")
    return armoured(head + b"".join(map(string, parts.values())))


@pytest.fixture(scope="session")
def genuine(keys: dict[str, SshKey]) -> dict[str, bytes]:
    return {name: key.sign(MESSAGE) for name, key in keys.items()}


@pytest.mark.parametrize("hash_name", ["sha256", "sha512"])
@pytest.mark.parametrize("name", keyring.TYPES)
def test_signatures_of_every_type_of_key_are_taken(
    name: str, hash_name: str, keys: dict[str, SshKey]
) -> None:
    data = keys[name].sign(MESSAGE, hash_name=hash_name)
    assert ours(data)
    assert sshsig.parse(data).key == keys[name].blob
    assert not ours(data, MESSAGE + b"\n")


def token(curve: bool) -> tuple[bytes, Callable[[bytes], bytes], bytes]:
    """A security key in software: its public blob, what it signs with, and its algorithm."""
    if not curve:
        made = ed25519.Ed25519PrivateKey.generate()
        name = b"sk-ssh-ed25519@openssh.com"
        blob = string(name) + string(made.public_key().public_bytes_raw()) + string(b"ssh:")
        return blob, made.sign, name
    key = ec.generate_private_key(ec.SECP256R1())
    name = b"sk-ecdsa-sha2-nistp256@openssh.com"
    point = key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    blob = string(name) + string(b"nistp256") + string(point) + string(b"ssh:")

    def sign(data: bytes) -> bytes:
        pair = utils.decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
        return b"".join(string(n.to_bytes(n.bit_length() // 8 + 1, "big")) for n in pair)

    return blob, sign, name


@pytest.mark.parametrize("curve", [False, True])
def test_signatures_of_security_keys_are_taken_as_ssh_keygen_does(
    curve: bool, tmp_path: Path
) -> None:
    blob, sign, name = token(curve)
    parts = (NAMESPACE.encode(), b"", b"sha512", hashlib.sha512(MESSAGE).digest())
    inner = b"SSHSIG" + b"".join(map(string, parts))
    flags = b"\x01" + (7).to_bytes(4, "big")
    seen = hashlib.sha256(b"ssh:").digest() + flags + hashlib.sha256(inner).digest()
    signature = string(name) + string(sign(seen)) + flags
    head = b"SSHSIG" + (1).to_bytes(4, "big")
    data = armoured(head + b"".join(map(string, (blob, *parts[:3], signature))))
    assert keyring.accepts(tmp_path, data, MESSAGE)
    assert ours(data)
    other = armoured(blob_of(data)[:-1] + b"\x08")
    assert not keyring.accepts(tmp_path, other, MESSAGE)
    assert not ours(other)


def spare(data: bytes) -> bytes:
    """The last letter of the base64 with the padding after it, if it has bits that say nothing."""
    text = data.partition(END)[0]
    bare = text.rstrip(b"=")
    return text[len(bare) - 1 :] + END if bare != text else b"-----END"


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "no header": lambda data: data.removeprefix(BEGIN),
    "another header": lambda data: data.replace(b"BEGIN SSH", b"BEGIN PGP"),
    "no footer": lambda data: data.replace(END, b"\n"),
    "a line before": lambda data: b"\n" + data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "a missing line": lambda data: data.replace(data.splitlines(True)[2], b""),
    "no base64": lambda data: data.replace(b"\nU1NI", b"\n####"),
    "a stray character": lambda data: data.replace(b"\nU1NI", b"\n!U1NI"),
    "spare bits": lambda data: data.replace(
        spare(data), bytes([spare(data)[0] + 1]) + spare(data)[1:]
    ),
    "cut": lambda data: armoured(blob_of(data)[:-1]),
    "longer": lambda data: armoured(blob_of(data) + b"\0"),
    "another magic": lambda data: armoured(b"SSHSIH" + blob_of(data)[6:]),
    "version 2": lambda data: with_fields(data, version=2),
    "another namespace": lambda data: with_fields(data, namespace=b"file"),
    "an empty namespace": lambda data: with_fields(data, namespace=b""),
    "another hash": lambda data: with_fields(data, hash=b"sha256"),
    "an unknown hash": lambda data: with_fields(data, hash=b"md5"),
    "no key": lambda data: with_fields(data, key=b""),
    "half a key": lambda data: with_fields(data, key=fields(blob_of(data))[0][:-4]),
    "a longer key": lambda data: with_fields(data, key=fields(blob_of(data))[0] + b"\0"),
    "an unknown type of key": lambda data: with_fields(data, key=string(b"ssh-none") + b"\0"),
    "no signature": lambda data: with_fields(data, signature=b""),
    "a longer signature": lambda data: with_fields(
        data, signature=fields(blob_of(data))[4] + b"\0"
    ),
    "RSA with SHA-1": lambda data: with_fields(
        data,
        signature=fields(blob_of(data))[4].replace(b"\x00\x0crsa-sha2-512", b"\x00\x07ssh-rsa"),
    ),
    "another algorithm": lambda data: with_fields(
        data,
        signature=string(b"ssh-dss") + fields(blob_of(data))[4][4 + fields(blob_of(data))[4][3] :],
    ),
}


@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa256"])
def test_every_kind_of_damage_is_refused_here_and_by_ssh_keygen(
    name: str, genuine: dict[str, bytes], tmp_path: Path
) -> None:
    for kind, damage in DAMAGE.items():
        data = damage(genuine[name])
        if data == genuine[name]:
            continue
        assert not keyring.accepts(tmp_path, data, MESSAGE), kind
        assert not ours(data), kind


def test_what_ssh_keygen_does_not_look_at_may_not_be_there(
    genuine: dict[str, bytes], tmp_path: Path
) -> None:
    for data in (
        genuine["ed25519"] + b"and more\n",
        with_fields(genuine["ed25519"], reserved=b"anything"),
        with_fields(genuine["ed25519"], version=0),
    ):
        assert keyring.accepts(tmp_path, data, MESSAGE)
        assert not ours(data)


def test_a_signature_of_another_message_or_by_another_key_is_none(
    keys: dict[str, SshKey], genuine: dict[str, bytes], alice: SshKey
) -> None:
    assert not ours(keys["ed25519"].sign(b"another verdict\n"))
    assert not ours(with_fields(genuine["ed25519"], key=alice.blob))


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_byte_is_changed_both_say_the_same(
    data: st.DataObject, genuine: dict[str, bytes], folder: Path
) -> None:
    name = data.draw(st.sampled_from(sorted(genuine)))
    blob = bytearray(blob_of(genuine[name]))
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(blob) - 1))
        blob[at] = data.draw(st.integers(0, 255))
    damaged = armoured(bytes(blob))
    assert ours(damaged) == (keyring.accepts(folder, damaged, MESSAGE) and is_plain(bytes(blob)))


def is_plain(blob: bytes) -> bool:
    """Whether version and reserved part are as ssh-keygen writes them, whatever it reads."""
    try:
        return blob[6:10] == b"\0\0\0\x01" and fields(blob)[2] == b""
    except IndexError:
        return False


@given(st.binary(max_size=300))
def test_no_bytes_whatsoever_make_it_fail_otherwise(data: bytes) -> None:
    assert not ours(data)
    assert not ours(armoured(b"SSHSIG\0\0\0\x01" + data))


def test_ssh_keygen_stands_in_where_the_library_is_missing(genuine: dict[str, bytes]) -> None:
    keygen.verify_bytes(genuine["rsa"], MESSAGE)
    with pytest.raises(WireError, match="ssh-keygen refuses"):
        keygen.verify_bytes(genuine["rsa"], MESSAGE + b" ")
