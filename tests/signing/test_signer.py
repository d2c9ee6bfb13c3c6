"""Who signed, as `status` says it and as other parts may ask; and when files were committed."""

from __future__ import annotations

import json

import pytest

from registry_tool.signing import Signer, claimed, signer_of
from registry_tool.signing.signer import reader, trust_of
from registry_tool.signing.times import Added
from registry_tool.store import snapshot
from tests.examples.build import Row
from tests.examples.example import Example
from tests.signing.keyring import SshKey
from tests.signing.world import line, sign, trust


@pytest.fixture
def signed(good: Example, row: Row, alice: SshKey, bob: SshKey) -> Example:
    """alice signed one row and nobody the other; bob is not allowed."""
    trust(good, line("alice", alice), level="optional")
    sign(good, alice, row)
    good.commit("Sign")
    return good


def test_the_signer_of_a_verdict_is_known_in_every_state(
    signed: Example, row: Row, other: Row
) -> None:
    for state in (
        snapshot.of_worktree(signed.root),
        snapshot.of_index(signed.root),
        snapshot.of_revision(signed.root, "HEAD"),
    ):
        found = signer_of(state, row.artifact)
        assert found is not None
        assert (found.principal, found.fault, found.text) == (
            "alice@example.org", None, "alice@example.org",
        )  # fmt: skip
        assert signer_of(state, other.artifact) is None
        assert reader(state)(row.artifact) == found
    assert signer_of(snapshot.of_revision(signed.root, "HEAD^"), row.artifact) is None


def test_a_signature_that_does_not_count_says_why(
    signed: Example, row: Row, alice: SshKey, bob: SshKey
) -> None:
    sign(signed, bob, row)
    found = signer_of(snapshot.of_worktree(signed.root), row.artifact)
    assert found is not None
    assert found.fault == "unknown"
    assert found.text.startswith("key SHA256:")
    sign(signed, alice, row, suffix=".0123abcd")
    found = signer_of(snapshot.of_worktree(signed.root), row.artifact)
    assert found is not None
    assert found.principal == "alice@example.org"


def test_what_a_signature_claims_is_read_without_a_look_at_the_verdict(
    signed: Example, row: Row, bob: SshKey, alice: SshKey
) -> None:
    known = trust_of(snapshot.of_worktree(signed.root))
    data = signed.path(f"{row.artifact}.sig").read_bytes()
    assert claimed(data, known).principal == "alice@example.org"
    assert claimed(bob.sign(b"anything"), known).fault == "unknown"
    assert claimed(b"anything", known) == Signer(
        None, None, "bad", claimed(b"anything", known).message
    )
    trust(signed, line("alice", alice), revoked=alice.public)
    gone = trust_of(snapshot.of_worktree(signed.root))
    assert claimed(data, gone).fault == "revoked"


def test_status_counts_rows_by_signer(signed: Example, alice: SshKey) -> None:
    _, out = signed.command("status")
    assert "signatures (optional): 1 by alice@example.org, 1 unsigned" in out
    _, out = signed.command("status", "--format", "json")
    assert json.loads(out)["signing"] == {
        "level": "optional",
        "signers": {"alice@example.org": 1},
        "unsigned": 1,
    }
    trust(signed, line("alice", alice), level="off")
    _, out = signed.command("status", "--format", "json")
    assert json.loads(out)["signing"] is None


def test_a_file_is_as_old_as_the_commit_that_first_brought_it(signed: Example, row: Row) -> None:
    def at(path: str) -> int:
        return Added(snapshot.of_index(signed.root))(path)

    def commit(moment: str) -> int:
        signed.environment["GIT_COMMITTER_DATE"] = moment
        signed.commit("Go on")
        return int(signed.git("log", "-1", "--format=%ct"))

    new, newer = f"{row.id.verdict_folder}/a.json", f"{row.id.verdict_folder}/b.json.sig"
    signed.write({new: "{}"})
    first = commit("2026-02-01T00:00:00Z")
    assert at(new) == first
    assert at(newer) > first  # in no commit: it is there since now
    signed.write({newer: "{}", new: "[]"})
    second = commit("2026-03-01T00:00:00Z")
    assert (at(new), at(newer)) == (first, second)
    signed.git("mv", new, f"{row.id.verdict_folder}/c.json")
    commit("2026-04-01T00:00:00Z")
    signed.git("mv", f"{row.id.verdict_folder}/c.json", new)
    commit("2026-05-01T00:00:00Z")
    assert at(new) == first


def test_what_is_remembered_of_another_branch_is_not_believed(signed: Example, row: Row) -> None:
    path = f"{row.id.verdict_folder}/a.json"
    signed.git("checkout", "-q", "-b", "side")
    signed.write({path: "{}"})
    signed.environment["GIT_COMMITTER_DATE"] = "2026-02-01T00:00:00Z"
    signed.commit("Bring it")
    assert Added(snapshot.of_index(signed.root))(path) == 1769904000
    signed.git("checkout", "-q", "main")
    signed.write({path: "{}"})
    signed.environment["GIT_COMMITTER_DATE"] = "2026-03-01T00:00:00Z"
    signed.commit("Bring it here")
    assert Added(snapshot.of_index(signed.root))(path) == 1772323200
