"""The files of signers: what each line means is what ssh-keygen makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.signing import allowed, keygen, revoked
from registry_tool.signing.allowed import parse
from registry_tool.signing.names import NAMESPACE
from tests.signing import keyring
from tests.signing.keyring import SshKey

MESSAGE = b"a verdict\n"
NOON = 1_780_315_200  # 2026-06-01T12:00:00Z


@pytest.fixture(scope="module")
def signature(alice: SshKey) -> bytes:
    return alice.sign(MESSAGE)


def theirs(folder: Path, line: str, signature: bytes, principal: str) -> bool:
    """Whether ssh-keygen takes the signature for ``principal``'s, at noon."""
    (folder / "allowed").write_text(line)
    (folder / "sig").write_bytes(signature)
    done = keyring.keygen(
        "-Y", "verify", "-n", NAMESPACE, "-I", principal, "-f", str(folder / "allowed"),
        "-s", str(folder / "sig"), "-O", "verify-time=20260601120000", stdin=MESSAGE,
    )  # fmt: skip
    return done.returncode == 0


def ours(line: str, key: bytes, principal: str) -> bool:
    entries, _ = parse(line.encode())
    return any(
        one.key == key
        and not one.is_authority
        and one.is_for(NAMESPACE)
        and principal in one.names
        and (one.valid_after is None or one.valid_after <= NOON)
        and (one.valid_before is None or one.valid_before >= NOON)
        for one in entries
    )


LINES = [
    ("alice@example.org {key}", True),
    ("alice@example.org {key} a comment with words", True),
    ("bob@example.org,alice@example.org {key}", True),
    ('"alice@example.org" {key}', True),
    ("alice@example.org\t{key}", True),
    ("# a comment\n\nalice@example.org {key}", True),
    ("bob@example.org {key}", False),
    ("bob@example.org,!alice@example.org {key}", False),
    ("alice@example.org,!alice@* {key}", False),
    ("!alice@example.org,alice@example.org {key}", False),
    ("alice@example.org,!bob@example.org {key}", True),
    ('alice@example.org namespaces="registry-tool-verdict-v1" {key}', True),
    ('alice@example.org namespaces="file,registry-tool-*" {key}', True),
    ('alice@example.org namespaces="git" {key}', False),
    ('alice@example.org namespaces="*,!registry-tool-verdict-v1" {key}', False),
    ('alice@example.org valid-after="20260601" {key}', True),
    ('alice@example.org valid-after="20260602" {key}', False),
    ('alice@example.org valid-before="20260601" {key}', False),
    ('alice@example.org valid-before="202606011200" {key}', True),
    ('alice@example.org valid-before="20260601115959" {key}', False),
    ('alice@example.org valid-after="20260601115959Z",valid-before="20260701Z" {key}', True),
    ('alice@example.org VALID-AFTER="20260101" {key}', True),
    ("alice@example.org cert-authority {key}", False),
    ('alice@example.org valid-after="20260101",valid-after="20260102" {key}', False),
    ('alice@example.org valid-after="20270101",valid-before="20260101" {key}', False),
    ('alice@example.org valid-after="tomorrow" {key}', False),
    ('alice@example.org valid-after="20261301" {key}', False),
    ("alice@example.org valid-after=20260101 {key}", False),
    ('alice@example.org since="20260101" {key}', False),
    ("alice@example.org namespaces {key}", False),
    ("alice@example.org", False),
    ("{key}", False),
    ("alice@example.org ssh-rsa {base64}", False),
    ("alice@example.org ssh-ed25519 AAAA", False),
]


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_a_line_allows_what_it_allows_for_ssh_keygen(
    line: str, expected: bool, alice: SshKey, signature: bytes, tmp_path: Path
) -> None:
    text = line.format(key=alice.public, base64=alice.public.split()[1])
    assert ours(text, alice.blob, "alice@example.org") is expected
    assert theirs(tmp_path, f"{text}\n", signature, "alice@example.org") is expected


def test_lines_that_cannot_be_read_are_named(alice: SshKey) -> None:
    text = f"# keys\nalice@example.org {alice.public}\nbob@example.org nonsense\n"
    entries, bad = parse(text.encode())
    assert [one.line for one in entries] == [2]
    assert [(one.line, "public key" in one.message) for one in bad] == [(3, True)]


@given(st.binary(max_size=200))
def test_no_file_makes_the_readers_fail(data: bytes) -> None:
    allowed.parse(data)
    revoked.parse(data)
    revoked.parse(b"SSHKRL\n\0\0\0\0\1" + data)


@pytest.mark.parametrize("form", ["list", "krl", "sha1", "sha256"])
def test_revoked_keys_are_found_in_lists_and_in_krls(
    form: str, alice: SshKey, bob: SshKey, tmp_path: Path
) -> None:
    path = tmp_path / "revoked"
    if form == "list":
        path.write_text(f"# lost\n{alice.public} alice\n")
    else:
        source = tmp_path / "source"
        word = "" if form == "krl" else f"{form}: "
        source.write_text(f"{word}{alice.public}\n")
        done = keyring.keygen("-q", "-k", "-f", str(path), str(source))
        assert done.returncode == 0, done.stderr
    found, bad = revoked.parse(path.read_bytes())
    assert bad == []
    assert found.holds(alice.blob)
    assert not found.holds(bob.blob)


def test_a_broken_revocation_list_revokes_nothing_in_silence(tmp_path: Path) -> None:
    for data in (b"ssh-ed25519\n", b"SSHKRL\n\0\0\0\0\1", b"SSHKRL\n\0\0\0\0\2"):
        _, bad = revoked.parse(data)
        assert bad


def test_times_without_a_zone_mean_utc_on_every_machine(
    monkeypatch: pytest.MonkeyPatch, alice: SshKey
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    entries, _ = parse(f'a valid-after="20260601120000" {alice.public}'.encode())
    assert entries[0].valid_after == NOON
    assert keygen.NAMESPACE == NAMESPACE
