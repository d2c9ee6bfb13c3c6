"""Stand-in for the element-wise add harness."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from air_standin import Kernel, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="eltwise_add.py", description=__doc__)
    parser.add_argument("--print-ir", action="store_true")
    parser.add_argument("--shape", type=int, nargs="+", default=[1024, 1024])
    parser.add_argument("--tile", type=int, default=1024)
    parser.add_argument("--vector-size", type=int, default=16)
    parser.add_argument("--dtype", choices=["bf16"], default="bf16")
    parser.add_argument("--herd-shape", type=int, nargs="+", default=[8, 1])
    parser.add_argument("--target", choices=["npu1", "npu2"], default="npu2")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--output-format", choices=["xclbin", "elf"], default="xclbin")
    parser.add_argument("--perf-iters", type=int, default=0, help="time over this many runs")
    parser.add_argument("--compile-only", action="store_true")
    args = parser.parse_args()
    if args.perf_iters < 0:
        parser.error("--perf-iters must be >= 0")
    n = math.prod(args.shape)
    print(f"Eltwise add shape={tuple(args.shape)} dtype={args.dtype}")
    return run(
        args,
        Kernel(
            name="EltwiseAdd_bf16",
            shape={"N": n},
            tile={"tile": args.tile},
            herd=tuple(args.herd_shape),
            flops=float(n),
            moved=6.0 * n,
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
