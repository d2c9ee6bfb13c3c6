from __future__ import annotations

from typing import Any

import pytest

from registry_tool.records.verdict import Band
from registry_tool.verifier.logs.harness_log import parse
from registry_tool.verifier.logs.judge import PRECEDENCE, judge
from registry_tool.verifier.logs.request import Request
from tests.verifier.samples import (
    DEVICE,
    EMULATED,
    LATENCY,
    LOG,
    PASS,
    PRECISION,
    REQUEST,
    judged,
    precision,
    status,
)

MISMATCH = (
    b"ERROR: Output 0 does not meet expected output.\nShape: (2048, 1024)\n"
    b"Mismatches: 1 / 2097152 elements (0.00%)\n"
)
CORRELATION = b"Output 0 correlation: 0.998123 (threshold: 0.95)\n"
TRACEBACK = b"Traceback (most recent call last):\n  File x, line 3\nRuntimeError: no\n"


def test_a_pass_has_no_reason_and_all_figures() -> None:
    judgement = judged(LOG)
    assert (judgement.status, judgement.reason) == ("pass", None)
    assert judgement.latency_us == 868.4
    assert judgement.gflops == 4945.846
    assert judgement.worst is not None
    assert judgement.worst.mean_rel_L1 == 0.009402


def test_the_emulator_speaks_the_same_dialect() -> None:
    assert status(EMULATED, target="npu2-emu") == "pass"
    assert status(EMULATED, target="npu2") == "unverified"
    assert status(EMULATED.replace(b"Detected", b"Found"), target="npu2") == "unverified"


