"""Logs that someone who wants a false PASS would write, and honest ones that look like them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from registry_tool.verifier.logs import harness_log
from registry_tool.verifier.logs.harness_log import KEPT, KEPT_ROWS, parse, read_log
from registry_tool.verifier.logs.judge import judge
from registry_tool.verifier.logs.request import Request
from tests.verifier.samples import (
    DEVICE,
    LATENCY,
    LOG,
    PASS,
    PRECISION,
    REQUEST,
    judged,
    precision,
    status,
)

HUNG = LATENCY.replace(b"868.4", b"6144012.7")
NAN = precision(1, mean="nan")


def wide(text: bytes, encoding: str = "utf-16-le") -> bytes:
    return text.decode().encode(encoding)


# What speaks against a run is heard wherever it stands.


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        # appended by another writer, in another width
        (LOG + wide(b"failed.\n"), "fail"),
        (LOG + wide(b"failed.\n", "utf-16-be"), "fail"),
        (LOG + wide(NAN), "incomplete"),
        (LOG + wide(b"Mismatches: 3 / 2097152 elements\n"), "fail"),
        (LOG + wide(b"ERT_CMD_STATE_TIMEOUT\r\n"), "timeout"),
        (b"\xff\xfe" + wide(LOG) + b"failed.\n", "incomplete"),
        (b"\xff\xfe" + wide(LOG) + b"xfailed.\n", "incomplete"),
        (b"\xfe\xff" + wide(LOG, "utf-16-be") + b"ERROR: Output 0 does not", "incomplete"),
        # glued to another line
        (LOG.replace(PASS, b"[XRT] slowMismatches: 2 / 9 elements (22%)\n" + PASS), "fail"),
        (LOG + b"[XRT] slowERROR: Output 0 does not meet expected output.\n", "fail"),
        (LOG + b"x" * 40_000 + b"ERROR: Output 0 does not meet expected output.\n", "fail"),
        (LOG.replace(PASS, b"[XRT] slow" + precision(0, mean="nan") + PASS), "incomplete"),
        (LOG.replace(PASS, NAN[20:] + PASS), "incomplete"),
        (LOG.replace(PASS, b"=nan | abs_err max=nan | rtol=1e-2 atol=2e-3\n" + PASS), "incomplete"),
        (LOG.replace(PASS, b"err max=nan | rtol=1.6e-02 atol=1.5e-03\n" + PASS), "incomplete"),
        # in other words
        *(
            (LOG + words + b"\n", "fail")
            for words in (
                b"Verification failed!",
                b"Test failed",
                b"TEST FAILED",
                b"Failed.",
                b"failed!",
                b"Result: FAIL",
                b"*** FAILED ***",
                b"FAILURE",
                b"Output 1 FAILED",
                b"The test has failed.",
            )
        ),
        # of a process that the exit status is not of: `make run | tee log`
        (LOG + b"make: *** [Makefile:62: run] Error 139\n", "error"),
        (LOG + b"make[1]: *** [Makefile:9: run] Segmentation fault\n", "error"),
        (LOG + b"failed.\nmake: *** [Makefile:62: run] Error 255\n", "fail"),
        (LOG + b"Killed\n", "error"),
        (LOG + b"Aborted\n", "error"),
        (LOG + b"/bin/sh: line 1: Bus error\n", "error"),
        (LOG + b"double free or corruption (out)\n", "error"),
        # after more lines of its kind than are kept
        (DEVICE * (KEPT + 5) + LOG.replace(DEVICE, DEVICE.replace(b"2", b"1")), "unverified"),
        (LOG + b"Mismatches: 0 / 5 elements\n" * 40 + b"Mismatches: 1 / 5 elements\n", "fail"),
        (LOG.replace(LATENCY, LATENCY * 500 + HUNG + LATENCY * 500), "timeout"),
        (LOG.replace(LATENCY, LATENCY * 50 + b"Latency (us): 6144\n"), "timeout"),
    ],
)
def test_a_failure_is_heard_wherever_it_stands(log: bytes, expected: str) -> None:
    assert status(log) == expected
    assert status(log, outputs=None, elements=None) == expected


def test_more_outputs_than_are_kept_never_pass() -> None:
    many = b"".join(precision(index) for index in range(KEPT_ROWS))
    asked = Request(rtol=0.016, atol=0.0015)
    assert judge(parse(many + PASS), 0, False, asked).status == "pass"
    more = many + precision(KEPT_ROWS, mean="nan")
    assert judge(parse(more + PASS), 0, False, asked).status == "incomplete"


@pytest.mark.parametrize(
    "ending",
    [
        b"PASS!\x1b[2K\n",  # erased again
        b"PASS!\x1b[1K\n",
        b"PASS!\x1b[2J\n",
        b"\x1b]0;PASS!\x07\n",  # a window's title
        b"PASSED\b\b!\n",
        b"PASS!\x00\n",
        b"\x0bPASS!\n",
        b" PASS!\n",
        b"PASS! (cached)\n",
        b"PASS!\r          \n",
        b"# PASS!\n",
        b"echo PASS!\n",
        b"[1/2] PASS!\n",
        b"PASS!PASS!\n",
        "ＰＡＳＳ!\n".encode(),
        "PASS\N{FULLWIDTH EXCLAMATION MARK}\n".encode(),
        "PASS!\N{LINE SEPARATOR}\n".encode(),
    ],
)
def test_only_a_visible_line_of_its_own_is_a_pass(ending: bytes) -> None:
    assert status(LOG.replace(PASS, ending)) == "incomplete"


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (LOG.replace(b"atol=1.5e-03", b"atol=inf"), "no gate"),
        (LOG.replace(b"rtol=1.6e-02", b"rtol=nan"), "no gate"),
        (LOG.replace(b"9.402e-03", b"0.000e+00"), "contradict"),
        (LOG.replace(b"8.240e-04", b"0.000e+00"), "contradict"),
        (LOG.replace(b"9.402e-03", b"6.000e-01"), "zeros would give 1"),
        (LOG.replace(b"3.118e+03", b"-inf"), "not finite"),
        (LOG.replace(b"9.402e-03", b"-9.402e-03"), "torn"),
        (LOG.replace(b"2097152", b"2,097,152"), "torn"),
        (LOG.replace(b"(2097152", b"(+2097152"), "torn"),
        (LOG.replace(PRECISION, PRECISION.replace(b"\n", b" (1 of 2)\n")), "torn"),
        (LOG.replace(PASS, b"Sampled check: 100 of 2097152\n" + PASS), "sample"),
        (LOG.replace(PASS, b"verifying 100 sampled elements\n" + PASS), "sample"),
        (LOG.replace(PASS, b"comparing 100 random samples\n" + PASS), "sample"),
    ],
)
def test_even_where_nothing_was_asked_some_logs_prove_nothing(log: bytes, why: str) -> None:
    judgement = judge(parse(log), 0, False, Request())
    assert judgement.status != "pass"
    assert why in (judgement.reason or "")


def test_an_output_of_exact_zeros_of_error_is_no_contradiction() -> None:
    log = LOG.replace(b"9.402e-03", b"0.000e+00").replace(b"8.240e-04", b"0.000e+00")
    assert judge(parse(log), 0, False, Request()).status == "pass"


def test_each_emulation_that_is_named_counts() -> None:
    line = b"Emulated target npu2: x\nEmulated target npu2-emu: x\n"
    assert status(line + LOG) == "unverified"


# Latencies at the driver's time-out: one of several, in any unit.

AT_TIMEOUT = [
    b"dispatch 3: 6144.02 ms",
    b"Max latency: 6.144 s",
    b"Max NPU time: 6.1441s",
    b"Max NPU time: 6.14401e+06us.",
    b"Max NPU time: 6.144e+06us.",
    b"Max NPU time: 6.144e+03ms.",
    b"min/avg/max = 412 / 1023 / 6144012 us",
    b"max/avg/min = 6144012 / 1023 / 412 us, median",
    b"latencies_us: [812.1, 6144032.0, 813.4]",
    b"latencies (us): 812.1, 6144032.0, 813.4",
    b"Latency (us): 868.4 (min 860.1, max 6144012.7)",
    b"Latency (us): 868.4 | Max: 6144012.7",
    b"Latency (ms): 0.868 max 6144.01",
    b"iteration 3: 6144123 us",
    b"iter 3 took 6144.5ms",
    b"Run 7/20: 6.144 s",
    b"NPU time (min/avg/max): 80us / 91us / 6144021us",
    b"Max NPU time: 6144021 usec",
    "Max NPU time: 6144021µs".encode(),
    b"kernel 2 finished after 6144 ms",
    b"Latency (ms): 6144.013",
    b"Latency (s): 6.144",
    b"Latency (us): 122880254.2",
]
HONEST = [
    b"compile time: 6144 ms",
    b"Compile took 6.144 s",
    b"aircc pass pipeline time: 6144.2 ms",
    b"build finished in 6.144s",
    b"link: 6144ms",
    b"total wall time: 6.144 s",
    b"allocated 6144 bytes in 3 us",
    b"tile 6144 us",
    b"Max NPU time: 6144us",
    b"elements 6144000, time 12 us",
    b"  --n 6144 --tile-n 64 --time",
    b"shape 2048x6144: latency 512 us",
    b"shape 2048\xc3\x976144 latency 512 ms",
    b"latency of 2048\xc3\x976144 (ms): 512",
    b"K=6144 latency 868 us",
    b"K=6144, latency: 868 ms",
    b"seed 6144 time 3us",
    b"Max NPU time: 16144012us",
    b"latency 61440.12us",
    b"latency v1.6144 ms",
    b"Throughput: 6144 GFLOP/s time",
]


@pytest.mark.parametrize("line", AT_TIMEOUT)
def test_one_dispatch_at_the_driver_s_time_out_is_a_time_out(line: bytes) -> None:
    assert status(LOG.replace(LATENCY, LATENCY + line + b"\n")) == "timeout"
    assert status(LOG.replace(LATENCY, line + b"\r\n")) == "timeout"
    assert judge(parse(LOG), 0, False, REQUEST, parse(line + b"\n")).status == "timeout"


@pytest.mark.parametrize(
    "line", [line for line in HONEST if not line.startswith(b"Max NPU time: 16")]
)
def test_the_same_digits_elsewhere_are_none(line: bytes) -> None:
    assert status(LOG.replace(LATENCY, LATENCY + line + b"\n")) == "pass"


def test_nothing_runs_longer_than_the_driver_allows() -> None:
    assert status(LOG.replace(LATENCY, b"Avg NPU time: 16144012us.\n")) == "timeout"


# Honest logs.


@pytest.mark.parametrize(
    "line",
    [
        b"# if it hangs: ERT_CMD_STATE_TIMEOUT",
        b"echo 'Repeat count exceeds [0:255]'",
        b"// Segmentation fault here",
        b"# core dumped",
        b"\t# falling back to 'npu1'",
        b'@echo "Compile-only done."',
        b"+ echo error: none",
        b"# Traceback (most recent call last)",
        b"## note: error: x",
        b"# Detected NPU device: npu1",
        b"# Stochastic check is off",
        b"// [precision] Output 1 (4 elements): mean_rel_L1=nan",
        b"printf 'Mismatches: 3 / 4 elements'",
        b"0 failed",
        b"Failed: 0",
        b"failed to load xclbin cache, rebuilding",
        b"FAIL-FAST is on",
        b"0 tests failed.",
        b"test_failed=0",
        b"power sampled at 10 Hz",
        b"make: [Makefile:9: clean] Error 1 (ignored)",
        b"ccache: falling back to 'gcc'",
        b"Killed 0 stale processes",
        b"Max error: 0.001",
    ],
)
def test_words_that_only_look_like_a_failure_fail_nothing(line: bytes) -> None:
    for ending in (b"\n", b"\r\n"):
        assert status(line + ending + LOG) == "pass"
        assert status(LOG.replace(PASS, b"\t" + line + ending + PASS)) == "pass"


@pytest.mark.parametrize(
    "log",
    [
        LOG.replace(PASS, b"\x1b[2KPASS!\x1b[0K\n"),
        LOG.replace(PASS, b"\x1b[32m\x1b[1m\x1b[2KPASS!\x1b[0m\x1b[K\n"),
        LOG.replace(PRECISION, b"\x1b[2K" + PRECISION),
        b"".join(b"\r%d%%" % percent for percent in range(100)) + b"\n" + LOG,
        LOG.replace(PRECISION, b"  0%|   | 0/20\r100%|###| 20/20\r" + PRECISION),
        b"\xff\xfe" + wide(LOG),
        b"\xff\xfe" + wide("Zeile für Zeile, 层: 漢字漢字\n".encode() + LOG),
        b"\xe9\xff\xfe caf\xe9\n" + LOG,
        LOG.replace(b"(us)", b"(\xb5s)"),
    ],
)
def test_an_honest_log_passes_however_it_was_captured(log: bytes) -> None:
    judgement = judged(log)
    assert (judgement.status, judgement.reason) == ("pass", None)
    assert judgement.latency_us == 868.4


def test_standard_error_may_say_that_it_was_half_a_gate_or_that_make_failed() -> None:
    for err, expected in (
        (b"Stochastic check: 100 samples\n", "unverified"),
        (b"Output 0 correlation: 0.998 (threshold: 0.95)\n", "unverified"),
        (b"make: *** [Makefile:62: run] Error 1\n", "error"),
    ):
        assert judge(parse(LOG), 0, False, REQUEST, parse(err)).status == expected
    made = parse(LOG + b"make: *** [Makefile:62: run] Error 1\n")
    assert judge(made, None, False, REQUEST).status == "error"


def test_of_many_timings_the_worst_figures_are_kept_in_bounded_memory() -> None:
    lines = [
        b"Latency (us): %d.0 | Throughput: %d GFLOP/s\n" % (100 + 7 * at % 1000, 2000 - at)
        for at in range(1500)
    ]
    facts = parse(b"".join(lines) + LOG.replace(LATENCY, b""))
    judgement = judge(facts, 0, False, REQUEST)
    assert judgement.latency_us == max(100 + 7 * at % 1000 for at in range(1500))
    assert judgement.gflops == 2000 - 1499
    assert len(facts.timings) == len(facts.marks["timing"]) <= KEPT + 5
    assert [timing.line for timing in facts.timings] == [m.line for m in facts.marks["timing"]]
    assert [m.line for m in facts.marks["timing"]] == sorted(m.line for m in facts.marks["timing"])


def test_one_latency_of_0_among_many_leaves_no_speed() -> None:
    log = LOG.replace(LATENCY, LATENCY * 100 + b"Latency (us): 0.0\n" + LATENCY * 100)
    assert judged(log).latency_us is None


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 17, 64, 1000])
def test_nothing_is_missed_at_the_borders_of_pieces(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.log"
    for log in (LOG, LOG + b"failed.\n", wide(LOG), b"\xff\xfe" + wide(LOG) + b"failed.\n"):
        path.write_bytes(log)
        monkeypatch.setattr(harness_log, "CHUNK", size)
        assert repr(read_log(path)) == repr(parse(log))


# Several outputs, one count.


def test_one_count_is_that_of_output_0_and_each_named_count_binds() -> None:
    log = precision(0, 100) + precision(1, 25) + PASS
    assert status(log, elements=(100,), outputs=2) == "pass"
    assert status(log, elements=(25,), outputs=2) == "unverified"
    assert status(log, elements=(100, 24), outputs=2) == "unverified"
    assert status(log.replace(b"(25 ", b"(0 "), elements=(100,), outputs=2) == "unverified"


# A layer table.

HEAD = b"| Layer | cos_p5 | cos_min | cos_median | max_abs |\n|--:|--:|--:|--:|--:|\n"


def layer(index: int, median: float = 0.999, least: float = 0.998, p5: float = 0.9985) -> bytes:
    return f"| {index} | {p5:.6f} | {least:.6f} | {median:.6f} | 0.125 |\n".encode()


def diagnosed(table: bytes, layers: int | None = None) -> tuple[str, str]:
    log = HEAD + table + b"\nResult: **PASS**\n[verify] PASS\n"
    judgement = judge(parse(log), 0, False, Request(mode="diagnosis", layers=layers))
    return judgement.status, judgement.reason or ""


def test_layers_are_compared_with_their_neighbours_in_any_order() -> None:
    rows = [layer(index, 0.999 - 0.02 * index, 0.99 - 0.02 * index) for index in range(4)]
    assert diagnosed(b"".join(rows), 4)[0] == "pass"
    assert diagnosed(b"".join(reversed(rows)), 4)[0] == "pass"
    found, reason = diagnosed(layer(1, 0.93, 0.92, 0.925) + layer(0) + layer(2), 3)
    assert (found, "layer 1" in reason) == ("fail", True)


def test_a_minimum_above_the_other_cosines_is_no_cosine() -> None:
    assert diagnosed(layer(0, 0.990, 0.999, 0.991), 1)[0] == "fail"


@pytest.mark.parametrize(
    ("table", "layers", "expected"),
    [
        (layer(0) + layer(1) + layer(2), 4, "incomplete"),
        (layer(0) + layer(2), None, "incomplete"),
        (layer(0) + layer(1) + b"| 2 | 0.99 | 0.9", None, "incomplete"),
        (layer(0) + layer(1) + layer(2), 2, "unverified"),
        (layer(0) + layer(1, 0.0), 2, "fail"),
        (layer(0) + layer(1).replace(b"0.125", b"nan"), 2, "fail"),
        (layer(0) + layer(1) + layer(1), 2, "unverified"),
        (b"", 2, "unverified"),
        (
            b"".join(layer(at) for at in range(KEPT_ROWS)) + layer(KEPT_ROWS, 0.1),
            None,
            "incomplete",
        ),
    ],
)
def test_what_the_diagnosis_prints_as_pass_is_judged_by_its_table(
    table: bytes, layers: int | None, expected: str
) -> None:
    assert diagnosed(table, layers)[0] == expected


@pytest.mark.parametrize(
    "line",
    [
        b" " * 16_000 + b"fail x",
        b"time 6144" + b" 6144" * 3_000,
        b"time (us): " + b"6144012 / " * 1_500,
        b"rel_err max=" * 1_300,
        b"| rtol=" * 2_000,
        b"time_" * 3_000 + b" 6144 ",
        b"\x1b[1m" * 4_000 + b"PASS!",
        b"PEANO_INSTALL_DIR " * 800,
        b"error: : " * 1_700,
        b"| 1 " * 4_000,
    ],
)
def test_no_line_takes_long_to_read(line: bytes) -> None:
    # Twice as long as so many bytes of ordinary lines; a pattern that goes over the whole line for
    # each of its words takes hundreds of times as long.
    ordinary = LOG * (len(line) // len(LOG))
    assert seconds(LOG + line + b"\n") < 12 * seconds(LOG + ordinary)


def seconds(log: bytes) -> float:
    def once() -> float:
        begun = time.process_time()
        parse(log)
        return time.process_time() - begun

    return min(once() for _ in range(5))


@pytest.mark.parametrize("width", ["utf-8", "utf-16"])
def test_what_decided_stays_in_the_stored_excerpt_of_a_long_log(width: str, tmp_path: Path) -> None:
    from registry_tool.verifier.streams import read_stream

    junk = b"  Index (0, 3): expected=0.51, actual=0.7, diff=0.2\n" * 15_000
    dispatches = LATENCY * (2 * KEPT)
    late = [
        HUNG,
        b"latencies (us): 6144012.7, 812.0\n",
        b"Detected NPU device: npu1\n",
        b"Mismatches: 0 / 4 elements\n" * (2 * KEPT) + b"Mismatches: 1 / 4 elements\n",
    ]
    for line in late:
        log = DEVICE * (2 * KEPT) + dispatches + junk + line + junk + dispatches + PRECISION + PASS
        path = tmp_path / "run.log"
        path.write_bytes(log.decode().encode(width))
        stream = read_stream(path)
        assert len(stream.stored) < len(log) / 2
        whole = judge(stream.facts, 0, False, REQUEST)
        again = judge(parse(stream.stored), 0, False, REQUEST)
        assert whole.status == again.status != "pass"
        assert (whole.latency_us, whole.outputs) == (again.latency_us, again.outputs)
