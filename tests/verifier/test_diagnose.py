from __future__ import annotations

import pytest

from registry_tool.verifier.diagnose import causes
from registry_tool.verifier.logs.harness_log import parse
from registry_tool.verifier.logs.judge import judge
from tests.verifier.samples import LATENCY, LOG, PASS, PRECISION, REQUEST

FAILED = LOG.replace(PASS, b"failed.\n")


def text_of(
    log: bytes, exit_status: int | None = 0, timed_out: bool = False, err: bytes = b""
) -> str:
    facts, errors = parse(log), parse(err)
    judgement = judge(facts, exit_status, timed_out, REQUEST, errors)
    return " | ".join(
        f"{cause.symptom} > {cause.likely} > {cause.look_at}"
        for cause in causes(facts, judgement, errors)
    )


def test_a_pass_has_no_causes() -> None:
    assert text_of(LOG) == ""


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"error: 'aiex.npu.push_queue' op Repeat count exceeds [0:255] range.\n", "k_split"),
        (b"error: Allocator exhausted available buffer descriptor IDs.\n", "pad to a multiple"),
        (b"AssertionError: L2 capacity exceeded: A=1\n", "512 KiB"),
        (b"error: 'aie.dma_bd' op Stride 2818048 exceeds\n", "smaller tile_k_l2"),
        (b"  what():  qds_device::wait() unexpected command state\n", "herd 8x4"),
        (b"ert_cmd_state.ERT_CMD_STATE_TIMEOUT\n", "known-good"),
        (LOG.replace(b"868.4", b"6144012.7"), "known-good"),
        (b"ModuleNotFoundError: No module named 'pyxrt'\n", "PYTHONPATH"),
        (LOG.replace(b"9.402e-03", b"nan"), "attention"),
        (LOG.replace(b"9.402e-03", b"1.000e+00"), "all-zero"),
        (LOG.replace(b"9.402e-03", b"9.118e-01"), "tile_n * herd_n"),
        (LOG.replace(b"9.402e-03", b"2.000e-02"), "another datapath"),
        (FAILED + b"Mismatches: 1 / 2097152 elements (0.00%)\n", "edge of atol"),
        (FAILED + b"Mismatches: 524288 / 2097152 elements (25.00%)\n", "unwritten"),
        (LOG.replace(b"1.5e-03", b"5.0e-01"), "--atol"),
        (LOG.replace(b"npu2", b"npu1"), "AIE_TARGET"),
        (LOG.replace(b"2097152", b"100"), "samples"),
        (LOG.replace(PRECISION, PRECISION[:40] + b"\n"), "apart"),
        (b"Compile-only done.\n", "compile-and-run"),
        (b"No outputs to validate.\n", "reference"),
        (LATENCY, "timing run"),
        (b"FAIL: 12 / 1048576 elements incorrect.\n", "words of its own"),
    ],
)
def test_a_known_symptom_names_its_cause(log: bytes, words: str) -> None:
    assert words in text_of(log)
    assert "not known" not in text_of(log)


def test_the_end_of_the_process_is_a_symptom_too() -> None:
    assert "flock -w" in text_of(b"", 1)
    assert "memory" in text_of(LATENCY, -9)
    assert "do not retry" in text_of(b"compiling\n", None, timed_out=True)


def test_standard_error_is_read_for_symptoms() -> None:
    assert "k_split" in text_of(b"", 1, err=b"error: Repeat count exceeds [0:255]\n")


def test_an_unknown_symptom_shows_the_last_lines_and_where_to_start() -> None:
    text = text_of(b"one\n\x1b[31mtwo\x1b[0m\n\n\n", 3, err=b"three\r\n")
    assert "ends with: one / two / three" in text
    assert "the first error of the log" in text
    assert "empty" in text_of(b"", 0)


def test_a_pass_but_for_the_exit_status_says_what_to_give() -> None:
    assert "--exit-status" in text_of(LOG, None)
