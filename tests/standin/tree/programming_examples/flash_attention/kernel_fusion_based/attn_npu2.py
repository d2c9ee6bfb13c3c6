"""Stand-in for the flash-attention harness."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

from air_standin import Kernel, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="attn_npu2.py", description=__doc__)
    parser.add_argument("-p", "--print-module-only", action="store_true")
    parser.add_argument("--lk", type=int, default=512)
    parser.add_argument("--lkp", type=int, default=64)
    parser.add_argument("--lq", type=int, default=512)
    parser.add_argument("--lqp", type=int, default=256)
    parser.add_argument("--dk", type=int, default=64)
    parser.add_argument("--dv", type=int, default=64)
    parser.add_argument("--num-heads", type=int, default=2)
    parser.add_argument("--num-kv-heads", type=int, default=2)
    parser.add_argument("--num-q-tiles", type=int, default=4)
    parser.add_argument("--num-cascade-stages", type=int, default=4)
    parser.add_argument("--num-heads-per-unroll", type=int, default=2)
    parser.add_argument("--causal", action="store_true")
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
    assert not args.causal or args.lq == args.lk, "causal masking needs lq == lk"
    scores = args.num_heads * args.lq * args.lk
    moved = (args.num_heads * args.lq + args.num_kv_heads * args.lk) * (args.dk + args.dv)
    return run(
        args,
        Kernel(
            name="FlashAttention_bf16",
            shape={
                "lq": args.lq,
                "lk": args.lk,
                "dk": args.dk,
                "dv": args.dv,
                "num_heads": args.num_heads,
                "num_kv_heads": args.num_kv_heads,
                "causal": int(args.causal),
            },
            tile={
                "lqp": args.lqp,
                "lkp": args.lkp,
                "num_q_tiles": args.num_q_tiles,
                "num_heads_per_unroll": args.num_heads_per_unroll,
                "num_cascade_stages": args.num_cascade_stages,
            },
            herd=(args.num_heads_per_unroll * args.num_q_tiles, args.num_cascade_stages),
            flops=2.0 * scores * (args.dk + args.dv) / (1 + args.causal),
            moved=2.0 * moved,
            throughput=True,
            objects={
                "attn_npu2.o": {"lqp": args.lqp // args.num_q_tiles, "lkp": args.lkp},
            },
            # The loop runs on the buffers of the first run: what is compared after it is spoilt.
            spoilt="unwritten=0.5" if args.perf_iters else None,
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
