"""Emulated GEMM arithmetic against this machine's sgemm, and the peak memory of each kernel."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from functools import partial

import numpy as np

from benchmarks.bench_judge import Result, fastest, show
from registry_tool.emulator import draws, gemm, numerics
from registry_tool.emulator.__main__ import load_emulator
from registry_tool.emulator.case import Case
from registry_tool.emulator.harness import run_case

LARGE = ((2048, 8192, 2048), (2048, 2048, 8192), (4096, 4096, 4096))

ATTENTION = "num_kv_heads=8 causal=1"
LONGEST = {
    "GEMM 2048x8192x3072": "gemm:bf16_out M=2048 K=8192 N=3072 --variant fused-cast",
    "GEMM 2048x3072x8192": "gemm:bf16_out M=2048 K=3072 N=8192 --variant fused-cast",
    "GEMM 4096x4096x4096": "gemm:f32_out M=4096 K=4096 N=4096",
    "GEMM 2048x18944x3584": "gemm:bf16_out M=2048 K=18944 N=3584 --variant fused-cast",
    "GEMM 2048x3584x18944": "gemm:bf16_out M=2048 K=3584 N=18944 --variant fused-cast",
    "GEMM 2048x2048x8192 direct": "gemm:bf16_out M=2048 K=2048 N=8192 --variant direct",
    "GEMV 16384x3072": "gemv:gemv M=16384 K=3072",
    "GEMV 49152x2048": "gemv:gemv M=49152 K=2048",
    "RMSNorm 2048x3584": "norms:rms_norm M=2048 N=3584",
    "LayerNorm 1024x768": "norms:layer_norm M=1024 N=768",
    "EltwiseAdd 8388608": "elementwise:add N=8388608",
    "SiLU_Mul 22544384": "elementwise:silu_mul N=22544384",
    "GELU 8388608": "elementwise:gelu N=8388608",
    "RoPE 65536x64": "rope:half_split rows=65536 head_dim=64",
    "FlashAttention 2048, 32 heads of 64": "attention:flash lq=2048 lk=2048 dk=64 dv=64 "
    f"num_heads=32 {ATTENTION}",
    "FlashAttention 2048, 32 heads of 128": "attention:flash lq=2048 lk=2048 dk=128 dv=128 "
    f"num_heads=32 {ATTENTION}",
}

# Llama-3.2-1B: prefill at 2048, then decode.
LLAMA = (
    "gemm:bf16_out M=2048 K=2048 N=2048",
    "gemm:bf16_out M=2048 K=2048 N=512",
    "gemm:bf16_out M=2048 K=2048 N=8192",
    "gemm:bf16_out M=2048 K=8192 N=2048",
    "norms:rms_norm M=2048 N=2048",
    "rope:half_split rows=65536 head_dim=64",
    "rope:half_split rows=16384 head_dim=64",
    f"attention:flash lq=2048 lk=2048 dk=64 dv=64 num_heads=32 {ATTENTION}",
    "elementwise:silu_mul N=16777216",
    "elementwise:add N=4194304",
    "gemv:gemv M=2048 K=2048",
    "gemv:gemv M=512 K=2048",
    "gemv:gemv M=8192 K=2048",
    "gemv:gemv M=2048 K=8192",
    "gemv:gemv M=16384 K=2048",
    "norms:rms_norm M=1 N=2048",
    "rope:half_split rows=32 head_dim=64",
    "rope:half_split rows=8 head_dim=64",
)


def _of_sgemm(m: int, k: int, n: int) -> Result:
    rng = np.random.default_rng(0)
    a = numerics.round_rne(rng.standard_normal((m, k), dtype=np.float32))
    b = numerics.round_rne(rng.standard_normal((k, n), dtype=np.float32))
    packed, total = numerics.pack(a), np.zeros((m, n), np.float32)
    spare = [b.copy() for _ in range(3)]  # quantised in place, so each call needs its own

    def emulated() -> None:
        operand = spare.pop()
        for start, stop in draws.spans(k, gemm.panel_depth(n)):
            gemm.add_product(total, packed[:, start:stop], operand[start:stop])

    sgemm, quantised = fastest(lambda: np.matmul(a, b, out=total), emulated)
    name = f"GEMM {m}x{k}x{n}: quantise and multiply, as a share of sgemm"
    return Result(name, 100 * sgemm / quantised, 40, "%", False)


def _quantising() -> list[Result]:
    x = np.random.default_rng(0).standard_normal((4096, 4096), dtype=np.float32)
    sides = {"left": numerics.bfp16_across, "right": numerics.bfp16_down}
    return [
        Result(
            f"BFP16 of a {name} operand",
            x.size / 1e6 / fastest(partial(quantise, x))[0],
            112,
            "M/s",
            False,
        )
        for name, quantise in sides.items()
    ]


# Not ru_maxrss: that of a child starts at what its parent held when it was forked.
_CHILD = """
import sys
from registry_tool.emulator.__main__ import main
status = main(sys.argv[1:])
(peak,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) / 1024)
sys.exit(status % 255)
"""


def _peak(name: str, words: str) -> Result:
    emulator, *rest = words.split()
    gate = ["--rtol", "1.6e-2", "--atol", "1e-1", "--emulator", emulator]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, name.split()[0], *rest, *gate],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - start
    peak = float(done.stdout.splitlines()[-1])
    return Result(f"{name}: peak resident memory ({seconds:.1f} s)", peak, 600, "MB", True)


def _llama() -> Result:
    start = time.perf_counter()
    for words in LLAMA:
        emulator, *dims = words.split()
        shape = {name: int(size) for name, size in (dim.split("=") for dim in dims)}
        run_case(Case(emulator, shape), load_emulator(emulator), 1.6e-2, 1e-1, io.StringIO())
    seconds = time.perf_counter() - start
    return Result(
        f"Llama-3.2-1B: its {len(LLAMA)} shapes, one after the other", seconds, 35, "s", True
    )


def run() -> list[Result]:
    results = [_of_sgemm(*shape) for shape in LARGE]
    results += _quantising()
    results.append(_llama())
    results += [_peak(name, words) for name, words in LONGEST.items()]
    return results


if __name__ == "__main__":
    show(run())
