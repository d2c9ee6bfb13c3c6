"""`python -m benchmarks`: every budget, one after the other."""

from __future__ import annotations

import runpy
import sys

SCRIPTS = (
    "bench_check",
    "bench_judge",
    "bench_emulator",
    "bench_lookup",
    "bench_history",
    "bench_signing",
)


def main() -> int:
    """Run every benchmark script as its own main program."""
    for name in SCRIPTS:
        print(f"\n== {name}", flush=True)
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
