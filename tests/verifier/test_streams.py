"""A captured stream is stored so that it reads back to the same facts."""

from __future__ import annotations

import hashlib
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry_tool.verifier import streams
from registry_tool.verifier.logs import harness_log
from registry_tool.verifier.logs.harness_log import parse
from registry_tool.verifier.logs.judge import judge
from registry_tool.verifier.logs.request import Request
from registry_tool.verifier.readback import read_back
from registry_tool.verifier.streams import read_stream
from tests.verifier.logs.test_harness_log import PIECES
from tests.verifier.samples import EMULATED, LOG, PASS, PRECISION
from tests.verifier.verdicts import verdict_on


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
        mock.patch.multiple(streams, STORED_WHOLE=100, EDGE=64),
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
