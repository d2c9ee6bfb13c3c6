from __future__ import annotations

import math
import random
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from registry_tool.verifier.logs import harness_log
from registry_tool.verifier.logs.facts import LogFacts
from registry_tool.verifier.logs.harness_log import LogReader, parse, read_log
from tests.verifier.samples import EMULATED, LATENCY, LOG, PASS, PRECISION, precision, status

PIECES = [
    b"",
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\x1b[32m",
    b"\x1b[0m",
    b"\xff\xfe",
    b"PASS!",
    b"failed.",
    b"[precision] Out",
    b"| 0 | 0.99 | 0.98 | 0.999 | 0.1 |\n",
    b"| Layer | cos_p5 | cos_min | cos_median | max_abs |\n",
    b"|--:|--:|--:|--:|--:|\n",
    b"Detected NPU device: npu2",
    b"Mismatches: 3 / 10 elements (30.00%)\n",
    b"ERT_CMD_STATE_TIMEOUT",
    b"Traceback (most recent call last):\n",
    b"[reference] Output 0: zero_share=9.9e-01\n",
    b" 50% [####    ] compiling\r",
    b"x" * 40,
    LATENCY,
    PRECISION,
    precision(1, mean="nan"),
    PASS,
]
logs = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=20)), max_size=25).map(
    b"".join
)


def in_pieces(data: bytes, seed: int, longest: int = 50) -> LogFacts:
    reader, chance, at = LogReader(), random.Random(seed), 0
    while at < len(data):
        step = chance.randint(1, longest)
        reader.feed(data[at : at + step])
        at += step
    return reader.finish()


@given(logs, st.integers(0, 2**32))
def test_where_the_pieces_are_cut_does_not_matter(data: bytes, seed: int) -> None:
    assert repr(in_pieces(data, seed)) == repr(parse(data))


@given(logs, st.integers(0, 2**32))
def test_nor_does_it_in_long_lines_and_large_blocks(data: bytes, seed: int) -> None:
    with mock.patch.multiple(harness_log, LONGEST_LINE=200, _SMALL=0):
        whole = parse(data)
        assert repr(in_pieces(data, seed)) == repr(whole)
    if all(len(line) < 200 for line in data.splitlines()):
        assert repr(whole) == repr(parse(data))


@given(logs)
def test_marks_stand_where_they_say(data: bytes) -> None:
    facts = parse(data)
    text = b"".join(harness_log.as_utf8([data]))
    assert facts.size == len(text)
    for marks in facts.marks.values():
        for mark in marks:
            assert 0 <= mark.start < mark.end <= len(text)
            assert mark.line == 1 + text.count(b"\n", 0, mark.start)


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_reader_or_pass(data: bytes) -> None:
    assert status(data) != "pass"


@given(
    line=st.sampled_from([PRECISION, PASS]),
    at=st.floats(0, 1, exclude_max=True),
    junk=st.sampled_from([b"X", b"\0", b"\xff", b"\n", b"\r", b"\x1b", b"#", b"|"]),
    insert=st.booleans(),
)
def test_a_corrupted_judged_line_never_passes(
    line: bytes, at: float, junk: bytes, insert: bool
) -> None:
    start = LOG.index(line)
    place = start + int(at * (len(line) - 1))
    if insert and (place == start or junk == b"\n"):
        place = start + 1  # a line of its own before it would change nothing
    corrupted = LOG[:place] + junk + LOG[place + (not insert) :]
    assume(corrupted != LOG)
    assert status(corrupted) != "pass"


@given(st.integers(0, len(LOG) - 2))
def test_a_cut_log_never_passes(length: int) -> None:
    assert status(LOG[:length]) != "pass"


