"""The judge of arrays: one pass over an output and its reference, in blocks; prints nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry_tool.emulator import streams
from registry_tool.emulator.case import Block

STRIP = 1 << 17
"""Elements compared at once: three buffers of this size (1.5 MiB) stay near the core."""
LISTED = 20
"""Mismatches whose place and values are kept."""

Array = NDArray[Any]
Flags = NDArray[np.bool_]

# A float32 test may err by a few units in the last place. What comes this near the limit is
# tested again in float64, so that the verdict is the one of exact arithmetic.
_NEAR = 1.0 - 2.0**-20
_RETESTED = 1 << 14  # at once: an output that is wrong everywhere costs no more memory


@dataclass(frozen=True)
class Mismatch:
    """One element out of tolerance; ``index`` as NumPy would index the whole output."""

    index: tuple[int, ...]
    expected: float
    actual: float

    @property
    def difference(self) -> float:
        """|actual - expected|."""
        return abs(self.actual - self.expected)


@dataclass(frozen=True)
class ComparisonResult:
    """What the comparison of one output found.

    ``mean_rel_L1`` is sum|out - ref| / sum|ref|; ``max_rel`` leaves out elements whose reference
    is zero; these two and ``max_abs`` are NaN or infinite where the output or reference is.
    ``zero_share`` is the share of elements that an all-zero output would fail: at 0 the element
    test is blind.
    """

    rtol: float
    atol: float
    elements: int
    mismatches: int
    mean_rel_L1: float
    max_abs: float
    max_rel: float
    zero_share: float
    first: tuple[Mismatch, ...]

    @property
    def passed(self) -> bool:
        """Every element is finite and within tolerance, and there is at least one."""
        return self.elements > 0 and self.mismatches == 0


class Comparison:
    """Accumulates blocks of one output: |out - ref| <= atol + rtol |ref| for every element.

    NaN and infinities never pass, on either side: the naive test lets any finite value pass
    against an infinite reference. Sums are kept in float64; within a strip they are NumPy's
    pairwise sums, which err by less than 1e-6 even in float32.
    """

    def __init__(self, rtol: float, atol: float) -> None:
        self.rtol = float(rtol)
        self.atol = float(atol)
        # |ref| > atol + rtol |ref|, solved for |ref|
        self._zero_fails_above = self.atol / (1.0 - self.rtol) if self.rtol < 1.0 else np.inf
        self._elements = 0
        self._mismatches = 0
        self._zero_failures = 0
        self._error_sum = 0.0
        self._reference_sum = 0.0
        self._max_abs = 0.0
        self._max_rel = 0.0
        self._first: list[Mismatch] = []

    def add(self, block: Block) -> None:
        """Take in a block of rows; a block one column wide is a part of a flat output."""
        columns = block.out.shape[1]
        whole = (0,) if columns == 1 else (0, columns)  # the first extent plays no part in an index
        self._take(_Pair(block.out, block.ref), range(block.out.size), whole, block.row * columns)

    def merge(self, later: Comparison) -> None:
        """Take in what was found in a later part of the same output."""
        self._elements += later._elements
        self._mismatches += later._mismatches
        self._zero_failures += later._zero_failures
        self._error_sum += later._error_sum
        self._reference_sum += later._reference_sum
        self._max_abs = _larger(self._max_abs, later._max_abs)
        self._max_rel = _larger(self._max_rel, later._max_rel)
        self._first = (self._first + later._first)[:LISTED]

    def result(self) -> ComparisonResult:
        """What was found so far."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = float(np.divide(self._error_sum, self._reference_sum))
        return ComparisonResult(
            rtol=self.rtol,
            atol=self.atol,
            elements=self._elements,
            mismatches=self._mismatches,
            mean_rel_L1=0.0 if self._error_sum == 0.0 else ratio,
            max_abs=self._max_abs,
            max_rel=self._max_rel,
            zero_share=self._zero_failures / self._elements if self._elements else 0.0,
            first=tuple(self._first),
        )

    def _take(self, pair: _Pair, span: range, whole: tuple[int, ...], offset: int) -> None:
        buffers = np.empty((3, min(STRIP, len(span))), pair.dtype)
        flags = np.empty(buffers.shape[1], dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for start in range(span.start, span.stop, STRIP):
                out, ref = pair.strip(start, min(start + STRIP, span.stop))
                if self._strip(out, ref, buffers[:, : out.size], flags[: out.size]):
                    places = np.flatnonzero(flags[: out.size])
                    for part in range(0, len(places), _RETESTED):
                        some = places[part : part + _RETESTED]
                        self._retest(some, out, ref, whole, offset + start)

    def _strip(self, out: Array, ref: Array, buffers: Array, flags: Flags) -> bool:
        """Account for one strip; whether any place is flagged to be tested again in float64.

        Written for speed: what NumPy's convenience functions add per call is a third of it all.
        """
        error, magnitude, spare = buffers
        np.subtract(out, ref, out=error)
        np.absolute(error, out=error)
        np.absolute(ref, out=magnitude)
        largest = float(np.maximum.reduce(error))
        self._elements += out.size
        self._error_sum += _sum(error)
        self._reference_sum += _sum(magnitude)
        self._max_abs = _larger(self._max_abs, largest)
        np.greater(magnitude, self._zero_fails_above, out=flags)
        self._zero_failures += int(np.count_nonzero(flags))

        np.divide(error, magnitude, out=spare)
        quotient = float(np.maximum.reduce(spare))
        # The one term of the limit or the other lets everything pass (a zero reference: no).
        settled = largest <= self.atol * _NEAR or quotient <= self.rtol * _NEAR
        if not math.isfinite(quotient):  # a zero reference, or too large for float32
            np.logical_not(np.isfinite(spare, out=flags), out=flags)
            np.copyto(spare, 0.0, where=flags)
            flags &= magnitude != 0.0
            exact = error[flags].astype(np.float64) / magnitude[flags].astype(np.float64)
            quotient = float(np.maximum.reduce(spare))
            quotient = _larger(quotient, float(np.maximum.reduce(exact, initial=0.0)))
        self._max_rel = _larger(self._max_rel, quotient)

        if settled:
            return False
        np.multiply(magnitude, self.rtol * _NEAR, out=spare)
        np.add(spare, self.atol * _NEAR, out=spare)
        np.greater(error, spare, out=flags)
        if not math.isfinite(largest):
            flags |= ~(np.isfinite(out) & np.isfinite(ref))
        return bool(flags.any())

    def _retest(
        self, places: Array, out: Array, ref: Array, whole: tuple[int, ...], offset: int
    ) -> None:
        actual, expected = out[places].astype(np.float64), ref[places].astype(np.float64)
        limit = self.atol + self.rtol * np.abs(expected)
        within = (np.abs(actual - expected) <= limit) & np.isfinite(actual) & np.isfinite(expected)
        failed = np.flatnonzero(~within)
        self._mismatches += len(failed)
        for place in failed[: LISTED - len(self._first)]:
            index = _index(offset + int(places[place]), whole)
            self._first.append(Mismatch(index, float(expected[place]), float(actual[place])))


def compare(out: Array, ref: Array, rtol: float, atol: float) -> ComparisonResult:
    """Compare whole arrays of any shape and float dtype, without copying them, on all cores."""
    pair = _Pair(out, ref)

    def work(span: range) -> Comparison:
        part = Comparison(rtol, atol)
        part._take(pair, span, ref.shape, 0)
        return part

    share = max(STRIP, -(-out.size // streams.cores()))
    spans = (range(n, min(n + share, out.size)) for n in range(0, out.size, share))
    total = Comparison(rtol, atol)
    for part in streams.mapped(work, spans):
        total.merge(part)
    return total.result()


class _Pair:
    """An output and its reference as strips of equal type, in C order."""

    def __init__(self, out: Array, ref: Array) -> None:
        if out.shape != ref.shape:
            raise ValueError(f"output {out.shape} and reference {ref.shape} differ in shape")
        narrow = all(a.dtype.kind == "f" and a.dtype.itemsize <= 4 for a in (out, ref))
        self.dtype = np.dtype(np.float32 if narrow else np.float64)
        self._sides = [a.reshape(-1) if a.flags.c_contiguous else a.flat for a in (out, ref)]

    def strip(self, start: int, stop: int) -> tuple[Array, Array]:
        """The elements from ``start`` to ``stop``: views where type and layout allow it."""
        out, ref = (np.asarray(side[start:stop], self.dtype) for side in self._sides)
        return out, ref


def _sum(strip: Array) -> float:
    total = float(np.add.reduce(strip))
    return total if math.isfinite(total) else float(np.add.reduce(strip, dtype=np.float64))


def _larger(seen: float, new: float) -> float:
    """The larger of two figures; a NaN wins and stays."""
    return new if new > seen or math.isnan(new) else seen


def _index(position: int, whole: tuple[int, ...]) -> tuple[int, ...]:
    """The index of a flat position in C order."""
    index: list[int] = []
    for extent in reversed(whole[1:]):
        position, within = divmod(position, extent)
        index.append(within)
    return (position, *reversed(index)) if whole else ()
