"""Stand-in for the GEMM harness, bf16 in and bf16 out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

from air_standin import Kernel, run

METHODS = ("auto", "fused-cast", "drain")
LARGE = 4e9


def main() -> int:
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    parser.add_argument("-p", "--print-module-only", action="store_true")
    parser.add_argument("--arch", choices=["aie2", "aie2p"], default="aie2p")
    parser.add_argument("--high-precision", choices=["true", "false"], default="true")
    parser.add_argument("--method", choices=METHODS, default="auto")
    parser.add_argument("--m", type=int, required=True)
    parser.add_argument("--k", type=int, required=True)
    parser.add_argument("--n", type=int, required=True)
    parser.add_argument("--tile-m", type=int, required=True)
    parser.add_argument("--tile-k-l2", type=int, required=True)
    parser.add_argument("--tile-k-l1", type=int, required=True)
    parser.add_argument("--tile-n", type=int, required=True)
    parser.add_argument("--herd-m", type=int, required=True)
    parser.add_argument("--herd-n", type=int, required=True)
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
    m, k, n = args.m, args.k, args.n
    assert m % (args.tile_m * args.herd_m) == 0, (m, args.tile_m, args.herd_m)
    assert k % args.tile_k_l2 == 0, (k, args.tile_k_l2)
    assert args.tile_k_l2 % args.tile_k_l1 == 0, (args.tile_k_l2, args.tile_k_l1)
    if args.high_precision == "false":
        variant = "direct"
    elif args.method == "auto":
        variant = "fused-cast" if m * k * n >= LARGE else "drain"
    else:
        variant = args.method
    defines = {"DIM_M": args.tile_m, "DIM_K": args.tile_k_l1, "DIM_N": args.tile_n}
    return run(
        args,
        Kernel(
            name="GEMM_bf16_in_bf16_out",
            shape={"M": m, "K": k, "N": n},
            variant=variant,
            tile={
                "tile_m": args.tile_m,
                "tile_k_l2": args.tile_k_l2,
                "tile_k_l1": args.tile_k_l1,
                "tile_n": args.tile_n,
            },
            herd=(args.herd_m, args.herd_n),
            flops=2.0 * m * k * n,
            moved=2.0 * (m * k + k * n + m * n),
            throughput=True,
            objects={} if variant == "direct" else {"mm.o": defines},
            # Columns past the last whole tile stay unwritten, and nothing says so.
            spoilt="unwritten" if n % (args.tile_n * args.herd_n) else None,
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
