"""A stored log reads back to its verdict, and to no other."""

from __future__ import annotations

import hashlib
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool.records.verdict import Band
from registry_tool.verifier import readback
from registry_tool.verifier.readback import read_back
from tests.verifier.samples import EMULATED, LOG, PASS, PRECISION, precision
from tests.verifier.verdicts import verdict_on


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
    with mock.patch.object(readback, "_reads_back_plainly", return_value=False):
        problems = read_back(verdict, edited, b"", elements)
    if readback._reads_back_plainly(verdict, edited, elements):
        assert problems == []
    if (edited, elements, edit) == (EMULATED, [2097152], {}):
        assert readback._reads_back_plainly(verdict, edited, elements)


def test_performance_reads_back_too(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, LOG, kind="hardware")
    assert read_back(verdict, LOG, b"", [2097152]) == []
    assert verdict.performance is not None
    faster = replace(verdict, performance=replace(verdict.performance, latency_us=86.84))
    assert read_back(faster, LOG, b"", [2097152])


def test_reading_back_is_quick_enough_for_thousands_of_rows(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, EMULATED)
    best = min(_seconds(lambda: read_back(verdict, EMULATED, b"", [2097152])) for _ in range(50))
    # Some 20 us where nothing else runs; the bound leaves room for slow and busy machines.
    assert best < 0.0005


def _seconds(call: object) -> float:
    started = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - started
