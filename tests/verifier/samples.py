"""Logs in the harness dialect, and short ways to read and judge them."""

from __future__ import annotations

from typing import Any

from registry_tool.records.verdict import Band
from registry_tool.verifier.logs.harness_log import parse
from registry_tool.verifier.logs.judge import Judgement, judge
from registry_tool.verifier.logs.request import Request

ELEMENTS = 2097152
DEVICE = b"Detected NPU device: npu2\n"
LATENCY = b"Latency (us): 868.4 | Throughput: 4.945846e+03 GFLOP/s\n"
PRECISION = (
    b"[precision] Output 0 (2097152 elements): mean_rel_L1=9.402e-03 | rel_err max=3.118e+03 | "
    b"abs_err max=8.240e-04 | rtol=1.6e-02 atol=1.5e-03\n"
)
PASS = b"PASS!\n"
LOG = b"mkdir -p build_peano\n" + DEVICE + LATENCY + PRECISION + PASS
EMULATED = (
    b"Emulated target npu2-emu: numerics of the kernels in NumPy, not a device run.\n"
    b"Detected NPU device: npu2-emu\n" + PRECISION + b"[reference] Output 0: zero_share=9.876e-01\n"
    b"PASS!\n"
)
REQUEST = Request(
    elements=(ELEMENTS,),
    outputs=1,
    rtol=0.016,
    atol=0.0015,
    target="npu2",
    band=Band(low=0.008, high=0.011),
)


def precision(index: int = 0, elements: int = ELEMENTS, mean: str = "9.402e-03") -> bytes:
    """A precision line of another output, or with another figure."""
    return (
        PRECISION.replace(b"Output 0", b"Output %d" % index)
        .replace(b"2097152", b"%d" % elements)
        .replace(b"9.402e-03", mean.encode())
    )


def judged(
    log: bytes, exit_status: int | None = 0, timed_out: bool = False, **request: Any
) -> Judgement:
    """The judgement of ``log``, by default asked for what `LOG` answers."""
    from dataclasses import replace

    return judge(parse(log), exit_status, timed_out, replace(REQUEST, **request))


def status(log: bytes, exit_status: int | None = 0, **request: Any) -> str:
    """Only its status."""
    return judged(log, exit_status, **request).status