@pytest.mark.parametrize(
    "log",
    [
        LOG.replace(b"\n", b"\r\n"),
        LOG.replace(b"\n", b"\r\r\n"),
        LOG.replace(PRECISION, b"\x1b[36m[precision]\x1b[0m" + PRECISION[11:]),
        LOG.replace(PASS, b"\x1b[1;32mPASS!\x1b[0m\x1b(B\n"),
        LOG.replace(PASS, b"\x1b]0;title\x07PASS!\n"),
        LOG.replace(PASS, b"\x1b[?25hPASS!\n"),
        LOG.replace(PASS, b"PASS!  \n"),
        LOG.replace(b"PASS!\n", b"PASS!"),
        b"\xef\xbb\xbf" + PRECISION + PASS,
        b"\xff\xfe" + LOG.decode().encode("utf-16-le"),
        b"\xfe\xff" + LOG.decode().encode("utf-16-be"),
        LOG.decode().encode("utf-16-le"),
        LOG.decode().encode("utf-16-be"),
        LOG.decode().encode("utf-32"),
        b"note: caf\xe9 \xff\xfe\n" + LOG,
        b"\0\0\0\n" + LOG,
        b" 10% [#   ]\r 20% [##  ]\r100% [####]\n" + LOG,
        LOG.replace(PRECISION, b" 99%\r100%\r" + PRECISION),
        LOG.replace(PRECISION, b"x" * 100_000 + b"\n" + PRECISION),
        LOG.replace(PRECISION, b"\r" * 100_000 + PRECISION),
        b"// CHECK: PASS!\necho 'expect PASS! and not failed.'\n" + LOG,
    ],
)
def test_what_surrounds_whole_lines_does_not_matter(log: bytes) -> None:
    assert status(log) == "pass"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (LOG.replace(PASS, b"  PASS!\n"), "incomplete"),
        (LOG.replace(PASS, b"PASS!\rdone.\n"), "incomplete"),
        (LOG.replace(PASS, b"\0PASS!\n"), "incomplete"),
        (LOG.replace(PASS, b"\x1b[2APASS!\n"), "incomplete"),
        (LOG.replace(b"Output 0 (20971", b"Output 0 (20971\x1b[31m"), "incomplete"),
        (LOG.replace(b"Output 0 (20971", b"Output 0 (20971\0\0"), "incomplete"),
        (LOG.replace(b"Output 0 (20971", b"Output 0 (20971\r\n"), "incomplete"),
        (LOG.replace(PRECISION, PRECISION[:-1] + b"\r" + b"Output 0 checked\n"), "incomplete"),
        (LOG.replace(PRECISION, PRECISION[:-1] + b"PASS!\n"), "incomplete"),
        (LOG.replace(PRECISION, b"[pr" + b"[XRT] WARNING: slow\n" + PRECISION[3:]), "incomplete"),
        (LOG.replace(PRECISION, b"   " + PRECISION), "incomplete"),
        (LOG[: LOG.index(PASS)], "incomplete"),
        (LOG[: LOG.index(PASS) - 1], "incomplete"),
        (LOG[: LOG.index(b"[precision]") + 5], "incomplete"),
        (LOG[: LOG.index(b"[precision]") + 3], "incomplete"),
        (LOG.replace(b"3.118e+03", b"3.118e+"), "incomplete"),
        (LOG.replace(b"3.118e+03", b"-3.118e+03"), "incomplete"),
        (LOG.replace(b"8.240e-04", b"8_240e-04"), "incomplete"),
        (LOG.replace(b"Output 0 (", b"Output \xd9\xa0 ("), "incomplete"),
        (b"failed.\r\n" + LOG, "fail"),
        (b"  failed.\t\n" + LOG, "fail"),
        (b"failed.\rok\n" + LOG, "fail"),
        (b"\x1b[31mfailed.\x1b[0m\n" + LOG, "fail"),
        (b"\x1b[3Gfailed.\n" + LOG, "fail"),
        (b"x" * 50_000 + b"ERT_CMD_STATE_TIMEOUT" + b"x" * 50_000 + b"\n" + LOG, "timeout"),
    ],
)
def test_a_line_that_is_not_whole_is_not_glued_or_guessed(log: bytes, expected: str) -> None:
    assert status(log) == expected


