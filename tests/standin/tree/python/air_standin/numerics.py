"""The verdict lines of a run, from the emulation of the kernel, in a process of its own."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from air_standin import ledger


def verdict_lines(
    kernel: str,
    shape: Mapping[str, int],
    variant: str | None,
    tile: Mapping[str, int],
    herd: Sequence[int],
    inject: str | None,
) -> tuple[list[str], int]:
    """Precision lines and verdict as the harness prints them, and its exit status (0 or 255).

    Raises SystemExit if the kernel has no emulation or refuses the shape.
    """
    words = [kernel, *(f"{dim}={size}" for dim, size in shape.items())]
    if variant is not None:
        words += ["--variant", variant]
    if tile:
        words += ["--tile", ",".join(f"{knob}={size}" for knob, size in tile.items())]
    words += ["--herd", "x".join(map(str, herd))]
    if inject is not None:
        words += ["--inject", inject]
    text, status = _emulated(words)
    lines = [
        line
        for line in text.splitlines()
        if not line.startswith(("Emulated target", "Detected NPU device", "[reference]"))
    ]
    return lines, status


def _emulated(words: Sequence[str]) -> tuple[str, int]:
    """What the emulator prints for ``words``: it gives the same each time, so it is kept."""
    name = hashlib.sha256("\0".join(words).encode()).hexdigest()[:24]
    kept = Path(ledger.config().get("cache") or ledger.HOME / "cache") / name
    if not kept.is_file():
        done = subprocess.run(
            [sys.executable, "-m", "registry_tool.emulator", *words],
            # Not in the build folder: a file of its there could be taken for a module.
            cwd=ledger.TOP,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 255):
            sys.stderr.write(done.stderr)
            raise SystemExit(1)
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f"{name}.{os.getpid()}")
        part.write_text(f"{done.returncode}\n{done.stdout}", encoding="utf-8")
        part.replace(kept)
    status, _, text = kept.read_text(encoding="utf-8").partition("\n")
    return text, int(status)
