"""`attest`: statements that hold what in-toto's specifications require, and envelopes around them.

The specifications: Statement v1, ResourceDescriptor v1, predicate test-result v0.1, DSSE v1.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from registry_tool.signing import statement
from tests.examples.build import Row, sealed
from tests.examples.example import Example
from tests.signing.keyring import SshKey
from tests.signing.world import line, sign, trust

DESCRIPTOR = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "digest": {
            "type": "object",
            "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "minProperties": 1,
        },
        "mediaType": {"type": "string"},
        "annotations": {"type": "object"},
    },
    "required": ["digest"],
    "additionalProperties": False,
}
TESTS = {"type": "array", "items": {"type": "string"}}
REQUIRED = {
    "type": "object",
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {"type": "array", "minItems": 1, "items": DESCRIPTOR},
        "predicateType": {"const": "https://in-toto.io/attestation/test-result/v0.1"},
        "predicate": {
            "type": "object",
            "properties": {
                "result": {"enum": ["PASSED", "WARNED", "FAILED"]},
                "configuration": {"type": "array", "items": DESCRIPTOR},
                "passedTests": TESTS,
                "warnedTests": TESTS,
                "failedTests": TESTS,
            },
            "required": ["result", "configuration"],
            "additionalProperties": False,
        },
    },
    "required": ["_type", "subject", "predicateType", "predicate"],
    "additionalProperties": False,
}


def checked(document: dict[str, Any]) -> dict[str, Any]:
    Draft202012Validator(REQUIRED).validate(document)
    names = [one["name"] for one in document["subject"]]
    assert len(names) == len(set(names))
    return document


def attest(example: Example, folder: Path, *words: str) -> dict[str, bytes]:
    status, _ = example.command("attest", *words, "--out", str(folder))
    assert status == 0
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_each_row_gets_a_statement_about_its_files(
    good: Example, row: Row, other: Row, tmp_path: Path
) -> None:
    files = attest(good, tmp_path / "out", "--all")
    assert set(files) == {f"{row.id}.json", f"{other.id}.json"}
    found = checked(json.loads(files[f"{row.id}.json"]))
    subjects = {one["name"]: one["digest"]["sha256"] for one in found["subject"]}
    for name in (row.artifact, row.id.record_path, row.artifact.replace(".json", ".log")):
        assert subjects.pop(name) == hashlib.sha256(good.path(name).read_bytes()).hexdigest()
    assert subjects == {}
    (test,) = found["predicate"]["passedTests"]
    assert "(emulated)" in test
    (configuration,) = found["predicate"]["configuration"]
    assert configuration["annotations"]["emulated"] is True
    assert "signer" not in configuration["annotations"]


def test_the_signer_of_the_verdict_is_named_if_the_signature_counts(
    good: Example, row: Row, alice: SshKey, bob: SshKey, tmp_path: Path
) -> None:
    trust(good, line("alice", alice), level="optional")
    sign(good, alice, row)
    files = attest(good, tmp_path / "out", str(row.id))
    annotations = json.loads(files[f"{row.id}.json"])["predicate"]["configuration"][0][
        "annotations"
    ]
    assert annotations["signer"]["principal"] == "alice@example.org"
    sign(good, bob, row)
    files = attest(good, tmp_path / "out", str(row.id))
    assert b"signer" not in files[f"{row.id}.json"]


@pytest.mark.parametrize(
    ("changes", "result", "place"),
    [
        ({}, "PASSED", "passedTests"),
        ({"earlier_failures": 2}, "WARNED", "warnedTests"),
        ({"status": "fail", "reason": "13 mismatches"}, "FAILED", "failedTests"),
        ({"status": "timeout", "reason": "no end", "outputs": []}, "FAILED", "failedTests"),
    ],
)
def test_what_did_not_pass_plainly_is_never_called_passed(
    row: Row, changes: dict[str, Any], result: str, place: str
) -> None:
    made = sealed(dataclasses.replace(row, verdict=replace(row.verdict, **changes)))
    found = checked(statement.make("v.json", b"{}", made.verdict, None, False))
    predicate = found["predicate"]
    assert predicate["result"] == result
    places = ("passedTests", "warnedTests", "failedTests")
    assert [name for name in places if predicate[name]] == [place]


def test_harness_files_are_subjects_and_empty_streams_are_none(row: Row) -> None:
    digest = hashlib.sha256(b"kernel").hexdigest()
    verdict = replace(row.verdict, sources={"gemm/run.py": digest})
    found = checked(statement.make("v/v.json", b"{}", verdict, None, True))
    assert found["subject"][0] == {"name": "harness/gemm/run.py", "digest": {"sha256": digest}}
    assert not [one for one in found["subject"] if one["name"].endswith(".err")]


@pytest.mark.parametrize("name", ["ed25519", "ecdsa256"])
def test_an_envelope_is_verified_by_openssl_with_the_key_beside_it(
    name: str, good: Example, row: Row, keys: dict[str, SshKey], tmp_path: Path
) -> None:
    words = (str(row.id), "--dsse", "--key", str(keys[name].path))
    files = attest(good, tmp_path / "out", *words)
    envelope = json.loads(files[f"{row.id}.json"])
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    payload = base64.b64decode(envelope["payload"])
    checked(json.loads(payload))
    (signature,) = envelope["signatures"]
    kind = envelope["payloadType"].encode()
    signed = b" ".join([b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(payload), payload])
    (tmp_path / "signed").write_bytes(signed)
    (tmp_path / "sig").write_bytes(base64.b64decode(signature["sig"]))
    common = ["-inkey", str(tmp_path / "out" / "public-key.pem"), "-pubin"]
    words_of = {
        "ed25519": ["-rawin", "-in", "signed"],
        "ecdsa256": ["-rawin", "-digest", "sha256", "-in", "signed"],
    }
    done = subprocess.run(
        ["openssl", "pkeyutl", "-verify", *common, "-sigfile", "sig", *words_of[name]],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "words",
    [(), ("--all", "GEMM"), ("--all",), ("nothing/here",), ("--all", "--key", "x", "--out", "y")],
)
def test_what_makes_no_sense_is_said(
    good: Example, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert good.command("attest", *words)[0] == 2
    assert "next: " in capsys.readouterr().err or words[-1:] == ("y",)


@pytest.mark.parametrize("kind", ["rsa", "passphrase", "missing"])
def test_keys_that_cannot_sign_an_envelope_are_refused(
    kind: str, good: Example, row: Row, keys: dict[str, SshKey], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = keys["rsa"].path
    if kind == "missing":
        path = tmp_path / "none"
    elif kind == "passphrase":
        path = tmp_path / "locked"
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(path)], check=True
        )
    words = ("attest", str(row.id), "--dsse", "--key", str(path))
    assert good.command(*words)[0] == 2
    assert "next: " in capsys.readouterr().err
