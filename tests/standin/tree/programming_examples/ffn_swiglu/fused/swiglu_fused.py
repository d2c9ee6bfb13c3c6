"""Stand-in for the harness of the fused SwiGLU block."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

from air_standin import Kernel, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="swiglu_fused.py", description=__doc__)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("-p", "--print-module-only", action="store_true")
    parser.add_argument("--m", type=int, default=512)
    parser.add_argument("--k", type=int, default=512)
    parser.add_argument("--n", type=int, default=512)
    parser.add_argument("--tile-m", type=int, default=64)
    parser.add_argument("--tile-k-l2", type=int, default=256)
    parser.add_argument("--tile-k-l1", type=int, default=32)
    parser.add_argument("--tile-n", type=int, default=64)
    parser.add_argument("--herd-m", type=int, default=4)
    parser.add_argument("--herd-n", type=int, default=4)
    parser.add_argument(
        "--compile-mode",
        choices=["compile-only", "compile-and-run", "profile"],
        default="compile-and-run",
    )
    parser.add_argument("--output-format", choices=["xclbin", "elf", "none"], default="xclbin")
    args = parser.parse_args()
    m, k, n = args.m, args.k, args.n
    assert m % (args.tile_m * args.herd_m) == 0, (m, args.tile_m, args.herd_m)
    assert n % (args.tile_n * args.herd_n) == 0, (n, args.tile_n, args.herd_n)
    assert k % args.tile_k_l2 == 0, (k, args.tile_k_l2)
    return run(
        args,
        Kernel(
            name="FFN_SwiGLU_bf16",
            shape={"M": m, "K": k, "N": n},
            tile={
                "tile_m": args.tile_m,
                "tile_k_l2": args.tile_k_l2,
                "tile_k_l1": args.tile_k_l1,
                "tile_n": args.tile_n,
            },
            herd=(args.herd_m, args.herd_n),
            flops=4.0 * m * k * n + 9.0 * m * n,
            moved=2.0 * (m * k + 2 * k * n + m * n),
            objects={
                "swiglu_fused.o": {
                    "DIM_M": args.tile_m,
                    "DIM_K": args.tile_k_l1,
                    "DIM_N": args.tile_n,
                }
            },
            compares_timed=False,
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
