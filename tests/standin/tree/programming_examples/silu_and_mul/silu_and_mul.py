"""Stand-in for the SwiGLU activation harness."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from air_standin import Kernel, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="silu_and_mul.py", description=__doc__)
    parser.add_argument("-p", "--print-module-only", action="store_true")
    parser.add_argument("--n", type=int, default=65536)
    parser.add_argument("--tile-n", type=int, default=1024)
    parser.add_argument("--herd-x", type=int, default=8)
    parser.add_argument("--herd-y", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--output-format", choices=["xclbin", "elf"], default="xclbin")
    parser.add_argument("--perf-iters", type=int, default=0, help="time over this many runs")
    parser.add_argument(
        "--compile-mode",
        choices=["compile-only", "compile-and-run"],
        default="compile-and-run",
    )
    args = parser.parse_args()
    if args.perf_iters < 0:
        parser.error("--perf-iters must be >= 0")
    return run(
        args,
        Kernel(
            name="SiLU_Mul_bf16",
            shape={"N": args.n},
            tile={"tile_n": args.tile_n},
            herd=(args.herd_x, args.herd_y),
            moved=6.0 * args.n,
            objects={"silu_and_mul.o": {}},
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
