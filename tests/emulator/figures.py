"""How emulated figures are measured and held against recorded ones."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal

from registry_tool.emulator.case import Case, EmulatorFunction
from registry_tool.emulator.compare import Comparison, ComparisonResult

BUDGET_MB = 600


def measure(
    emulator: EmulatorFunction,
    shape: Mapping[str, int],
    rtol: float = 1.6e-2,
    atol: float = 5e-2,
    variant: str | None = None,
    tile: Mapping[str, int] | None = None,
    dropped_k: float = 0.0,
) -> ComparisonResult:
    """Run a kernel at its full shape, with the harness's own draws, and compare everything."""
    comparison = Comparison(rtol, atol)
    for block in emulator(Case("kernel", shape, variant, tile or {}, (), dropped_k)):
        comparison.add(block)
    return comparison.result()


def agrees(measured: float, recorded: str, within: float = 0.015) -> bool:
    """Within the given share, or half a unit of the last digit that was recorded."""
    value = Decimal(recorded)
    half_unit = Decimal(1).scaleb(int(value.as_tuple().exponent)) / 2
    return abs(Decimal(measured) - value) <= max(half_unit, value * Decimal(str(within)))


def in_a_child(emulator: str, shape: Mapping[str, int], *options: str) -> tuple[float, float]:
    """mean_rel_L1, and the peak resident memory (MB), of a run in a process of its own."""
    # Not ru_maxrss: that of a child starts at what its parent held when it was forked.
    code = (
        "import sys\n"
        "from registry_tool.emulator.__main__ import main\n"
        "assert main(sys.argv[1:]) in (0, 255)\n"
        "(peak,) = (line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(int(peak.split()[1]) / 1024)\n"
    )
    words = [f"{name}={size}" for name, size in shape.items()]
    arguments = ["kernel", *words, "--emulator", emulator, "--rtol", "0.016", "--atol", "0.05"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments, *options],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"mean_rel_L1=(\S+)", done.stdout)
    assert found
    return float(found[1]), float(done.stdout.splitlines()[-1])