@pytest.mark.parametrize(
    ("line", "latency_us", "gflops", "gbps"),
    [
        (b"Latency (us): 911.0", 911.0, None, None),
        (b"Latency (ms): 0.911 | Throughput: 4.7 TFLOP/s", 911.0, 4700.0, None),
        (b"Latency (ns): 911000", 911.0, None, None),
        (b"Latency (\xc2\xb5s): 911.0 | Bandwidth: 35950 MB/s", 911.0, None, 35.95),
        (b"Latency (us): 911.0 | Bandwidth: 35.95 GB/s", 911.0, None, 35.95),
        (b"Avg NPU time: 83us.", 83.0, None, None),
        (b"Avg NPU GEMV time: 812.4us.", 812.4, None, None),
        (b"Avg NPU eltwise_add time: 1.75ms.", 1750.0, None, None),
        (b"Avg NPU time: 1.2e+03us.", 1200.0, None, None),
        (b"  Avg latency: 1234.5 us  (437.0 GFLOPS)", 1234.5, 437.0, None),
        (b"Average latency: 2ms", 2000.0, None, None),
        (b"Avg latency: 2 ms (1.5 GB/s)", 2000.0, None, 1.5),
        (b"Avg NPU gflops: 41.3016", None, 41.3016, None),
        (b"Avg NPU tflops: 0.5", None, 500.0, None),
        (b"Avg bandwidth: 35.95 GB/s", None, None, 35.95),
        (b"Effective Bandwidth: 3.595e+01 GB/s", None, None, 35.95),
        (b"Avg bandwidth: 1 GiB/s", None, None, 1.073741824),
    ],
)
def test_units_are_read(
    line: bytes, latency_us: float | None, gflops: float | None, gbps: float | None
) -> None:
    (timing,) = parse(line + b"\n").timings
    for found, wanted in (
        (timing.latency_us, latency_us),
        (timing.gflops, gflops),
        (timing.gbps, gbps),
    ):
        assert (found is None) == (wanted is None)
        assert found is None or math.isclose(found, wanted or 0.0)


@pytest.mark.parametrize(
    "line",
    [
        b"Latency (us): 911.0 | Throughput: fast\n",
        b"Latency (weeks): 911.0\n",
        b"Latency (us): 911.0us\n",
        b"Latency: 911.0\n",
        b"Min NPU time: 79us.\n",
        b"Max NPU gflops: 41.9943\n",
        b"Avg bandwidth: 35.95\n",
        b"Avg latency: 1234.5\n",
        b"Avg latency: 2 MS\n",
        b"Avg latency: 2 ms (fast)\n",
        b"Latency (us): 911.0",  # at the very end of the log: digits may be missing
        b"Latency (us): 911.0\r 50%\n",
    ],
)
def test_what_is_no_timing_line_is_not_read_as_one(line: bytes) -> None:
    assert parse(line).timings == []


def test_the_reference_line_gives_the_share_that_zeros_would_fail() -> None:
    assert parse(EMULATED).zero_shares == {0: 0.9876}
    assert parse(b"[reference] Output 0: zero_share=1.5e+00\n").zero_shares == {}


def test_a_long_log_is_read_in_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    junk = b"  Index (0, 3): expected=0.51, actual=0.7, diff=0.2\n" * 100_000
    path.write_bytes(junk + LOG)
    facts = read_log(path)
    assert facts.lines == 100_000 + LOG.count(b"\n")
    assert facts.outputs[0].line == facts.lines - 1
    assert facts.encoding == "utf-8"


@pytest.mark.parametrize(
    "endless",
    [b"x" * 3_000_000, b"\r 12% [#   ]" * 300_000, b"\r" * 300_000 + b"x" * 300_000],
)
def test_an_endless_line_keeps_memory_bounded(endless: bytes) -> None:
    reader, most = LogReader(), 0
    data = endless + b"ERT_CMD_STATE_TIMEOUT\n" + LOG
    for start in range(0, len(data), 10_000):
        reader.feed(data[start : start + 10_000])
        most = max(most, len(reader._pending))
    facts = reader.finish()
    assert facts.outputs
    assert facts.has("device_timeout")
    assert most < 400_000
