"""Verdicts hold what their runs printed, under a name that their content gives."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.records.schema import schema_for
from registry_tool.records.verdict import Band, Verdict
from registry_tool.verifier.artifact import run_id
from tests.verifier.samples import EMULATED, LOG, PASS, precision
from tests.verifier.verdicts import verdict_on


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
