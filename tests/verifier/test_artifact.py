from __future__ import annotations

import hashlib
import json
import re
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from unittest import mock

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.records.schema import schema_for
from registry_tool.records.verdict import Band, Verdict
from registry_tool.verifier import artifact, environment, harness_log
from registry_tool.verifier.artifact import Run, read_back, read_stream, run_id
from registry_tool.verifier.harness_log import parse
from registry_tool.verifier.judge import judge
from registry_tool.verifier.process import Finished
from registry_tool.verifier.request import Request
from tests.verifier.jobs import job
from tests.verifier.logs import EMULATED, LOG, PASS, PRECISION, precision
from tests.verifier.test_harness_log import PIECES

STARTED = datetime(2026, 11, 30, 23, 59, 58, 5, tzinfo=timezone.utc)


def verdict_on(folder: Path, *logs: bytes, exit_status: int = 0, kind: str = "emulated") -> Verdict:
    work = job(folder, "", kind)
    runs = []
    for log in logs:
        (folder / "log").write_bytes(log)
        (folder / "err").write_bytes(b"")
        out, err = read_stream(folder / "log"), read_stream(folder / "err")
        judgement = judge(out.facts, exit_status, False, work.request, err.facts)
        runs.append(Run(Finished(exit_status, False, 1.5, STARTED), 0.25, out, err, judgement))
    facts = runs[-1].out.facts
    return artifact.make(work, runs, environment.gather(work.target, facts), {}, "1.0")


def test_a_verdict_is_canonical_and_fits_its_schema(tmp_path: Path) -> None:
    for log, exit_status in ((EMULATED, 0), (b"", 1), (LOG.replace(b"9.402e-03", b"nan"), 255)):
        verdict = verdict_on(tmp_path, log, exit_status=exit_status)
        data = canonical.encode(verdict)
        assert canonical.decode(data, Verdict) == verdict
        jsonschema.validate(json.loads(data), schema_for(Verdict), jsonschema.Draft202012Validator)


def test_the_run_id_is_the_start_and_a_digest_of_the_content(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, EMULATED)
    assert re.fullmatch(r"20261130T235958Z-[0-9a-f]{8}", verdict.run_id)
    assert run_id(verdict) == verdict.run_id
    assert verdict.attempts[0].started == "2026-11-30T23:59:58Z"
    assert verdict.attempts[0].log.name == f"{verdict.run_id}.log"
    edited = replace(verdict, gate=replace(verdict.gate, atol=0.5))
    assert run_id(edited) != verdict.run_id


def test_every_attempt_is_kept_and_the_last_one_decides(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, b"failed.\n", EMULATED)
    assert verdict.status == "pass"
    assert [attempt.status for attempt in verdict.attempts] == ["fail", "pass"]
    assert [attempt.log.name for attempt in verdict.attempts] == [
        f"{verdict.run_id}.1.log",
        f"{verdict.run_id}.log",
    ]
    assert run_id(verdict) == verdict.run_id


def test_outputs_are_kept_by_index(tmp_path: Path) -> None:
    log = precision(1, 20, "1.000e-02") + precision(0) + PASS
    assert [output.index for output in verdict_on(tmp_path, log).outputs] == [0, 1]


def test_the_gate_tells_its_band_and_blindness(tmp_path: Path) -> None:
    gate = verdict_on(tmp_path, EMULATED).gate
    assert (gate.rtol, gate.atol) == (0.016, 0.0015)
    assert isinstance(gate.band, Band)
    assert (gate.zero_share, gate.zero_share_reason) == (0.9876, None)
    gate = verdict_on(tmp_path, LOG).gate
    assert gate.zero_share is None
    assert gate.zero_share_reason


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda log: log.replace(b"9.402e-03", b"9.401e-03"), "mean_rel_L1"),
        (lambda log: log.replace(b"3.118e+03", b"3.119e+03"), "max_rel"),
        (lambda log: log.replace(b"2097152", b"2097153"), "elements"),
        (lambda log: log.replace(b"9.876e-01", b"9.877e-01"), "zero_share"),
        (lambda log: log.replace(PASS, b"failed.\n"), "reads as fail"),
        (lambda log: log.replace(PRECISION, b""), "not in the log"),
        (lambda log: log.replace(PRECISION, PRECISION + precision(1)), "output 1"),
        (lambda log: log.replace(b"npu2-emu\n", b"npu3-emu\n"), "reads as unverified"),
        (lambda log: log + b"\n", "digest"),
        (lambda log: b"", "output 0 is not in the log"),
    ],
)
def test_an_edited_log_does_not_read_back(tmp_path: Path, edit: object, words: str) -> None:
    verdict = verdict_on(tmp_path, EMULATED)
    assert read_back(verdict, EMULATED, b"", [2097152]) == []
    log = edit(EMULATED)  # type: ignore[operator]
    problems = read_back(verdict, log, b"", [2097152])
    assert any("digest" in problem for problem in problems)
    assert any(words in problem for problem in problems)
    # A forger who mends the digest too is still found out.
    stored = replace(verdict.attempts[0].log, sha256=hashlib.sha256(log).hexdigest())
    forged = replace(verdict, attempts=[replace(verdict.attempts[0], log=stored)])
    assert bool(read_back(forged, log, b"", [2097152])) == (log != EMULATED + b"\n")


