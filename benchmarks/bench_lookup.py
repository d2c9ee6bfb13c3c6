"""gemm_config, an indexed lookup, beside a linear scan over the same JSON: time for each hit.

And what importing a registry's shim costs, beside an empty interpreter in the same run.

python benchmarks/bench_lookup.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from registry_tool import registry_lookup
from registry_tool.registry_lookup import Lookup
from registry_tool.tables import shim

BUDGET_US = 0.5
# The scan took 4.1 us on the machine that the budget was set on.
RATIO = 4.1 / BUDGET_US
IMPORT_BUDGET_MS = 5.0
# An empty interpreter takes 10 ms on the machine that the budget was set on.
IMPORT_RATIO = 1 + IMPORT_BUDGET_MS / 10
SIZES = (76, 10_000)


def document(shapes: int) -> dict[str, Any]:
    """A GEMM page of ``shapes`` measured shapes, as `registry-tool render` writes it."""
    tile = {"tile_m": 64, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128}
    method = {"tile": tile, "gflops": 8898.0, "mean_rel_L1": 0.0097, "tier": "high"}
    return {
        "kernel": "GEMM",
        "output_dtype": "bf16",
        "target": "npu2",
        "metric": "gflops",
        "dims": ["M", "K", "N"],
        "variants": ["fused-cast"],
        "herd": [8, 4],
        "shapes": [
            {
                "M": 2048,
                "K": 64 * (1 + at),
                "N": 2048,
                "methods": {"fused-cast": method},
                "best": {"high": "fused-cast"},
            }
            for at in range(shapes)
        ],
    }


def scan(page: dict[str, Any], m: int, k: int, n: int, precision: str = "high") -> dict[str, Any]:
    """What a reader without an index does: look at one shape after the other."""
    for entry in page["shapes"]:
        if (entry["M"], entry["K"], entry["N"]) == (m, k, n):
            name = entry["best"][precision]
            method = entry["methods"][name]
            return {
                "method": name,
                "tile": dict(method["tile"]),
                "gflops": method["gflops"],
                "mean_rel_L1": method["mean_rel_L1"],
            }
    raise KeyError((m, k, n))


def best_us(call: str, names: Mapping[str, object], repeat: int = 9) -> float:
    """The fastest of some repetitions of ``call``, microseconds each."""
    timer = timeit.Timer(call, globals=dict(names))
    number, _ = timer.autorange()
    number = max(1, number // 4)
    return min(timer.repeat(repeat, number)) / number * 1e6


def seconds(code: str) -> float:
    """Wall time of a fresh interpreter that runs ``code``."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
    return time.perf_counter() - started


def import_cost(rounds: int = 31) -> tuple[float, float]:
    """An empty interpreter, and one that imports a registry's shim as well: s, each the fastest.

    The two are started in turns, so that both meet the same machine.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "registry_lookup.py").write_bytes(shim.source())
        # Every interpreter that is not told otherwise has imported os by itself.
        empty = f"import os, sys; sys.path.insert(0, {folder!r})"
        importing = f"{empty}; import registry_lookup"
        seconds(importing)  # writes the bytecode that every later import reads
        pairs = [(seconds(empty), seconds(importing)) for _ in range(rounds)]
    return min(one for one, _ in pairs), min(other for _, other in pairs)


def main() -> None:
    """Print the table."""
    print(f"{'shapes':>7}  {'gemm_config us':>14}  {'linear scan us':>14}  {'ratio':>7}")
    for size in SIZES:
        page = document(size)
        middle = page["shapes"][size // 2]
        m, k, n = middle["M"], middle["K"], middle["N"]
        with tempfile.TemporaryDirectory() as folder:
            details = Path(folder, "details")
            details.mkdir()
            (details / "GEMM_bf16_in_bf16_out.json").write_text(json.dumps(page))
            registry_lookup.use(folder)
            assert registry_lookup.gemm_config(m, k, n) == scan(page, m, k, n)
            assert Lookup(folder).gemm_config(m, k, n) == scan(page, m, k, n)
            sizes = f"{m}, {k}, {n}"
            ours = best_us(f"find({sizes})", {"find": registry_lookup.gemm_config})
            theirs = best_us(f"scan(page, {sizes})", {"scan": scan, "page": page})
        print(f"{size:>7}  {ours:>14.3f}  {theirs:>14.1f}  {theirs / ours:>6.0f}x")
    print(f"budget: {BUDGET_US} us, and {RATIO:.0f}x the scan of {SIZES[0]}, whatever the size")
    empty, importing = import_cost()
    print(
        f"import: {(importing - empty) * 1e3:.1f} ms beyond an empty interpreter's "
        f"{empty * 1e3:.1f} ms, {importing / empty:.2f}x (budget {IMPORT_BUDGET_MS} ms, "
        f"{IMPORT_RATIO:.2f}x)"
    )


if __name__ == "__main__":
    main()