@pytest.mark.parametrize(
    ("log", "exit_status", "expected"),
    [
        # The process and the text disagree.
        (LOG, None, "unverified"),
        (LOG, 1, "error"),
        (LOG, 255, "error"),
        (LOG, 2, "error"),
        (LOG, -9, "error"),
        (LOG, 134, "error"),
        (LOG + b"failed.\n", 0, "fail"),
        (LOG + b"failed.\n", 255, "fail"),
        (LOG.replace(PASS, b"failed.\n"), 0, "fail"),
        (LOG.replace(PASS, b"failed.\nmake: *** [Makefile:62: run] Error 255\n"), 2, "fail"),
        (LOG.replace(PASS, b"failed.\n"), -11, "error"),
        (LOG.replace(PASS, b"failed.\n"), 139, "error"),
        (LOG.replace(PASS, b"failed.\n") + TRACEBACK, 1, "error"),
        (b"make: *** [Makefile:62: run] Error 1\n", 2, "error"),
        (b"", 1, "error"),
        (b"", 75, "error"),
        (b"", 0, "unverified"),
        (b"\n\n", 0, "unverified"),
        (LOG + TRACEBACK, 0, "error"),
        (LOG + b"Segmentation fault (core dumped)\n", 0, "error"),
        (LOG + b"a.mlir:3:1: error: 'x' op bad\n", 0, "error"),
        (b"clang++: error: no such file\n", 2, "error"),
        # What the harness says of the elements.
        (LOG.replace(PASS, MISMATCH + PASS), 0, "fail"),
        (LOG.replace(PASS, MISMATCH), 0, "fail"),
        (LOG.replace(PASS, b"Mismatches: 0 / 2097152 elements (0.00%)\n" + PASS), 0, "pass"),
        (LOG.replace(PASS, CORRELATION + PASS), 0, "unverified"),
        (LOG.replace(PASS, MISMATCH + CORRELATION + PASS), 0, "unverified"),
        (LOG.replace(PASS, MISMATCH + CORRELATION + b"failed.\n"), 255, "fail"),
        (b"ERROR: Output 0 correlation 0.1 below threshold 0.9\nfailed.\n", 255, "fail"),
        (LOG.replace(PASS, b"Stochastic check: 100 sampled elements\n" + PASS), 0, "unverified"),
        (LOG.replace(PASS, b"No outputs to validate.\n"), 0, "incomplete"),
        (LOG + b"FAIL!\n", 0, "fail"),
        (LOG + b"fail.\n", 0, "fail"),
        (LOG + b"[verify] FAIL \xe2\x80\x94 see report\n", 0, "fail"),
        (LOG + b"FAIL: 12 / 1048576 elements incorrect.\n", 0, "fail"),
        (LOG + b"FAIL: 0 / 1048576 elements incorrect.\n", 0, "pass"),
        (LOG + b"Failed: 0\nFAIL-FAST is on\nfailed. to load a plugin, going on\n", 0, "pass"),
        # Words that are not this dialect.
        (b"PASS: All 1048576 elements correct.\n", 0, "unverified"),
        (b"[verify] PASS\n", 0, "unverified"),
        (b"PASS\n", 0, "unverified"),
        (PASS, 0, "unverified"),
        (LOG.replace(PASS, b"PASS\n"), 0, "incomplete"),
        (LOG.replace(PASS, b"PASS!!\n"), 0, "incomplete"),
        (LOG.replace(PASS, b"pass!\n"), 0, "incomplete"),
        (LOG.replace(PASS, b"Both conditions PASS!\n"), 0, "incomplete"),
        # Figures.
        (LOG.replace(b"9.402e-03", b"nan"), 0, "fail"),
        (LOG.replace(b"9.402e-03", b"-nan"), 0, "fail"),
        (LOG.replace(b"9.402e-03", b"inf"), 0, "fail"),
        (LOG.replace(b"3.118e+03", b"inf"), 0, "fail"),
        (LOG.replace(b"8.240e-04", b"NaN"), 0, "fail"),
        (LOG.replace(b"9.402e-03", b"1e999"), 0, "fail"),
        (LOG.replace(b"9.402e-03", b"1.000e+00"), 0, "fail"),
        (LOG.replace(b"9.402e-03", b"1.101e-02"), 0, "fail"),
        (LOG.replace(b"9.402e-03", b"7.999e-03"), 0, "fail"),
        (LOG.replace(b"9.402e-03", b"0.000e+00"), 0, "fail"),
        # Tolerances.
        (LOG.replace(b"rtol=1.6e-02", b"rtol=1.7e-02"), 0, "fail"),
        (LOG.replace(b"atol=1.5e-03", b"atol=1.6e-03"), 0, "fail"),
        (LOG.replace(b"atol=1.5e-03", b"atol=inf"), 0, "fail"),
        (LOG.replace(b"atol=1.5e-03", b"atol=nan"), 0, "fail"),
        (LOG.replace(b"atol=1.5e-03", b"atol=1.0e-03"), 0, "pass"),
        # Elements, outputs.
        (LOG.replace(b"2097152", b"100"), 0, "unverified"),
        (LOG.replace(b"2097152", b"4194304"), 0, "unverified"),
        (LOG.replace(b"2097152", b"0"), 0, "unverified"),
        (LOG.replace(PRECISION, PRECISION + PRECISION), 0, "unverified"),
        (LOG.replace(PRECISION, precision(1)), 0, "incomplete"),
        (LOG.replace(PRECISION, PRECISION + precision(1)), 0, "unverified"),
        (LOG + PASS, 0, "unverified"),
        (PASS + LOG.replace(PASS, b""), 0, "unverified"),
        # Devices.
        (LOG.replace(b"npu2", b"npu1"), 0, "unverified"),
        (LOG + b"Detected NPU device: npu1\n", 0, "unverified"),
        (LOG + b"\0Detected NPU device: npu1\n", 0, "unverified"),
        (LOG + b"Target device from AIR_TARGET_DEVICE: npu1\n", 0, "unverified"),
        (LOG.replace(DEVICE, b""), 0, "pass"),
        (LOG + b"WARNING: could not detect the NPU generation (x); y\n", 0, "unverified"),
        # Time-outs of the device.
        (LOG + b"ert_cmd_state.ERT_CMD_STATE_TIMEOUT\n", 0, "timeout"),
        (LOG.replace(b"868.4", b"6144012.7"), 0, "timeout"),
        (LOG.replace(LATENCY, b"Latency (us): 6144.0\n"), 0, "timeout"),
        (LOG.replace(LATENCY, b"Avg NPU time: 6144ms.\n"), 0, "timeout"),
        (LOG + b"Max NPU GEMV time: 6144012us.\n", 0, "timeout"),
        (LOG + b"Max NPU time: 6.14401e+06us.\n", 0, "timeout"),
        (LOG + b"  NPU time: 6144ms\n", 0, "timeout"),
        (LOG + b"shape 2048x6144, compile time: 12 s\nMax NPU time: 61440us.\n", 0, "pass"),
        (LOG.replace(LATENCY, b"Latency (us): 6143.8\n"), 0, "pass"),
        (b"ert_cmd_state.ERT_CMD_STATE_ABORT\n", 0, "error"),
        # Other runs than the one that was asked for.
        (DEVICE + b"Compile-only done.\n", 0, "unverified"),
        (b"Compile-only done.\n" + LOG, 0, "pass"),
        (DEVICE + LATENCY, 0, "unverified"),
    ],
)
def test_the_gravest_signal_decides(log: bytes, exit_status: int | None, expected: str) -> None:
    judgement = judged(log, exit_status)
    assert judgement.status == expected
    assert (judgement.reason is None) == (expected == "pass")


