from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from registry_tool.errors import InputError, LockBusyError, ToolError
from registry_tool.records import canonical
from registry_tool.records.record import Use
from registry_tool.records.verdict import Verdict
from registry_tool.store.files import clean_temporary
from registry_tool.verifier import runner
from registry_tool.verifier.commands import make_job
from registry_tool.verifier.locks.lock import DeviceLock
from registry_tool.verifier.readback import read_back
from registry_tool.verifier.runner import Outcome, record_from, run_row
from tests.verifier.jobs import TILE, job, printing, running, target, with_lock_limit
from tests.verifier.samples import EMULATED, LOG, PASS, precision
from tests.verifier.test_process import eventually, lives


def silent(message: str) -> None:
    del message


def names(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "verdicts").rglob("*") if path.is_file())


def reread(root: Path, outcome: Outcome) -> Verdict:
    return canonical.decode((root / outcome.path).read_bytes(), Verdict)


def test_a_passing_run_leaves_verdict_and_logs(tmp_path: Path) -> None:
    outcome = run_row(printing(tmp_path, EMULATED, err=b"noise\n"), tmp_path, silent)
    verdict = reread(tmp_path, outcome)
    assert outcome.passed
    assert verdict == outcome.verdict
    assert hashlib.sha256((tmp_path / outcome.path).read_bytes()).hexdigest() == outcome.sha256
    run_id = verdict.run_id
    assert names(tmp_path) == [f"{run_id}.err", f"{run_id}.json", f"{run_id}.log"]
    assert outcome.path == f"verdicts/{job(tmp_path, '').row}/{run_id}.json"
    assert sorted(outcome.written) == sorted(
        outcome.path.replace(".json", end) for end in (".log", ".err", ".json")
    )
    assert (tmp_path / outcome.written[0]).read_bytes() in (EMULATED, b"noise\n")
    assert (verdict.status, verdict.reason, verdict.kind) == ("pass", None, "harness")
    assert verdict.gate.zero_share == 0.9876
    assert verdict.performance is None
    assert outcome.causes == ()
    (attempt,) = verdict.attempts
    assert (attempt.exit_status, attempt.timed_out, attempt.status) == (0, False, "pass")
    assert attempt.command == ["sh", "harness"]


def test_a_row_is_made_of_the_worst_output(tmp_path: Path) -> None:
    verdict = run_row(printing(tmp_path, EMULATED), tmp_path, silent).verdict
    worse = replace(verdict.outputs[0], index=1, mean_rel_L1=0.01, max_abs=0.5, max_rel=7.0)
    verdict = replace(verdict, outputs=[*verdict.outputs, worse])
    use = Use(model="m", site="prefill O")
    record = record_from(verdict, "verdicts/x.json", "0" * 64, [use], ["why"])
    assert (record.mean_rel_L1, record.max_abs, record.max_rel) == (0.01, 0.5, 7.0)
    assert (record.tiles_in_flight, record.herd, record.tile) == (32, [8, 4], TILE)
    assert (record.used_by, record.notes, record.waivers) == ([use], ["why"], [])
    assert record.performance is None
    assert (record.verdict.status, record.verdict.artifact) == ("pass", "verdicts/x.json")
    assert canonical.decode(canonical.encode(record), type(record)) == record


@pytest.mark.parametrize(
    ("log", "status", "err", "expected"),
    [
        (EMULATED.replace(PASS, b"failed.\n"), 255, b"", "fail"),
        (EMULATED.replace(b"9.402e-03", b"nan"), 0, b"", "fail"),
        (EMULATED.replace(b"9.402e-03", b"2.000e-02"), 0, b"", "fail"),
        (EMULATED.replace(b"2097152", b"0"), 0, b"", "unverified"),
        (EMULATED.replace(b"atol=1.5e-03", b"atol=inf"), 0, b"", "fail"),
        (EMULATED, 0, b"Traceback (most recent call last):\nRuntimeError: \xff\x00\n", "error"),
        (EMULATED[:200], 0, b"", "incomplete"),
        (b"", 1, b"", "error"),
        (b"\0\xff\xfe\r\r", 0, b"", "unverified"),
        (LOG, 0, b"", "unverified"),
        (b"".join(precision(index) for index in range(40)) + PASS, 0, b"", "unverified"),
    ],
)
def test_a_failing_run_leaves_a_failing_verdict_and_no_row(
    tmp_path: Path, log: bytes, status: int, err: bytes, expected: str
) -> None:
    outcome = run_row(printing(tmp_path, log, status, err), tmp_path, silent)
    verdict = reread(tmp_path, outcome)
    assert verdict.status == expected
    assert verdict.reason
    assert outcome.causes
    folder = (tmp_path / outcome.path).parent
    stored = [folder / verdict.attempts[0].log.name, folder / verdict.attempts[0].err.name]
    assert [path.read_bytes() for path in stored] == [log, err]
    assert read_back(verdict, log, err, job(tmp_path, "").request.elements) == []
    with pytest.raises(InputError):
        record_from(verdict, outcome.path, outcome.sha256)


