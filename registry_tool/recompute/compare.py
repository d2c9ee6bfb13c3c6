"""How far a second run may be from a verdict; pure functions of figures.

Two machines do not multiply alike: a BLAS picks its kernels by the CPU, and sums come out in
another order. What is counted must agree exactly, averages closely, a largest error loosely; the
largest relative error is that of one element near zero, and is not compared at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from registry_tool.records.verdict import Output

MEAN_SHARE = 0.005
"""Largest relative difference of mean_rel_L1."""
MEAN_FLOOR = {"GEMV_bf16": 1e-5}
"""Largest absolute difference of mean_rel_L1, where that is more: so few elements of a GEMV flip
to the neighbouring bf16 value that one more or less is above the share."""
MAX_ABS_SHARE = 0.05
"""Largest relative difference of max_abs."""
SAME_DRAWS = 0.001
"""Largest difference of an emulation's zero-output share: printed to four digits."""
ZERO_SHARE = 0.02
"""Largest difference between the zero-output share of a harness's inputs and of the emulation's:
they are drawn alike, not equal."""


def differences(kernel: str, said: Sequence[Output], found: Sequence[Output]) -> Iterator[str]:
    """What the outputs of a second run say otherwise than a verdict of ``kernel``."""
    before, now = ({output.index: output for output in side} for side in (said, found))
    for index in sorted({*before, *now}):
        if index not in now:
            yield f"output {index} is not there any more"
        elif index not in before:
            yield f"output {index} is not in the verdict"
        else:
            for words in _of_output(kernel, before[index], now[index]):
                yield f"output {index}: {words}"


def _of_output(kernel: str, said: Output, found: Output) -> Iterator[str]:
    if said.elements != found.elements:
        yield f"{said.elements} elements in the verdict, {found.elements} now"
    floor = MEAN_FLOOR.get(kernel, 0.0)
    for name, share, least in (
        ("mean_rel_L1", MEAN_SHARE, floor),
        ("max_abs", MAX_ABS_SHARE, 0.0),
    ):
        was, now = getattr(said, name), getattr(found, name)
        if not _close(was, now, share, least):
            allowed = f"{share:.1%}" + (f" or {least:g}" if least else "")
            yield f"{name} is {was} in the verdict, {now} now (allowed: {allowed})"


def _close(was: float | None, now: float | None, share: float, least: float) -> bool:
    if was is None or now is None:
        return was is now
    return abs(was - now) <= max(share * abs(now), least)
