"""The short way to read a log back agrees with the long one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool.records import catalog, kernel
from registry_tool.records.verdict import Band
from registry_tool.rules import evidence
from registry_tool.verifier.artifact import run_id
from registry_tool.verifier.readback import read_back
from tests.examples.build import GEMM, SMALL, Row, make_row

PLAIN = evidence._reads_back_plainly
ROW = make_row(catalog.built_in()[GEMM], SMALL, "drain")
ELEMENTS = kernel.output_elements(catalog.built_in()[GEMM], SMALL)


def test_most_rows_take_the_short_way() -> None:
    for page in catalog.built_in().values():
        for variant in list(page.variants) or [None]:
            shape = {dim: 2048 if dim != "causal" else 1 for dim in page.dims}
            if page.kernel == "FlashAttention_bf16":
                shape |= {"dk": 64, "dv": 64, "num_heads": 32, "num_kv_heads": 8}
            row = make_row(page, shape, variant)
            elements = kernel.output_elements(page, shape)
            assert PLAIN(row.verdict, row.log, row.err, elements), page.kernel
            assert read_back(row.verdict, row.log, row.err, elements) == []


def test_a_hardware_run_takes_the_long_way() -> None:
    row = make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2")
    assert not PLAIN(row.verdict, row.log, row.err, ELEMENTS)
    assert read_back(row.verdict, row.log, row.err, ELEMENTS) == []


PIECES = [
    b"PASS!", b"failed.", b"\n", b"\r", b"0", b"9", b"e", b"-", b" ", b"1.6e-02", b"[precision]",
    b"[reference]", b"Output 0", b"Output 1", b"npu2", b"npu2-emu", b"Mismatches: 1 / 9 elements",
    b"Latency (us): 1.0", b"nan", b"inf", b"\x1b[0m", b"error: ", b"2097152", b"mean_rel_L1=",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    at=st.integers(0, len(ROW.log)),
    cut=st.integers(0, 12),
    piece=st.sampled_from([b"", *PIECES]),
)
def test_what_the_short_way_accepts_the_long_one_does_too(at: int, cut: int, piece: bytes) -> None:
    log = ROW.log[:at] + piece + ROW.log[at + cut :]
    verdict = with_log(ROW, log)
    if PLAIN(verdict.verdict, log, b"", ELEMENTS):
        assert read_back(verdict.verdict, log, b"", ELEMENTS) == []


def with_log(row: Row, log: bytes) -> Row:
    import dataclasses

    from tests.examples.build import sealed

    return sealed(dataclasses.replace(row, log=log))


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fail"},
        {"gate": replace(ROW.verdict.gate, band=Band(low=0.5, high=0.6))},
        {"gate": replace(ROW.verdict.gate, rtol=0.001)},
        {"gate": replace(ROW.verdict.gate, zero_share=0.5)},
        {"outputs": []},
        {"outputs": [replace(ROW.verdict.outputs[0], max_rel=1.0)]},
        {"outputs": [replace(ROW.verdict.outputs[0], elements=1)]},
        {"outputs": [replace(ROW.verdict.outputs[0], index=1)]},
        {"attempts": [replace(ROW.verdict.attempts[0], exit_status=1)]},
        {"attempts": [replace(ROW.verdict.attempts[0], timed_out=True)]},
    ],
)
def test_a_verdict_that_says_otherwise_is_left_to_the_long_way(change: dict[str, object]) -> None:
    verdict = replace(ROW.verdict, **change)
    assert not PLAIN(verdict, ROW.log, b"", ELEMENTS)
    assert read_back(verdict, ROW.log, b"", ELEMENTS) != []


def test_the_run_id_is_that_of_the_content() -> None:
    assert run_id(ROW.verdict) == ROW.verdict.run_id