def test_a_hang_leaves_a_timeout_with_the_partial_log(tmp_path: Path) -> None:
    work = job(tmp_path, "echo Detected NPU device: npu2-emu; sleep 61", limit_s=1)
    verdict = reread(tmp_path, run_row(work, tmp_path, silent))
    assert (verdict.status, verdict.attempts[0].exit_status) == ("timeout", None)
    assert verdict.attempts[0].timed_out
    assert verdict.attempts[0].log.size > 0


def test_survivors_are_reported_and_do_not_touch_what_is_stored(tmp_path: Path) -> None:
    (tmp_path / "said").write_bytes(EMULATED)
    work = job(tmp_path, "(sleep 61; echo failed.) & cat said")
    outcome = run_row(work, tmp_path, silent)
    assert outcome.passed
    assert outcome.survivors == ("sh -c (sleep 61; echo failed.) & cat said", "sleep 61")
    assert reread(tmp_path, outcome).attempts[0].survivors == list(outcome.survivors)


def test_on_hardware_a_pass_has_performance(tmp_path: Path) -> None:
    verdict = run_row(printing(tmp_path, LOG, kind="hardware"), tmp_path, silent).verdict
    assert verdict.status == "pass"
    assert verdict.performance is not None
    assert (verdict.performance.latency_us, verdict.performance.gflops) == (868.4, 4945.846)
    failing = printing(tmp_path, LOG + b"failed.\n", kind="hardware")
    assert run_row(failing, tmp_path, silent).verdict.performance is None


def test_the_lock_is_held_while_it_runs_and_no_longer(tmp_path: Path) -> None:
    work = job(tmp_path, "flock -n -x npu.lock true; echo $?")
    outcome = run_row(work, tmp_path, silent)
    folder = (tmp_path / outcome.path).parent
    assert (folder / outcome.verdict.attempts[0].log.name).read_bytes() == b"1\n"
    with DeviceLock(Path(work.target.lock.path), 0, silent), pytest.raises(LockBusyError):
        run_row(with_lock_limit(work, 1), tmp_path, silent)
    assert len(names(tmp_path)) == 3  # the busy one wrote nothing


def test_what_cannot_start_writes_nothing(tmp_path: Path) -> None:
    work = running(job(tmp_path, ""), ("no-such-program",))
    with pytest.raises(ToolError):
        run_row(work, tmp_path, silent)
    assert names(tmp_path) == []


def test_the_verdict_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def write(path: Path, data: bytes) -> None:
        written.append(path.suffix)
        if path.suffix == ".json":
            raise KeyboardInterrupt

    monkeypatch.setattr(runner, "write_atomic", write)
    with pytest.raises(KeyboardInterrupt):
        run_row(printing(tmp_path, EMULATED), tmp_path, silent)
    assert sorted(written[:2]) == [".err", ".log"]
    assert written[2:] == [".json"]
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_in_the_middle_leaves_no_half_file(
    tmp_path: Path, number: signal.Signals
) -> None:
    code = (
        "from pathlib import Path\n"
        "from registry_tool.verifier.runner import run_row\n"
        "from tests.verifier.jobs import running, job\n"
        f"root = Path({str(tmp_path)!r})\n"
        "run_row(job(root, 'echo $$ > pid; echo half a line; sleep 61'), root, print)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    pid_file = tmp_path / "pid"
    assert eventually(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    parent.send_signal(number)
    parent.wait(10)
    harness = int(pid_file.read_text())
    assert eventually(lambda: not lives(harness))
    left = names(tmp_path)
    assert all(name.startswith(".") and name.endswith(".tmp") for name in left)
    assert bool(left) == (number == signal.SIGKILL)
    clean_temporary(tmp_path)
    assert names(tmp_path) == []
    assert run_row(printing(tmp_path, EMULATED), tmp_path, silent).passed


def test_the_real_emulator_passes_and_fails(tmp_path: Path) -> None:
    spec = job(tmp_path, "").spec
    shape = {"M": 256, "K": 1024, "N": 256}
    tile = {**TILE, "tile_n": 64}

    def emulated(inject: str | None) -> Verdict:
        work = job(tmp_path, "")
        made = make_job(
            tmp_path, work.row, spec, target(tmp_path), shape, "drain", tile, [8, 4], inject
        )
        outcome = run_row(made, tmp_path, silent)
        attempt = outcome.verdict.attempts[0]
        folder = (tmp_path / outcome.path).parent
        streams = [(folder / stored.name).read_bytes() for stored in (attempt.log, attempt.err)]
        assert read_back(outcome.verdict, *streams) == []
        return outcome.verdict

    verdict = emulated(None)
    assert verdict.status == "pass", verdict.reason
    assert verdict.environment.device.value == "npu2-emu"
    assert "registry_tool/emulator/gemm.py" in verdict.sources
    assert verdict.attempts[0].command[:3] == ["python3", "-m", "registry_tool.emulator"]
    assert str(tmp_path) not in canonical.encode(verdict).decode()
    assert os.fspath(sys.executable) not in canonical.encode(verdict).decode()
    assert emulated("nan").status == "fail"
    assert emulated("torn").status == "incomplete"
