"""A verdict as an in-toto Statement v1 with the test-result predicate v0.1, for other tools.

The subject is what the run was of: the row's record, the verdict itself, its logs and the harness
files, each by SHA-256. The verdict stays the authority; the statement says where to look.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET

from registry_tool.records.verdict import StoredLog, Verdict

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
PAYLOAD = "application/vnd.in-toto+json"
_VERDICT_MEDIA = "application/json"


def make(
    path: str,
    data: bytes,
    verdict: Verdict,
    record: tuple[str, bytes] | None,
    is_emulated: bool,
    signer: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The statement about the verdict file ``path`` with the bytes ``data``.

    ``record`` are path and bytes of the row that stands on it; ``signer`` says who signed it. A
    flaky pass is a warning; whatever is no pass failed. Emulated runs say so in their test's name.
    """
    return {
        "_type": STATEMENT,
        "subject": list(_subjects(path, data, verdict, record)),
        "predicateType": PREDICATE,
        "predicate": {
            "result": _result(verdict),
            "configuration": list(_configuration(path, data, verdict, is_emulated, signer)),
            **_tests(verdict, is_emulated),
        },
    }


def _subjects(
    path: str, data: bytes, verdict: Verdict, record: tuple[str, bytes] | None
) -> Iterator[dict[str, Any]]:
    """The sources that were tested, then what was written down about them."""
    for name, digest in verdict.sources.items():
        yield {"name": f"harness/{name}", "digest": {"sha256": digest}}
    yield {"name": path, "digest": {"sha256": _sha256(data)}, "mediaType": _VERDICT_MEDIA}
    if record is not None:
        name, content = record
        yield {"name": name, "digest": {"sha256": _sha256(content)}, "mediaType": _VERDICT_MEDIA}
    folder = path.rpartition("/")[0]
    for log in _streams(verdict):
        # Of a long stream an excerpt is stored; its digest is that of the file.
        yield {
            "name": f"{folder}/{log.name}",
            "digest": {"sha256": log.excerpt_sha256 or log.sha256},
        }


def _streams(verdict: Verdict) -> Iterator[StoredLog]:
    """Every stream that was stored; an empty one would be the subject of anything."""
    compiled = [] if verdict.compile is UNSET else [verdict.compile]
    for run in (*verdict.attempts, *(verdict.profile or ()), *compiled):
        yield from (log for log in (run.log, run.err) if log.size)


def _configuration(
    path: str,
    data: bytes,
    verdict: Verdict,
    is_emulated: bool,
    signer: Mapping[str, str] | None,
) -> Iterator[dict[str, Any]]:
    subject, gate = verdict.subject, verdict.gate
    annotations = {
        "kernel": subject.kernel,
        "target": subject.target,
        "emulated": is_emulated,
        "shape": subject.shape,
        "variant": subject.variant,
        "precision": subject.precision,
        "tile": subject.tile,
        "herd": subject.herd,
        "kind": verdict.kind,
        "rtol": gate.rtol,
        "atol": gate.atol,
        "tool": f"registry-tool {verdict.tool_version}",
    }
    if signer is not None:
        annotations["signer"] = dict(signer)
    yield {
        "name": path,
        "digest": {"sha256": _sha256(data)},
        "mediaType": _VERDICT_MEDIA,
        "annotations": annotations,
    }


def _result(verdict: Verdict) -> str:
    if verdict.status != "pass":
        return "FAILED"
    return "WARNED" if verdict.is_flaky else "PASSED"


def _tests(verdict: Verdict, is_emulated: bool) -> dict[str, list[str]]:
    place = {"PASSED": "passedTests", "WARNED": "warnedTests", "FAILED": "failedTests"}
    found: dict[str, list[str]] = {name: [] for name in place.values()}
    how = " (emulated)" if is_emulated else ""
    subject = verdict.subject
    shape = "x".join(map(str, subject.shape.values()))
    variant = f"+{subject.variant}" if subject.variant else ""
    name = f"{subject.target}/{subject.kernel}/{shape}{variant}{how}"
    outputs = [f"{name} output {output.index}" for output in verdict.outputs] or [name]
    found[place[_result(verdict)]] = outputs
    return found


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
