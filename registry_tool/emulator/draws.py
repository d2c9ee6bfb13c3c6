"""The harnesses' random inputs, drawn block by block with their exact seeds and order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry_tool.emulator import numerics
from registry_tool.emulator.numerics import F32, U16

Normals = Callable[[int], NDArray[Any]]
"""Next ``count`` standard normals of a stream; consecutive calls equal one larger call."""

Scale = Callable[[NDArray[Any]], NDArray[Any]]
"""What is done to drawn values, in the precision they were drawn in."""

CHUNK = 1 << 18
"""Values drawn at once: bounds the float64 temporaries to 2 MiB each."""


def legacy(seed: int) -> Normals:
    """``np.random.seed(seed)`` then ``np.random.randn``, without touching the global state."""
    state = np.random.RandomState(seed)
    return lambda count: state.standard_normal(count)


def generator_f32(seed: int) -> Normals:
    """``np.random.default_rng(seed).standard_normal(..., dtype=np.float32)``."""
    rng = np.random.default_rng(seed)
    return lambda count: rng.standard_normal(count, dtype=np.float32)


def generator_f64(seed: int) -> Normals:
    """``np.random.default_rng(seed).standard_normal(...)``."""
    rng = np.random.default_rng(seed)
    return lambda count: rng.standard_normal(count)


def bf16(normals: Normals, shape: tuple[int, ...], scale: Scale | None = None) -> F32:
    """The next values in C order, scaled, cast to bf16 (nearest even) and held as float32."""
    out = np.empty(shape, np.float32)
    flat = out.reshape(-1)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        drawn = normals(part.size)
        np.copyto(part, drawn if scale is None else scale(drawn), casting="same_kind")
        numerics.round_rne(part, out=part)
    return out


def packed(normals: Normals, shape: tuple[int, ...], scale: Scale | None = None) -> U16:
    """As ``bf16``, in half the memory."""
    out = np.empty(shape, np.uint16)
    flat = out.reshape(-1)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        part[:] = numerics.pack(bf16(normals, part.shape, scale))
    return out


def divided_by(divisor: float) -> Scale:
    """Divide in the drawn precision, in place."""
    return lambda drawn: np.divide(drawn, divisor, out=drawn)


def times(factor: float) -> Scale:
    """Multiply in the drawn precision, in place."""
    return lambda drawn: np.multiply(drawn, factor, out=drawn)


def spans(total: int, step: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of consecutive runs of at most ``step``."""
    for start in range(0, total, step):
        yield start, min(start + step, total)
