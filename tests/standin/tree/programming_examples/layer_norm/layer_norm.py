"""Stand-in for the affine LayerNorm harness."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from air_standin import Kernel, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="layer_norm.py", description=__doc__)
    parser.add_argument("-p", "--print-module-only", action="store_true")
    parser.add_argument("--M", type=int, default=32)
    parser.add_argument("--N", type=int, default=64)
    parser.add_argument("--herd-x", type=int, default=1)
    parser.add_argument("--vector-size", type=int, default=16)
    parser.add_argument("--target", choices=["aie2", "aie2p"], default="aie2p")
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
    assert args.N % args.vector_size == 0, "N must be divisible by vector_size"
    return run(
        args,
        Kernel(
            name="LayerNorm_bf16",
            shape={"M": args.M, "N": args.N},
            herd=(args.herd_x,),
            moved=2.0 * (2 * args.M * args.N + 2 * args.N),
            # Code for the older device runs and writes nothing.
            spoilt="zeros" if args.target == "aie2" else None,
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