def test_a_time_limit_outweighs_everything() -> None:
    assert judged(LOG, 0, timed_out=True).status == "timeout"
    assert judged(LOG + b"failed.\n" + TRACEBACK, 1, timed_out=True).status == "timeout"
    assert judged(b"", None, timed_out=True).status == "timeout"
    assert PRECEDENCE[0] == "timeout"
    assert PRECEDENCE[-1] == "pass"


@pytest.mark.parametrize(
    "line", [b"Latency (us): 0.0 | Throughput: inf GFLOP/s\n", b"Latency (us): nan\n"]
)
def test_a_latency_that_is_none_is_not_reported(line: bytes) -> None:
    judgement = judged(LOG.replace(LATENCY, line))
    assert judgement.status == "pass"
    assert (judgement.latency_us, judgement.gflops, judgement.gbps) == (None, None, None)


def test_of_several_latencies_the_slowest_counts() -> None:
    fast = b"Latency (us): 1.0 | Throughput: 4.9e+06 GFLOP/s\n"
    judgement = judged(fast + LOG + fast)
    assert (judgement.latency_us, judgement.gflops) == (868.4, 4945.846)


def test_the_worst_output_leads() -> None:
    log = precision(0, 10) + precision(1, 20, "1.000e-02") + precision(2, 30) + PASS
    judgement = judged(log, elements=(10, 20, 30), outputs=3)
    assert judgement.status == "pass"
    assert [output.index for output in judgement.outputs] == [1, 0, 2]
    log = log.replace(precision(0, 10), precision(0, 10, "nan"))
    judgement = judged(log, elements=(10, 20, 30), outputs=3)
    assert judgement.status == "fail"
    assert judgement.worst is not None
    assert (judgement.worst.index, judgement.worst.mean_rel_L1) == (0, None)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_no_output_may_be_missing(missing: int) -> None:
    log = b"".join(precision(index) for index in range(3) if index != missing) + PASS
    assert status(log, elements=None, outputs=3) == "incomplete"
    if missing != 2:
        assert status(log, elements=None, outputs=None) == "incomplete"


def test_one_count_for_several_outputs_is_that_of_the_first() -> None:
    log = precision(0, 100) + precision(1, 50) + PASS
    assert status(log, elements=(100,), outputs=2) == "pass"
    assert status(log, elements=(50,), outputs=2) == "unverified"
    assert status(log, elements=(100, 50), outputs=None) == "pass"
    assert status(log, elements=(100, 100), outputs=None) == "unverified"


def test_a_tolerance_is_compared_as_the_harness_prints_it() -> None:
    assert status(LOG, rtol=0.01596) == "pass"
    assert status(LOG, rtol=0.0154) == "fail"


def test_nothing_asked_is_nothing_checked() -> None:
    judgement = judge(parse(LOG), 0, False, Request())
    assert judgement.status == "pass"


def test_standard_error_can_only_speak_against_a_run() -> None:
    def with_errors(err: bytes, log: bytes = LOG) -> str:
        return judge(parse(log), 0, False, REQUEST, parse(err)).status

    assert with_errors(b"") == "pass"
    assert with_errors(b"[XRT] WARNING: slow\n") == "pass"
    assert with_errors(PRECISION + PASS, b"") == "unverified"
    assert with_errors(PASS, LOG.replace(PASS, b"")) == "incomplete"
    assert with_errors(precision(1) + PASS) == "pass"
    assert with_errors(TRACEBACK) == "error"
    assert with_errors(b"ERT_CMD_STATE_TIMEOUT\n") == "timeout"
    assert with_errors(b"[verify] FAIL\n") == "fail"
    assert with_errors(b"Detected NPU device: npu1\n") == "unverified"
    failing = judge(parse(b"x\n"), 1, False, REQUEST, parse(b"[verify] FAIL\n"))
    assert failing.status == "fail"


def table(*rows: str, end: str = "\n") -> bytes:
    head = "| Layer | cos_p5 | cos_min | cos_median | max_abs |\n|--:|--:|--:|--:|--:|\n"
    return ("Result: **PASS**\n\n" + head + "\n".join(rows) + end + "[verify] PASS\n").encode()


