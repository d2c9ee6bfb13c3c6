"""Stand-in for the half-split RoPE harness."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from air_standin import Kernel, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="rope_halfsplit.py", description=__doc__)
    parser.add_argument("-p", "--print-module-only", action="store_true")
    parser.add_argument("--rows", type=int, default=65536)
    parser.add_argument("--head-dim", type=int, default=64)
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
    assert args.head_dim % 16 == 0, "head_dim must be divisible by 16"
    assert args.rows % (args.herd_x * args.herd_y) == 0, "rows must be divisible by the tiles"
    values = args.rows * args.head_dim
    return run(
        args,
        Kernel(
            name="RoPE_bf16",
            shape={"rows": args.rows, "head_dim": args.head_dim},
            herd=(args.herd_x, args.herd_y),
            flops=3.0 * values,
            moved=6.0 * values,
            objects={"rope.o": {}},
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
