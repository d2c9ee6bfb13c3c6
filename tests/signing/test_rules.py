"""KR121-KR126 and their part of KR110: signatures through the real check, on example registries."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.examples.build import Row
from tests.examples.example import Example, ids
from tests.signing.keyring import SshKey
from tests.signing.world import line, sign, trust


@pytest.fixture
def signed(good: Example, row: Row, other: Row, alice: SshKey) -> Example:
    """A committed registry whose two rows alice signed, as its policy requires."""
    trust(good, line("alice", alice))
    sign(good, alice, row, other)
    good.commit("Sign")
    return good


def test_a_registry_that_is_signed_as_required_is_clean(signed: Example) -> None:
    assert signed.findings() == []
    assert signed.findings("--staged") == []
    assert signed.findings("--ref", "HEAD") == []


def test_the_gate_of_an_unsigned_registry_imports_nothing_for_signatures(good: Example) -> None:
    script = (
        "import sys; from registry_tool.cli import main; status = main(sys.argv[1:]); "
        "names = ('registry_tool.signing', 'cryptography'); "
        "found = [name for name in sys.modules if name.startswith(names)]; "
        "sys.exit(status or str(found or ''))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "check", "--staged", "--registry", str(good.root)],
        env=good.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr.strip() == ""
    assert "have passing verdicts" in done.stdout


def test_a_row_without_a_signature_is_refused_where_one_is_required(
    signed: Example, row: Row, alice: SshKey
) -> None:
    signed.path(f"{row.artifact}.sig").unlink()
    signed.commit("Lose it")
    (found,) = signed.findings()
    assert (found["rule"], found["severity"]) == ("KR121", "error")
    assert found["path"] == row.id.record_path
    assert found["fix"] == f"registry-tool sign {row.id}"


@pytest.mark.parametrize(("level", "rules"), [("optional", set()), ("off", set())])
def test_elsewhere_a_missing_signature_is_no_finding(
    good: Example, alice: SshKey, level: str, rules: set[str]
) -> None:
    trust(good, line("alice", alice), level=level)
    assert good.rules() == rules


def test_a_target_may_ask_for_more_than_the_registry(good: Example, alice: SshKey) -> None:
    trust(good, line("alice", alice), level="off")
    good.edit(
        "registry.yaml", "    kind: emulated\n", "    kind: emulated\n    signing: required\n"
    )
    assert good.rules() == {"KR121"}
    good.edit("registry.yaml", "    signing: required\n", "")
    good.edit(
        "registry.yaml", "    kind: hardware\n", "    kind: hardware\n    signing: required\n"
    )
    assert good.rules() == set()


@pytest.mark.parametrize("level", ["optional", "required"])
def test_a_bad_signature_is_an_error_even_where_none_is_needed(
    good: Example, row: Row, other: Row, alice: SshKey, level: str
) -> None:
    trust(good, line("alice", alice), level=level)
    sign(good, alice, row, other)
    assert good.rules() == set()
    path = f"{row.artifact}.sig"
    good.write({path: good.path(f"{other.artifact}.sig").read_bytes()})
    (found,) = good.findings()
    assert (found["rule"], found["path"]) == ("KR122", path)
    good.write({path: b"-----BEGIN SSH SIGNATURE-----\n"})
    assert good.rules() == {"KR122"}
    good.write({path: alice.sign(good.path(row.artifact).read_bytes(), "git")})
    (found,) = good.findings()
    assert found["rule"] == "KR122"
    assert "git" in found["message"]


def test_where_signing_is_off_nobody_looks_at_signatures(
    good: Example, row: Row, alice: SshKey
) -> None:
    trust(good, line("alice", alice), level="off")
    good.write({f"{row.artifact}.sig": b"anything"})
    assert good.findings() == []


@pytest.mark.parametrize("level", ["optional", "required"])
def test_an_unknown_signer_is_named_by_key(
    good: Example, row: Row, other: Row, alice: SshKey, bob: SshKey, level: str
) -> None:
    trust(good, line("alice", alice), level=level)
    sign(good, alice, row)
    sign(good, bob, other)
    (found,) = good.findings()
    assert found["rule"] == "KR123"
    assert "SHA256:" in found["message"]
    assert found["path"] == f"{other.artifact}.sig"


@pytest.mark.parametrize("options", ['valid-after="20260201"', 'valid-before="20251231"'])
def test_a_key_that_was_not_valid_when_the_run_was_is_refused(
    good: Example, row: Row, other: Row, alice: SshKey, options: str
) -> None:
    trust(good, line("alice", alice, options))
    sign(good, alice, row, other)
    assert good.rules() == {"KR124"}


def test_a_run_that_claims_to_be_later_than_its_commit_is_refused(
    good: Example, row: Row, other: Row, alice: SshKey
) -> None:
    """The rows ran on 2026-01-01; a commit of 2025 cannot have brought them."""
    good.environment["GIT_COMMITTER_DATE"] = "2025-06-01T12:00:00Z"
    good.git("commit", "-q", "--amend", "--no-edit", "--date=2025-06-01T12:00:00Z")
    del good.environment["GIT_COMMITTER_DATE"]
    trust(good, line("alice", alice))
    sign(good, alice, row, other)
    found = good.findings()
    assert ids(found) == {"KR124"}
    assert "later than the commit" in found[0]["message"]


def test_a_signature_that_came_after_its_key_had_ended_only_warns(
    good: Example, row: Row, other: Row, alice: SshKey
) -> None:
    trust(good, line("alice", alice, 'valid-before="20260201"'))
    sign(good, alice, row, other)
    found = good.findings()
    assert ids(found) == set()
    assert ids(found, "warning") == {"KR124"}


def test_a_revoked_key_counts_no_more_whenever_it_signed(
    signed: Example, row: Row, alice: SshKey, bob: SshKey
) -> None:
    trust(signed, line("alice", alice), line("bob", bob), revoked=alice.public)
    found = signed.findings()
    assert [one["rule"] for one in found if one["severity"] == "error"] == ["KR125", "KR125"]
    sign(signed, bob, row, suffix=".0123abcd")
    again = signed.findings()
    assert {(one["rule"], one["severity"]) for one in again if row.artifact in one["path"]} == {
        ("KR125", "warning")
    }


def test_a_signer_without_the_role_for_the_target_is_refused(
    good: Example, row: Row, other: Row, alice: SshKey
) -> None:
    trust(good, line("alice", alice), roles="{alice@example.org: [npu2]}")
    sign(good, alice, row, other)
    assert good.rules() == {"KR126"}
    trust(good, line("alice", alice), roles="{alice@example.org: [npu2-emu]}")
    assert good.rules() == set()


def test_no_waiver_silences_a_rule_about_signatures(signed: Example, row: Row) -> None:
    from registry_tool.rules.catalog import BY_ID
    from registry_tool.rules.signatures import SIGNATURE_RULES

    assert {BY_ID[name].waivable for name in SIGNATURE_RULES} == {"never"}
    assert not any(BY_ID[name].owed for name in SIGNATURE_RULES)


def test_files_of_signers_that_cannot_be_read_are_errors(signed: Example, alice: SshKey) -> None:
    signed.write({"signers/allowed_signers": f"{line('alice', alice)}\nbob nonsense\n"})
    (found,) = signed.findings()
    assert (found["rule"], found["path"], found["line"]) == ("KR004", "signers/allowed_signers", 2)
    signed.path("signers/allowed_signers").unlink()
    assert signed.rules() == {"KR001", "KR123"}


def test_a_committed_signature_is_neither_changed_nor_deleted(
    signed: Example, row: Row, alice: SshKey, bob: SshKey
) -> None:
    path = f"{row.artifact}.sig"
    trust(signed, line("alice", alice), line("bob", bob))
    signed.commit("Let bob sign")
    genuine = signed.path(path).read_bytes()
    signed.write({path: bob.sign(signed.path(row.artifact).read_bytes())})
    assert signed.rules() == {"KR106"}
    signed.path(path).unlink()
    assert signed.rules() == {"KR106", "KR121"}
    signed.write({path: genuine})
    sign(signed, bob, row, suffix=".0123abcd")
    assert signed.findings() == []


def test_signatures_go_with_the_evidence_of_a_retired_row(signed: Example, row: Row) -> None:
    assert signed.command("retire", str(row.id))[0] == 0
    assert signed.findings() == []
    signed.git("rm", "-rq", row.id.verdict_folder)
    assert signed.findings() == []


def test_a_signature_without_its_verdict_warns(signed: Example, row: Row) -> None:
    signed.write({f"{row.id.verdict_folder}/20250101T000000Z-01234567.json.sig": b"x"})
    found = signed.findings()
    assert ids(found) == set()
    assert ids(found, "warning") == {"KR122"}


# KR110: who may sign is not changed together with what is signed.


def test_adding_ones_own_key_with_the_row_that_needs_it_is_refused(
    signed: Example, row: Row, alice: SshKey, bob: SshKey
) -> None:
    signed.path(f"{row.artifact}.sig").unlink()
    signed.commit("Lose it")
    trust(signed, line("alice", alice), line("bob", bob))
    sign(signed, bob, row)
    found = signed.findings()
    assert ids(found) == {"KR110"}
    assert found[0]["path"] == row.id.record_path
    signed.git("add", "-A")
    assert signed.rules("--staged") == {"KR110"}


def test_adding_a_key_in_a_change_of_its_own_only_warns(
    signed: Example, alice: SshKey, bob: SshKey
) -> None:
    trust(signed, line("alice", alice), line("bob", bob))
    found = signed.findings()
    assert ids(found) == set()
    assert ids(found, "warning") == {"KR110"}
    assert "bob@example.org" in found[0]["message"]
    signed.commit("Add bob")
    assert signed.findings() == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"level": "off"}, "was required and is off"),
        ({"level": "optional"}, "was required and is optional"),
        ({"roles": ""}, "no roles any more"),
        ({"roles": "{alice@example.org: [npu2-emu, npu2]}"}, "may sign for npu2, too"),
        ({"revoked": ""}, "1 key are revoked no more"),
        ({"options": ""}, "at other times"),
    ],
)
def test_whatever_loosens_who_may_sign_is_said(
    good: Example,
    row: Row,
    other: Row,
    alice: SshKey,
    bob: SshKey,
    change: dict[str, str],
    words: str,
) -> None:
    base = {
        "options": 'valid-before="20270101"',
        "level": "required",
        "revoked": bob.public,
        "roles": "{alice@example.org: [npu2-emu]}",
    }

    def put(options: str, level: str, revoked: str, roles: str) -> None:
        trust(good, line("alice", alice, options), level=level, revoked=revoked, roles=roles)

    put(**base)
    sign(good, alice, row, other)
    good.commit("Sign")
    assert good.findings() == []
    put(**(base | change))
    found = good.findings()
    assert ids(found) == set()
    assert any(words in one["message"] for one in found if one["rule"] == "KR110"), found


def test_turning_signing_off_with_an_unsigned_row_is_refused(
    signed: Example, row: Row, alice: SshKey
) -> None:
    signed.path(f"{row.artifact}.sig").unlink()
    signed.commit("Lose it")
    trust(signed, line("alice", alice), level="off")
    signed.edit(row.id.record_path, '"notes": []', '"notes": [\n    "a remark"\n  ]')
    signed.render()
    assert signed.rules() == {"KR110"}


def test_asking_for_signatures_and_signing_go_together(
    good: Example, row: Row, other: Row, alice: SshKey
) -> None:
    trust(good, line("alice", alice))
    sign(good, alice, row, other)
    assert good.findings() == []


def test_what_was_judged_once_is_judged_again_when_signers_change(
    signed: Example, alice: SshKey, bob: SshKey
) -> None:
    assert signed.findings() == []
    trust(signed, line("bob", bob))
    assert signed.rules() == {"KR123"}
    trust(signed, line("alice", alice))
    assert signed.findings() == []


def test_a_new_policy_verifies_no_signature_again_but_an_edited_one(
    signed: Example, row: Row, alice: SshKey, bob: SshKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    from registry_tool.signing import crypto

    asked: list[bytes] = []
    genuine = crypto.verify

    def verify(signature: crypto.SshSignature, message: bytes) -> None:
        asked.append(message)
        genuine(signature, message)

    monkeypatch.setattr(crypto, "verify", verify)
    assert signed.findings() == []
    assert len(asked) == 2
    trust(signed, line("alice", alice), line("bob", bob))
    assert signed.rules() == set()
    assert len(asked) == 2
    path = signed.path(f"{row.artifact}.sig")
    path.write_bytes(bob.sign(b"another\n"))
    trust(signed, line("alice", alice))
    assert "KR122" in signed.rules()
    assert len(asked) == 3


@pytest.mark.parametrize("damage", [b"", b"00000000\n[]", b"nonsense"])
def test_what_is_remembered_of_signatures_may_be_lost_or_damaged(
    signed: Example, row: Row, alice: SshKey, damage: bytes
) -> None:
    assert signed.findings() == []
    for path in (signed.repo / ".git" / "registry-tool").glob("*.json"):
        path.write_bytes(damage)
    assert signed.findings() == []
    signed.write({f"{row.artifact}.sig": alice.sign(b"another\n")})
    for path in (signed.repo / ".git" / "registry-tool").glob("*.json"):
        path.unlink()
    assert signed.rules() == {"KR106", "KR122"}


def test_a_bad_signature_is_not_remembered_as_a_good_one(
    signed: Example, row: Row, alice: SshKey, bob: SshKey
) -> None:
    signed.write({f"{row.artifact}.sig": alice.sign(b"another\n")})
    assert "KR122" in signed.rules()
    trust(signed, line("alice", alice), line("bob", bob))
    assert "KR122" in signed.rules()


def test_signatures_are_no_verdicts_where_the_policy_cannot_be_read(signed: Example) -> None:
    signed.write({"registry.yaml": "schema_version: 2\n"})
    assert signed.rules() == {"KR004"}
