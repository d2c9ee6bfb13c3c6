"""Stand-in for the GELU harness."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from air_standin import Kernel, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="gelu.py", description=__doc__)
    parser.add_argument("-p", "--print-module-only", action="store_true")
    parser.add_argument("--n", type=int, default=65536)
    parser.add_argument("--tile-n", type=int, default=1024)
    parser.add_argument("--herd-shape", type=int, nargs=2, default=[1, 2])
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--output-format", choices=["xclbin", "elf"], default="xclbin")
    parser.add_argument("--perf-iters", type=int, default=0, help="time over this many runs")
    parser.add_argument("--compile-only", action="store_true")
    args = parser.parse_args()
    if args.perf_iters < 0:
        parser.error("--perf-iters must be >= 0")
    return run(
        args,
        Kernel(
            name="GELU_bf16",
            shape={"N": args.n},
            tile={"tile_n": args.tile_n},
            herd=tuple(args.herd_shape),
            moved=4.0 * args.n,
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