def test_an_edited_verdict_does_not_read_back(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, EMULATED)
    output, gate = verdict.outputs[0], verdict.gate
    attempt = verdict.attempts[0]
    for edited in (
        replace(verdict, outputs=[replace(output, mean_rel_L1=0.009)]),
        replace(verdict, outputs=[]),
        replace(verdict, outputs=[output, replace(output, index=1)]),
        replace(verdict, status="fail"),
        replace(verdict, gate=replace(gate, zero_share=0.5)),
        replace(verdict, gate=replace(gate, atol=0.001)),
        replace(verdict, gate=replace(gate, band=Band(low=0.0, high=0.001))),
        replace(verdict, subject=replace(verdict.subject, target="npu2")),
        replace(verdict, attempts=[replace(attempt, exit_status=1)]),
        replace(verdict, attempts=[replace(attempt, exit_status=None)]),
        replace(verdict, attempts=[replace(attempt, timed_out=True)]),
    ):
        assert read_back(edited, EMULATED, b"", [2097152])
    assert read_back(verdict, EMULATED, b"", [1024])
    failing = verdict_on(tmp_path, LOG.replace(PASS, b"failed.\n"), exit_status=255)
    forged = replace(failing, status="pass", reason=None)
    assert read_back(forged, LOG.replace(PASS, b"failed.\n"))


@given(
    log=st.sampled_from([EMULATED, EMULATED.replace(b"[ref", PRECISION + b"[ref")]),
    at=st.integers(0, len(EMULATED) - 1),
    junk=st.sampled_from([b"", b"1", b"9", b"e", b"-", b"\n", b"\r", b"failed.\n", b"x", b"\0"]),
    cut=st.integers(0, 3),
    elements=st.sampled_from([[2097152], [], [1], [2097152, 2097152]]),
    edit=st.sampled_from([{}, {"status": "fail"}, {"outputs": []}]),
)
def test_the_short_cut_never_says_more_than_the_judge(
    log: bytes,
    at: int,
    junk: bytes,
    cut: int,
    elements: list[int],
    edit: dict[str, Any],
) -> None:
    edited = log[:at] + junk + log[at + cut :]
    with tempfile.TemporaryDirectory() as folder:
        verdict = verdict_on(Path(folder), edited)
    verdict = replace(verdict, **edit)
    with mock.patch.object(artifact, "_reads_back_plainly", return_value=False):
        problems = read_back(verdict, edited, b"", elements)
    if artifact._reads_back_plainly(verdict, edited, elements):
        assert problems == []
    if (edited, elements, edit) == (EMULATED, [2097152], {}):
        assert artifact._reads_back_plainly(verdict, edited, elements)


def test_performance_reads_back_too(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, LOG, kind="hardware")
    assert read_back(verdict, LOG, b"", [2097152]) == []
    assert verdict.performance is not None
    faster = replace(verdict, performance=replace(verdict.performance, latency_us=86.84))
    assert read_back(faster, LOG, b"", [2097152])


def test_a_log_up_to_the_limit_is_stored_whole(tmp_path: Path) -> None:
    log = (b"x" * 1023 + b"\n") * 1023 + EMULATED
    verdict = verdict_on(tmp_path, log)
    assert verdict.attempts[0].log.excerpt_sha256 is None
    assert verdict.attempts[0].log.size == len(log)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_longer_log_is_stored_as_an_excerpt_that_reads_back(
    tmp_path: Path, encoding: str
) -> None:
    noise = b"  Index (0, 3): expected=0.51, actual=0.7, diff=0.2\n" * 20_000
    log = (noise + EMULATED[:-6] + noise + PASS + noise).decode().encode(encoding)
    (tmp_path / "log").write_bytes(log)
    stored = read_stream(tmp_path / "log").stored
    assert len(stored) < 200_000
    assert stored.startswith(noise[:60_000])
    assert stored.endswith(noise[-60_000:])
    assert stored.count(b"bytes are left out here\n") == 3
    assert PRECISION in stored
    verdict = verdict_on(tmp_path, log)
    assert verdict.status == "pass"
    kept = verdict.attempts[0].log
    assert kept.sha256 == hashlib.sha256(log).hexdigest()
    assert kept.size == len(log)
    assert kept.excerpt_sha256 == hashlib.sha256(stored).hexdigest()
    assert read_back(verdict, stored, b"", [2097152]) == []
    assert read_back(verdict, stored.replace(b"9.402e-03", b"9.403e-03"), b"", [2097152])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.just(b"noise\n" * 30)), max_size=30),
    st.booleans(),
)
def test_an_excerpt_is_judged_like_the_whole(
    tmp_path: Path, pieces: list[bytes], endless: bool
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(pieces))
    limits = {"LONGEST_LINE": 60 if endless else 500, "KEPT": 3, "_SMALL": 0}
    with (
        mock.patch.multiple(artifact, STORED_WHOLE=100, EDGE=64),
        mock.patch.multiple(harness_log, **limits),
    ):
        stream = read_stream(path)
        whole, stored = stream.facts, parse(stream.stored)
    for request in (Request(), Request(mode="diagnosis")):
        of_whole, of_stored = (judge(facts, 0, False, request) for facts in (whole, stored))
        assert of_stored.status == of_whole.status
        assert repr(of_stored.outputs) == repr(of_whole.outputs)
        assert of_stored.latency_us == of_whole.latency_us
    assert stored.zero_shares == whole.zero_shares


def test_what_is_appended_later_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(LOG)
    stream = read_stream(path)
    path.write_bytes(LOG + b"failed.\n")
    assert stream.stored == LOG


def test_reading_back_is_quick_enough_for_thousands_of_rows(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, EMULATED)
    best = min(_seconds(lambda: read_back(verdict, EMULATED, b"", [2097152])) for _ in range(50))
    # Some 20 us where nothing else runs; the bound leaves room for slow and busy machines.
    assert best < 0.0005


def _seconds(call: object) -> float:
    started = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - started
