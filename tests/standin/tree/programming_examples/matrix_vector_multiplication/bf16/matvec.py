"""Stand-in for the GEMV harness."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

from air_standin import Kernel, run

L2_BYTES = 512 * 1024


def main() -> int:
    parser = argparse.ArgumentParser(prog="matvec.py", description=__doc__)
    parser.add_argument("-p", "--print-module-only", action="store_true")
    parser.add_argument("--debug-ir", action="store_true")
    parser.add_argument("--m", type=int, default=2048)
    parser.add_argument("--k", type=int, default=8192)
    parser.add_argument("--tile-m", "--tile-m-l2", type=int, default=4, dest="tile_m")
    parser.add_argument("--m-input", type=int, default=1)
    parser.add_argument("--herd-m", type=int, default=4)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--output-format", choices=["xclbin", "elf"], default="xclbin")
    parser.add_argument("--perf-iters", type=int, default=0, help="time over this many runs")
    parser.add_argument(
        "--compile-mode",
        choices=["compile-and-xclbin", "compile-and-run"],
        default="compile-and-run",
    )
    args = parser.parse_args()
    if args.perf_iters < 0:
        parser.error("--perf-iters must be >= 0")
    m, k, rows = args.m, args.k, args.tile_m * args.herd_m
    assert m % rows == 0, f"M ({m}) must be divisible by tile_m * herd_m ({rows})"
    assert args.tile_m % args.m_input == 0, "tile_m must be divisible by m_input"
    a, c = rows * k * 2, rows * 2
    assert a + c <= L2_BYTES, (
        f"L2 capacity exceeded: A={a}B + C={c}B = {a + c}B > {L2_BYTES}B. "
        f"Reduce herd_m ({args.herd_m}), tile_m ({args.tile_m}), or k ({k})."
    )
    return run(
        args,
        Kernel(
            name="GEMV_bf16",
            shape={"M": m, "K": k},
            tile={"tile_m": args.tile_m, "m_input": args.m_input},
            herd=(args.herd_m,),
            flops=2.0 * m * k,
            moved=2.0 * (m * k + m + k),
            throughput=True,
            objects={"mv.o": {"DIM_M_OUTPUT": args.tile_m}},
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