def sound(index: int) -> str:
    cosine = 0.9995 - 0.0005 * index
    least, most = cosine - 0.0004, 0.03 * index + 0.03
    return f"| {index} | {cosine:.6f} | {least:.6f} | {cosine:.6f} | {most:.4g} |"


def diagnosed(log: bytes, exit_status: int | None = 0, **request: Any) -> tuple[str, str]:
    asked = Request(mode="diagnosis", **request)
    judgement = judge(parse(log), exit_status, False, asked)
    return judgement.status, judgement.reason or ""


SOUND = [sound(index) for index in range(6)]


def test_sound_layers_pass_a_diagnosis() -> None:
    assert diagnosed(table(*SOUND), layers=6) == ("pass", "")
    assert diagnosed(table(*SOUND).replace(b"\n", b"\r\n"), layers=6) == ("pass", "")
    assert diagnosed(table(*SOUND), None)[0] == "unverified"
    assert diagnosed(table(*SOUND), 1)[0] == "error"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("| 3 | 0.023114 | 0.022714 | 0.023314 | 48.5 |", "cliff"),
        ("| 3 | 0.998 | 0.997 | 0.940 | 0.2 |", "cliff"),
        ("| 3 | 0.940 | 0.930 | 0.998 | 0.2 |", "cliff"),
        ("| 3 | 0.998 | 0.700 | 0.998 | 0.2 |", "cliff"),
        ("| 3 | 0.000000 | 0.000000 | 0.998000 | nan |", "not finite"),
        ("| 3 | 0.998 | 0.000000 | 0.998000 | 0.2 |", "NaN"),
        ("| 3 | 0.998 | 0.997 | 0.998 | inf |", "not finite"),
        ("| 3 | nan | 0.997 | 0.998 | 0.2 |", "not finite"),
        ("| 3 | 1.5 | 0.997 | 0.998 | 0.2 |", "above 1"),
        ("| 3 | -0.99 | -0.99 | -0.99 | 0.2 |", "cliff"),
    ],
)
def test_one_bad_layer_fails_a_diagnosis_that_says_pass(row: str, words: str) -> None:
    found, reason = diagnosed(table(*SOUND[:3], row, *SOUND[4:]), layers=6)
    assert found == "fail"
    assert "layer 3" in reason
    assert words in reason


def test_a_first_layer_has_no_neighbour_to_fall_from() -> None:
    assert diagnosed(table("| 0 | 0.02 | 0.02 | 0.02 | 48 |", *SOUND[1:]))[0] == "fail"


def test_a_slow_decay_fails_in_the_end() -> None:
    rows = [
        f"| {i} | {c:.4f} | {c - 0.001:.4f} | {c:.4f} | 1 |"
        for i, c in enumerate(0.999 - 0.02 * step for step in range(8))
    ]
    assert diagnosed(table(*rows))[0] == "fail"


@pytest.mark.parametrize(
    ("log", "layers"),
    [
        (table(*SOUND[:2], *SOUND[3:]), None),
        (table(*SOUND[1:]), None),
        (table(*SOUND), 16),
        (b"Config: mode=diagnosis, n_layers=16\n" + table(*SOUND), None),
        (b"[verify] Summary: {'n_layer_records': 7}\n" + table(*SOUND), None),
        (table(*SOUND[:5], "| 5 | 0.9971 | 0.99"), 6),
        (table(*SOUND[:5], "| 5 | 0.9971 | 0.9967 | [XRT] W"), None),
        (table(*SOUND, end=""), 6),
    ],
)
def test_missing_and_torn_layers_are_incomplete(log: bytes, layers: int | None) -> None:
    assert diagnosed(log, layers=layers)[0] == "incomplete"


@pytest.mark.parametrize(
    ("log", "layers"),
    [
        (b"[verify] PASS\n", 6),
        (LOG, None),
        (table(*SOUND, SOUND[2]), None),
        (table(*SOUND), 5),
        (table(*(f"| {i} | 1.000000 | 1.000000 | 1.000000 | 0 |" for i in range(4))), 4),
    ],
)
def test_a_table_that_is_none_or_of_something_else_is_unverified(
    log: bytes, layers: int | None
) -> None:
    assert diagnosed(log, layers=layers)[0] == "unverified"


def test_a_diagnosis_table_proves_nothing_about_a_kernel() -> None:
    assert status(table(*SOUND)) == "unverified"


def test_a_band_includes_its_ends() -> None:
    assert status(LOG, band=Band(low=0.009402, high=0.009402)) == "pass"
    assert status(LOG, band=None) == "pass"
