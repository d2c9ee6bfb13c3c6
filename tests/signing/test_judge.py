"""What a signature is worth: one fault for each thing that can be wrong with who made it, when."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry_tool.records.catalog import parse_policy
from registry_tool.signing import judge as judging
from registry_tool.signing import keygen, trust
from registry_tool.signing.judge import Moment, Signed, judge
from registry_tool.signing.trust import Trust
from tests.signing import keyring
from tests.signing.keyring import SshKey

MESSAGE = b"a verdict\n"
JUNE = 1_780_315_200  # 2026-06-01T12:00:00Z
DAY = 86_400
POLICY = """\
schema_version: 1
targets:
  emu: {kind: emulated, lock: {path: /tmp/a}}
  npu: {kind: hardware, lock: {path: /tmp/b}}
signing: required
"""


def trusting(allowed: str, revoked: str | bytes = "", more: str = "") -> Trust:
    files = {"signers/allowed_signers": allowed.encode()}
    text = POLICY
    if revoked or more:
        text += f"signers:\n  revoked: {'signers/revoked' if revoked else 'null'}\n{more}"
        files["signers/revoked"] = revoked.encode() if isinstance(revoked, str) else revoked
    found, troubles = trust.read(parse_policy(text.encode(), "registry.yaml"), files.get)
    assert troubles == []
    return found


def asked(
    data: bytes,
    known: Trust,
    ran: int = JUNE,
    verdict_by: int = JUNE + DAY,
    signature_by: int = JUNE + DAY,
    message: bytes = MESSAGE,
) -> Signed:
    return judge("r.json.sig", data, message, "npu", known, Moment(ran, verdict_by, signature_by))


def test_an_allowed_key_counts_and_names_its_principal(alice: SshKey) -> None:
    found = asked(alice.sign(MESSAGE), trusting(f"alice@example.org {alice.public}"))
    assert found.counts
    assert (found.fault, found.principal) == (None, "alice@example.org")
    assert found.fingerprint is not None
    assert found.fingerprint.startswith("SHA256:")


@pytest.mark.parametrize(
    ("namespace", "message"), [("file", MESSAGE), ("registry-tool-verdict-v1", b"another\n")]
)
def test_another_namespace_or_message_is_a_bad_signature(
    namespace: str, message: bytes, alice: SshKey
) -> None:
    data = alice.sign(message, namespace)
    assert asked(data, trusting(f"alice {alice.public}")).fault == "bad"


def test_a_key_that_is_not_allowed_is_unknown(alice: SshKey, bob: SshKey) -> None:
    data = bob.sign(MESSAGE)
    assert asked(data, trusting(f"alice {alice.public}")).fault == "unknown"
    found = asked(data, trusting(f'bob namespaces="git" {bob.public}'))
    assert found.fault == "unknown"
    assert "git" in found.message


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ('valid-after="20260601"', None),
        ('valid-after="20260602"', "untimely"),
        ('valid-before="20260531"', "untimely"),
        ('valid-before="20260701"', None),
    ],
)
def test_validity_is_judged_at_the_time_of_the_run(
    options: str, fault: str | None, alice: SshKey
) -> None:
    found = asked(alice.sign(MESSAGE), trusting(f"alice {options} {alice.public}"))
    assert found.fault == fault


def test_a_second_interval_of_the_same_key_counts(alice: SshKey) -> None:
    text = f'alice valid-before="2025" {alice.public}'.replace("2025", "20250101")
    text += f'\nalice valid-after="20260101" {alice.public}'
    assert asked(alice.sign(MESSAGE), trusting(text)).fault is None


def test_a_run_later_than_the_commit_that_brought_it_is_refused(alice: SshKey) -> None:
    known, data = trusting(f"alice {alice.public}"), alice.sign(MESSAGE)
    assert asked(data, known, verdict_by=JUNE - judging.SKEW_S).fault is None
    found = asked(data, known, verdict_by=JUNE - judging.SKEW_S - 1)
    assert found.fault == "untimely"
    assert "later than the commit" in found.message


def test_a_signature_that_came_after_the_end_of_its_key_counts_with_a_word(alice: SshKey) -> None:
    known = trusting(f'alice valid-before="20260602" {alice.public}')
    found = asked(alice.sign(MESSAGE), known, signature_by=JUNE + 30 * DAY)
    assert (found.fault, found.counts) == ("late", True)


def test_revocation_wins_whatever_the_time(alice: SshKey) -> None:
    known = trusting(f'alice valid-before="20270101" {alice.public}', alice.public)
    for ran in (0, JUNE, JUNE + 1000 * DAY):
        found = asked(alice.sign(MESSAGE), known, ran=ran)
        assert (found.fault, found.principal) == ("revoked", "alice")
    assert asked(alice.sign(MESSAGE), trusting("", alice.public)).fault == "revoked"


def test_roles_say_who_may_sign_for_which_target(alice: SshKey) -> None:
    allowed, data = f"alice,lab {alice.public}", alice.sign(MESSAGE)
    assert asked(data, trusting(allowed, more="  roles: {alice: [npu]}\n")).fault is None
    assert asked(data, trusting(allowed, more="  roles: {lab: [emu, npu]}\n")).fault is None
    assert asked(data, trusting(allowed, more="  roles: {alice: [emu]}\n")).fault == "role"
    assert asked(data, trusting(allowed, more="  roles: {bob: [npu]}\n")).fault == "role"


def test_trouble_with_the_files_is_said(alice: SshKey) -> None:
    text = f"{POLICY}signers: {{revoked: signers/gone, roles: {{alice: [other]}}}}\n"
    policy = parse_policy(text.encode(), "registry.yaml")
    _, troubles = trust.read(policy, {"signers/allowed_signers": b"nonsense\n"}.get)
    assert [(one.path, one.is_missing) for one in troubles] == [
        ("registry.yaml", False),
        ("signers/allowed_signers", False),
        ("registry.yaml", True),
    ]


@pytest.fixture(scope="module")
def certified(folder: Path, alice: SshKey, bob: SshKey) -> SshKey:
    """A key of `carol`, certified by alice for 2026."""
    carol = keyring.make(folder, "carol")
    done = keyring.keygen(
        "-q", "-s", str(alice.path), "-I", "carol", "-n", "carol@example.org",
        "-V", "20260101:20270101", f"{carol.path}.pub",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return carol


def test_certificates_count_by_the_authority_that_made_them(
    certified: SshKey, alice: SshKey, bob: SshKey
) -> None:
    data = certified.sign(MESSAGE, cert="-cert.pub")
    known = trusting(f"*@example.org cert-authority {alice.public}")
    found = asked(data, known)
    assert (found.fault, found.principal) == (None, "carol@example.org")
    roles = "  roles: {carol@example.org: [emu]}\n"
    with_roles = trusting(f"*@example.org cert-authority {alice.public}", more=roles)
    assert asked(data, with_roles).fault == "role"
    assert asked(data, known, message=b"another\n").fault == "bad"
    other = trusting(f"*@example.org cert-authority {bob.public}")
    assert asked(data, other).fault == "unknown"
    assert asked(data, trusting(f"carol {certified.public}")).fault == "unknown"
    assert asked(data, known, ran=JUNE - 365 * DAY).fault == "untimely"
    gone = trusting(f"*@example.org cert-authority {alice.public}", certified.public)
    assert asked(data, gone).fault == "revoked"


def test_without_the_library_ssh_keygen_judges_the_bytes(
    monkeypatch: pytest.MonkeyPatch, alice: SshKey
) -> None:
    called: list[bytes] = []
    genuine = keygen.verify_bytes
    monkeypatch.setattr(judging, "has_library", lambda: False)
    monkeypatch.setattr(
        keygen, "verify_bytes", lambda data, message: (called.append(data), genuine(data, message))
    )
    known, data = trusting(f"alice {alice.public}"), alice.sign(MESSAGE)
    assert asked(data, known).fault is None
    assert asked(data, known, message=b"another\n").fault == "bad"
    assert len(called) == 2
