from __future__ import annotations

import io
import re
from collections.abc import Iterator

import numpy as np
import pytest

from registry_tool.emulator import faults, gemm
from registry_tool.emulator.case import Block, Case
from registry_tool.emulator.harness import run_case
from tests.shared_data import shared

HEAD = [
    "Emulated target npu2-emu: numerics of the kernels in NumPy, not a device run.",
    "Detected NPU device: npu2-emu",
]
PRECISION = re.compile(
    r"\[precision\] Output (\d+) \((\d+) elements\): mean_rel_L1=(\S+) \| rel_err max=(\S+) \| "
    r"abs_err max=(\S+) \| rtol=(\S+) atol=(\S+)"
)
SMALL = Case("GEMM", {"M": 64, "K": 256, "N": 96}, "external", {"tile_n": 32}, (8, 4))


def said(case: Case, emulator, rtol=1.6e-2, atol=1.5e-3, fault=None) -> tuple[int, list[str]]:
    out = io.StringIO()
    status = run_case(case, emulator, rtol, atol, out, fault and faults.parse(fault))
    return status, out.getvalue().splitlines()


def two_outputs(case: Case) -> Iterator[Block]:
    ones = np.ones((2, 3), np.float32)
    for row in (0, 2):
        yield Block(out=ones, ref=ones, output=0, row=row)
        yield Block(out=ones * 2, ref=ones, output=1, row=row)


def flat(case: Case) -> Iterator[Block]:
    ref = np.linspace(1, 2, 4, dtype=np.float32).reshape(-1, 1)
    for row in (0, 4):
        yield Block(out=ref * np.float32(1.5), ref=ref, row=row)


def test_a_passing_run_speaks_the_dialect() -> None:
    status, lines = said(SMALL, gemm.f32_out, atol=4e-3)
    assert status == 0
    assert lines[:2] == HEAD
    assert lines[4:] == ["PASS!"]
    found = PRECISION.fullmatch(lines[2])
    assert found
    assert found[1] == "0"
    assert found[2] == str(64 * 96)
    assert re.fullmatch(r"9\.\d{3}e-03", found[3])
    assert (found[6], found[7]) == ("1.6e-02", "4.0e-03")
    assert re.fullmatch(r"\[reference\] Output 0: zero_share=9\.\d{3}e-01", lines[3])


def test_its_precision_line_has_the_form_of_the_hardware_harness() -> None:
    log = shared("harness_logs/01-pass-gemm-drain.txt").read_text()
    (line,) = (line for line in log.splitlines() if line.startswith("[precision]"))
    assert PRECISION.fullmatch(line)


def test_a_failing_run_lists_what_is_wrong() -> None:
    status, lines = said(SMALL, gemm.f32_out, fault="zeros")
    assert status == 255
    assert lines[4] == "ERROR: Output 0 does not meet expected output."
    assert lines[5] == "Shape: (64, 96)"
    assert re.fullmatch(r"Mismatches: \d+ / 6144 elements \(9\d\.\d\d%\)", lines[6])
    assert lines[7] == "First 20 mismatched locations:"
    pattern = r"  Index \(0, \d+\): expected=-?\d\S*, actual=0\.0, diff=\d\S*"
    assert all(re.fullmatch(pattern, line) for line in lines[8:28])
    assert re.fullmatch(r"  \.\.\. and \d+ more mismatches", lines[28])
    assert lines[29:] == ["failed."]


def test_few_mismatches_are_all_listed() -> None:
    _, lines = said(SMALL, gemm.f32_out, atol=4e-3, fault="inf")
    assert lines[7] == "First 1 mismatched locations:"
    assert lines[8].startswith("  Index (0, 0): expected=")
    assert lines[8].endswith("actual=inf, diff=inf")
    assert lines[9:] == ["failed."]


def test_a_nan_is_printed_as_one() -> None:
    _, lines = said(SMALL, gemm.f32_out, fault="nan")
    assert "mean_rel_L1=nan | rel_err max=nan | abs_err max=nan" in lines[2]
    assert lines[-1] == "failed."


def test_each_output_has_its_lines_and_one_failing_fails_the_run() -> None:
    status, lines = said(SMALL, two_outputs)
    assert status == 255
    assert [PRECISION.match(line)[1] for line in lines if PRECISION.match(line)] == ["0", "1"]
    assert "ERROR: Output 1 does not meet expected output." in lines
    assert "ERROR: Output 0 does not meet expected output." not in lines
    assert "Shape: (4, 3)" in lines


def test_a_flat_output_has_a_flat_shape() -> None:
    _, lines = said(SMALL, flat)
    assert "Shape: (8,)" in lines
    assert any(
        line.startswith("  Index (4,): expected=1.0, actual=1.5, diff=0.5") for line in lines
    )


def test_no_output_at_all_does_not_pass() -> None:
    assert said(SMALL, lambda case: iter(())) == (255, [*HEAD, "No outputs to validate."])


@pytest.mark.parametrize("fault", ["unwritten", "dropped-k", "zeros", "nan", "inf"])
def test_a_fault_in_the_values_never_passes(fault: str) -> None:
    status, lines = said(SMALL, gemm.f32_out, atol=4e-3, fault=fault)
    assert status == 255
    assert "PASS!" not in lines


def test_a_loose_tolerance_is_printed_as_it_is_gated() -> None:
    status, lines = said(SMALL, gemm.f32_out, atol=1e-9, fault="loose-tolerance")
    assert (status, lines[-1]) == (0, "PASS!")
    assert lines[2].endswith("rtol=2.0e-01 atol=5.0e-01")
    assert said(SMALL, gemm.f32_out, atol=1e-9)[0] == 255


def test_an_early_exit_says_nothing_of_a_verdict() -> None:
    assert said(SMALL, gemm.f32_out, fault="exit") == (3, HEAD)


def test_a_torn_run_ends_in_the_middle_of_the_precision_line() -> None:
    status, lines = said(SMALL, gemm.f32_out, fault="torn")
    assert (status, lines[:2]) == (0, HEAD)
    (torn,) = lines[2:]
    assert torn.startswith("[precision] Output 0")
    assert not PRECISION.match(torn)
