"""Attempts and retries on hardware: what is run, in which order, and what the verdict keeps."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from msgspec import UNSET

from registry_tool.errors import HarnessError, LockBusyError
from registry_tool.records import canonical
from registry_tool.records.verdict import Verdict
from registry_tool.verifier.attempt import attempt
from registry_tool.verifier.job import Job
from registry_tool.verifier.locks.lock import DeviceLock
from registry_tool.verifier.readback import read_back
from registry_tool.verifier.runner import Outcome, record_from, run_row
from registry_tool.verifier.stop import Stopped
from registry_tool.verifier.workspace import prepared
from tests.verifier.jobs import job, printing, with_steps, with_target
from tests.verifier.samples import LOG, PASS, PRECISION

DEVICE = LOG.partition(PRECISION)[0]


def silent(text: str) -> None:
    del text


def timed(us: float) -> str:
    # 2 * 2048 * 1024 * 1024 operations.
    gflops = 4294967296 / us / 1e3
    return f"echo 'Latency (us): {us} | Throughput: {gflops:.6e} GFLOP/s'"


def counted(folder: Path, *cases: str) -> str:
    """A script that does the first case when it is first run, and so on; the last one for ever."""
    arms = [f"{number}) {case} ;;" for number, case in enumerate(cases[:-1], 1)]
    return (
        f"n=$(cat {folder}/n 2>/dev/null || echo 0); n=$((n+1)); echo $n > {folder}/n; "
        f"case $n in {' '.join(arms)} *) {cases[-1]} ;; esac"
    )


def hardware(folder: Path, script: str, **options: object) -> Job:
    (folder / "pass.log").write_bytes(LOG)
    (folder / "fail.log").write_bytes(LOG.replace(PASS, b"failed.\n"))
    return with_steps(job(folder, script, "hardware"), folder, **options)  # type: ignore[arg-type]


def reread(folder: Path, outcome: Outcome) -> Verdict:
    verdict = canonical.decode((folder / outcome.path).read_bytes(), Verdict)
    place = (folder / outcome.path).parent
    compiled = [] if verdict.compile is UNSET else [verdict.compile]
    for run in (*verdict.attempts, *(verdict.profile or ()), *compiled):
        assert (place / run.log.name).is_file()
        assert (place / run.err.name).is_file()
    last = verdict.attempts[-1]
    timings = [
        ((place / run.log.name).read_bytes(), (place / run.err.name).read_bytes())
        for run in verdict.profile or ()
    ]
    log, err = (place / last.log.name).read_bytes(), (place / last.err.name).read_bytes()
    if last.step is UNSET:
        assert read_back(verdict, log, err, [2097152], timings) == []
    return verdict


def test_the_speed_is_the_median_of_the_timing_runs(tmp_path: Path) -> None:
    speeds = counted(tmp_path, timed(900.0), timed(868.0), timed(880.0))
    outcome = run_row(hardware(tmp_path, "cat pass.log", timing=speeds), tmp_path, silent)
    verdict = reread(tmp_path, outcome)
    assert verdict.status == "pass"
    assert verdict.profile is not None
    assert [run.step for run in verdict.profile] == ["timing"] * 3
    assert [run.log.name for run in verdict.profile] == [
        f"{verdict.run_id}.t{number}.log" for number in (1, 2, 3)
    ]
    performance = verdict.performance
    assert performance is not None
    assert (performance.latency_us, performance.spread) == (880.0, round(32 / 880, 6))
    assert performance.gflops == pytest.approx(4880.6, rel=1e-4)


def test_other_speeds_do_not_read_back(tmp_path: Path) -> None:
    outcome = run_row(hardware(tmp_path, "cat pass.log", timing=timed(900.0)), tmp_path, silent)
    verdict = reread(tmp_path, outcome)
    place = (tmp_path / outcome.path).parent
    last = verdict.attempts[-1]
    log, err = (place / last.log.name).read_bytes(), b""
    logs = [(place / run.log.name).read_bytes() for run in verdict.profile or ()]
    for other in (
        [logs[0], logs[1], logs[2].replace(b"900.0", b"90.00")],
        [logs[0], logs[1], logs[2] + b"failed.\n"],
        [b"", b"", b""],
    ):
        assert read_back(verdict, log, err, [2097152], [(one, b"") for one in other])


@pytest.mark.parametrize(
    ("timing", "status"),
    [
        ("cat fail.log; exit 255", "fail"),
        ("echo ERT_CMD_STATE_TIMEOUT; exit 2", "timeout"),
        ("echo Detected NPU device: npu2; exit 3", "error"),
        ("echo Detected NPU device: npu1; " + timed(900.0), "unverified"),
        (timed(6144000.0), "timeout"),
    ],
)
def test_a_timing_run_can_speak_against_the_row(tmp_path: Path, timing: str, status: str) -> None:
    outcome = run_row(hardware(tmp_path, "cat pass.log", timing=timing), tmp_path, silent)
    verdict = reread(tmp_path, outcome)
    assert (verdict.status, verdict.performance, verdict.profile) == (status, None, None)
    assert [run.step for run in verdict.attempts] == ["timing", "timing"]


@pytest.mark.parametrize(
    "timing",
    ["echo 'Error: No g++ version >= 13 found' >&2; exit 1", "exit 2", "no-such-program"],
)
def test_what_cannot_be_timed_passes_without_a_speed(tmp_path: Path, timing: str) -> None:
    outcome = run_row(hardware(tmp_path, "cat pass.log", timing=timing), tmp_path, silent)
    verdict = reread(tmp_path, outcome)
    # The gated run's own latency is not taken for the timing's.
    assert (verdict.status, verdict.performance, len(verdict.attempts)) == ("pass", None, 1)
    assert verdict.profile is not None
    assert len(verdict.profile) == 1
    assert verdict.profile[0].status == "error"
    assert verdict.profile[0].reason is not UNSET


def test_a_kernel_that_keeps_state_may_print_what_it_likes_when_timed(tmp_path: Path) -> None:
    timing = f"cat fail.log; {timed(900.0)}; exit 255"
    work = hardware(tmp_path, "cat pass.log", timing=timing, stateful=True)
    outcome = run_row(work, tmp_path, silent)
    verdict = canonical.decode((tmp_path / outcome.path).read_bytes(), Verdict)
    assert verdict.status == "pass"
    # The gated run's log has a latency of its own; the timed ones count.
    assert verdict.performance is not None
    assert verdict.performance.latency_us == 900.0
    dead = hardware(tmp_path, "cat pass.log", timing="echo ERT_CMD_STATE_TIMEOUT", stateful=True)
    assert run_row(dead, tmp_path, silent).verdict.status == "timeout"


def test_a_pass_on_the_second_attempt_is_flaky(tmp_path: Path) -> None:
    script = counted(tmp_path, "cat fail.log; exit 255", "cat pass.log")
    outcome = run_row(hardware(tmp_path, script), tmp_path, silent)
    verdict = reread(tmp_path, outcome)
    assert verdict.is_flaky
    assert [run.status for run in verdict.attempts] == ["fail", "pass"]
    assert verdict.attempts[0].reason == "the harness says 'failed.' (line 5)"
    assert verdict.attempts[1].reason is UNSET
    record = record_from(verdict, outcome.path, outcome.sha256)
    assert record.verdict.flaky is True


def test_there_is_one_retry_and_no_more(tmp_path: Path) -> None:
    script = counted(tmp_path, "cat fail.log", "cat fail.log", "cat pass.log")
    work = hardware(tmp_path, script)
    verdict = reread(tmp_path, run_row(work, tmp_path, silent))
    assert (verdict.status, len(verdict.attempts)) == ("fail", 2)
    # The next run passes at once, and its verdict does not forget the two that did not.
    later = reread(tmp_path, run_row(work, tmp_path, silent))
    assert (later.status, len(later.attempts), later.earlier_failures) == ("pass", 1, 1)
    assert later.is_flaky


def test_an_emulation_is_not_tried_again(tmp_path: Path) -> None:
    work = job(tmp_path, counted(tmp_path, "echo failed.; exit 255"))
    assert len(run_row(work, tmp_path, silent).verdict.attempts) == 1


def test_compiling_needs_no_lock_and_has_a_limit_of_its_own(tmp_path: Path) -> None:
    compiling = "flock -n -x npu.lock echo the lock was free; sleep 61"
    work = with_target(hardware(tmp_path, "cat pass.log", compiling=compiling), compile_limit_s=1)
    outcome = run_row(work, tmp_path, silent)
    verdict = reread(tmp_path, outcome)
    assert (verdict.status, verdict.compile) == ("timeout", UNSET)
    assert verdict.reason is not None
    assert "compiling was ended at its time limit" in verdict.reason
    # It took too long once; it would again.
    assert [run.step for run in verdict.attempts] == ["compile"]
    log = (tmp_path / outcome.path).parent / verdict.attempts[0].log.name
    assert log.read_bytes() == b"the lock was free\n"


def test_a_good_compile_is_kept_beside_the_run(tmp_path: Path) -> None:
    work = hardware(tmp_path, "cat pass.log", compiling="echo built")
    verdict = reread(tmp_path, run_row(work, tmp_path, silent))
    assert verdict.compile is not UNSET
    assert (verdict.compile.step, verdict.compile.lock_wait_s) == ("compile", 0.0)
    assert verdict.compile.log.name == f"{verdict.run_id}.c.log"


@pytest.mark.parametrize(
    "compiling", ["exit 1", "echo error: L2 capacity exceeded; exit 0", "kill -9 $$"]
)
def test_what_does_not_compile_is_not_run(tmp_path: Path, compiling: str) -> None:
    work = hardware(tmp_path, "touch ran; cat pass.log", compiling=compiling)
    verdict = reread(tmp_path, run_row(work, tmp_path, silent))
    assert verdict.status == "error"
    assert not (tmp_path / "ran").exists()


def test_build_folders_are_made_anew_for_each_attempt(tmp_path: Path) -> None:
    build = tmp_path / "harness" / "build_peano"
    build.mkdir(parents=True)
    (build / "mm.o").write_text("of another tile")
    script = "ls harness/build_peano; touch harness/build_peano/mm.o; cat fail.log"
    work = hardware(tmp_path, script, build=(build,))
    outcome = run_row(work, tmp_path, silent)
    assert len(outcome.verdict.attempts) == 2
    for run in outcome.verdict.attempts:
        assert b"mm.o" not in ((tmp_path / outcome.path).parent / run.log.name).read_bytes()


def test_a_build_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    build = tmp_path / "build_peano"
    build.symlink_to(precious)
    with prepared([build], 1, silent):
        assert build.is_dir()
        assert not build.is_symlink()
    assert (precious / "file").read_text() == "kept"


def test_two_verifiers_do_not_build_in_one_folder(tmp_path: Path) -> None:
    build, said = tmp_path / "build_peano", list[str]()
    with prepared([build], 1, silent):
        started = time.monotonic()
        with pytest.raises(LockBusyError), prepared([build], 0.3, said.append):
            pass
        assert time.monotonic() - started >= 0.3
    assert len(said) == 1
    with prepared([build], 0, silent):
        pass


def test_a_harness_folder_that_is_gone_says_so(tmp_path: Path) -> None:
    with (
        pytest.raises(HarnessError, match="cannot be opened"),
        prepared([tmp_path / "gone" / "build_peano"], 1, silent),
    ):
        pass


def test_a_suspect_device_is_not_asked_again(tmp_path: Path) -> None:
    work = hardware(tmp_path, "echo ERT_CMD_STATE_TIMEOUT; exit 2")
    outcome = run_row(work, tmp_path, silent, is_sound=lambda: False)
    assert outcome.is_suspect
    assert len(outcome.verdict.attempts) == 1
    sound = run_row(work, tmp_path, silent, is_sound=lambda: True)
    assert (sound.is_suspect, len(sound.verdict.attempts)) == (False, 2)


def test_only_a_time_out_of_the_device_asks_for_the_canary(tmp_path: Path) -> None:
    asked = list[bool]()

    def is_sound() -> bool:
        asked.append(True)
        return True

    run_row(hardware(tmp_path, "exit 1"), tmp_path, silent, is_sound=is_sound)
    compiling = with_target(hardware(tmp_path, "", compiling="sleep 61"), compile_limit_s=1)
    run_row(compiling, tmp_path, silent, is_sound=is_sound)
    assert not asked
    slow = with_target(hardware(tmp_path, "sleep 61"), run_limit_s=1)
    run_row(slow, tmp_path, silent, is_sound=is_sound)
    assert len(asked) == 2


def test_a_lock_that_stays_busy_later_loses_nothing(tmp_path: Path) -> None:
    work = hardware(tmp_path, "cat fail.log")
    lock = DeviceLock(Path(work.target.lock.path), 5, silent)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            release.wait(30)

    def announce(text: str) -> None:
        if "trying once more" in text:
            threading.Thread(target=hold).start()
            held.wait(10)

    try:
        with pytest.raises(LockBusyError):
            run_row(with_limit(work), tmp_path, announce)
    finally:
        release.set()
    (path,) = tmp_path.rglob("2*.json")
    verdict = canonical.decode(path.read_bytes(), Verdict)
    assert (verdict.status, len(verdict.attempts)) == ("fail", 1)


def test_an_interruption_loses_no_attempt_that_was_finished(tmp_path: Path) -> None:
    (tmp_path / "fail.log").write_bytes(LOG.replace(PASS, b"failed.\n"))
    work = hardware(tmp_path, counted(tmp_path, "cat fail.log", "sleep 61"))
    stop = threading.Event()

    def announce(text: str) -> None:
        if "trying once more" in text:
            threading.Timer(0.5, stop.set).start()

    with pytest.raises(Stopped):
        run_row(work, tmp_path, announce, stop)
    (path,) = tmp_path.rglob("2*.json")
    verdict = canonical.decode(path.read_bytes(), Verdict)
    assert (verdict.status, len(verdict.attempts)) == ("fail", 1)
    # Whoever tries until it passes has a flaky row.
    later = run_row(hardware(tmp_path, "cat pass.log"), tmp_path, silent).verdict
    assert later.is_flaky


def with_limit(work: Job) -> Job:
    from tests.verifier.jobs import with_lock_limit

    return with_lock_limit(work, 1)


def test_the_streams_are_gone_from_where_they_were_captured(tmp_path: Path) -> None:
    attempt(printing(tmp_path, LOG, kind="hardware"), tmp_path, silent)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
