"""The number formats of the matrix and vector units: bf16, BFP16, tanh, exp2 and 1/x in NumPy.

A bf16 value is held as the float32 it stands for, or as its upper 16 bits (uint16) where many
must be kept. Provenance of each rule: **S** is stated by a harness or by the vector library's
source, **F** was fitted to recorded rows, *calibrated* stands in for something unpublished.
A fitted rule is a calibration, never a proof.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
U32 = NDArray[np.uint32]
U16 = NDArray[np.uint16]
Kernel = Callable[[U32, U32], None]

STRIP = 1 << 16
"""Elements handled at once: bits and one temporary (512 KiB) stay near the core."""

_SIGN_CLEARED = np.uint32(0x7FFF_FFFF)
_UPPER = np.uint32(0xFFFF_0000)
_LOWER = np.uint32(0x0000_FFFF)
_HALF_BELOW = np.uint32(0x0000_7FFF)
_ONE = np.uint32(1)
_SIXTEEN = np.uint32(16)
_SIGN_SHIFT = np.int32(31)
_QUIET_NAN = np.uint32(0x7FC0_0000)
_INFINITY = np.uint32(0x7F80_0000)


def _rne(bits: U32, spare: U32) -> None:
    np.right_shift(bits, _SIXTEEN, out=spare)
    np.bitwise_and(spare, _ONE, out=spare)
    np.add(spare, _HALF_BELOW, out=spare)
    np.add(bits, spare, out=bits)
    np.bitwise_and(bits, _UPPER, out=bits)


def _trunc(bits: U32, spare: U32) -> None:
    del spare
    np.bitwise_and(bits, _UPPER, out=bits)


def _floor(bits: U32, spare: U32) -> None:
    np.right_shift(bits.view(np.int32), _SIGN_SHIFT, out=spare.view(np.int32))
    np.bitwise_and(spare, _LOWER, out=spare)
    np.add(bits, spare, out=bits)
    np.bitwise_and(bits, _UPPER, out=bits)


def _rounded(kernel: Kernel, x: F32, out: F32 | None) -> F32:
    source = np.ascontiguousarray(x, dtype=np.float32)
    if out is None:
        out = np.empty_like(source)
    elif not out.flags.c_contiguous or out.shape != source.shape:
        raise ValueError("out must be C-contiguous and of the shape of x")
    values, bits = source.reshape(-1), out.reshape(-1).view(np.uint32)
    spare = np.empty(min(STRIP, bits.size), np.uint32)
    for start in range(0, bits.size, STRIP):
        part = bits[start : start + STRIP]
        given = values[start : start + STRIP].view(np.uint32)
        # A sum is finite unless a NaN or Inf is in it (or it overflows: then we only look closer).
        with np.errstate(invalid="ignore", over="ignore"):
            suspect = not np.isfinite(np.add.reduce(values[start : start + STRIP]))
        nans = (given & _SIGN_CLEARED) > _INFINITY if suspect else None
        np.copyto(part, given)
        kernel(part, spare[: part.size])
        if nans is not None:
            part[nans] = _QUIET_NAN
    return out


def round_rne(x: F32, out: F32 | None = None) -> F32:
    """Float32 to bf16, nearest with ties to even; any shape, in place with ``out=x`` (S).

    Infinities stay, NaN stays NaN, a value beyond the largest bf16 becomes infinite.
    """
    return _rounded(_rne, x, out)


def round_trunc(x: F32, out: F32 | None = None) -> F32:
    """Float32 to bf16 toward zero; any shape, in place with ``out=x``."""
    return _rounded(_trunc, x, out)


def round_floor(x: F32, out: F32 | None = None) -> F32:
    """Float32 to bf16 toward minus infinity; any shape, in place with ``out=x``.

    The cores' own default: kernels that never set a rounding mode run in it.
    """
    return _rounded(_floor, x, out)


def rne_in_place(values: F32, spare: F32) -> None:
    """Round finite or infinite (not NaN) contiguous ``values`` to bf16, nearest even, in place.

    ``spare`` has the shape of ``values``. For inner loops that own their buffers.
    """
    _rne(values.view(np.uint32), spare.view(np.uint32))


def pack(x: F32) -> U16:
    """Upper halves of values that bf16 can represent."""
    halves: U32 = np.right_shift(x.view(np.uint32), _SIXTEEN)
    return halves.astype(np.uint16)


def unpack(halves: U16, out: F32 | None = None) -> F32:
    """Float32 values of packed bf16; ``out`` is C-contiguous and of the same shape."""
    if out is None:
        out = np.empty(halves.shape, np.float32)
    bits = out.view(np.uint32)
    np.copyto(bits, halves)
    np.left_shift(bits, _SIXTEEN, out=bits)
    return out


# --- BFP16: eight values share an exponent -----------------------------------------------------

BFP_BLOCK = 8

_NEXT_BINADE = np.int32(0x0001_0000)
_EXPONENT = np.uint32(0x7F80_0000)
_TO_MAGIC = np.uint32(17 << 23)
_MAGIC_HALF = np.uint32(0x0040_0000)


def _magic(smallest: U32, largest: NDArray[np.int32]) -> F32:
    """The number whose addition and subtraction rounds a block's values to its mantissa grid.

    ``smallest`` is the largest bit pattern seen as unsigned (the most negative value, if any),
    ``largest`` the largest seen as signed (the most positive value, if any). A value that would
    round to +128 has a mantissa of 0x7f0000 or more in the top binade: adding one bf16 unit
    carries it into the next binade, so the block takes E+1; a negative one is left alone.
    1.5 * 2^(E+17) has steps of 2^(E-6), and float32 addition rounds to nearest even.
    """
    carried = np.add(largest, _NEXT_BINADE)
    magnitude = np.bitwise_and(smallest, _SIGN_CLEARED)
    bits = np.maximum(magnitude.view(np.int32), carried).view(np.uint32)
    np.bitwise_and(bits, _EXPONENT, out=bits)
    np.add(bits, _TO_MAGIC, out=bits)
    np.bitwise_or(bits, _MAGIC_HALF, out=bits)
    magic: F32 = bits.view(np.float32)
    return magic


def bfp16_down(x: F32) -> F32:
    """Quantise C-contiguous ``x`` (K, N) in place, in blocks of 8 along K, per column (S, F).

    E is the block's largest exponent and q = rint(x / 2^(E-6)), an 8-bit two's complement (S).
    A block in which a q reaches +128 is quantised again with E+1; q = -128 is kept (F: agrees
    with recorded figures to four digits, saturating is 0.2-0.3 % low). A last block shorter than
    8 counts as padded with zeros. Magnitudes stay below 2^110, as with every harness input;
    beyond, the result is NaN.
    """
    rows, columns = x.shape
    whole = rows - rows % BFP_BLOCK
    step = max(1, STRIP // max(1, BFP_BLOCK * columns))
    blocks = x[:whole].reshape(-1, BFP_BLOCK, columns)
    for start in range(0, len(blocks), step):
        _quantise_blocks(blocks[start : start + step])
    if whole < rows:
        _quantise_blocks(x[np.newaxis, whole:])
    return x


def _quantise_blocks(part: F32) -> None:
    smallest = np.maximum.reduce(part.view(np.uint32), axis=1, keepdims=True)
    largest = np.maximum.reduce(part.view(np.int32), axis=1, keepdims=True)
    magic = _magic(smallest, largest)
    np.add(part, magic, out=part)
    np.subtract(part, magic, out=part)


def bfp16_across(x: F32) -> F32:
    """Quantise C-contiguous ``x`` (M, K) in place, in blocks of 8 along K, per row (S, F).

    The rule of ``bfp16_down``, for the other operand.
    """
    rows, width = x.shape
    whole = width - width % BFP_BLOCK
    step = max(1, STRIP // max(1, width))
    for start in range(0, rows, step):
        strip = x[start : start + step]
        if whole == width:
            _quantise_runs(strip.reshape(-1))
        else:
            padded = np.zeros((len(strip), whole + BFP_BLOCK), np.float32)
            padded[:, :width] = strip
            _quantise_runs(padded.reshape(-1))
            strip[:] = padded[:, :width]
    return x


def _quantise_runs(flat: F32) -> None:
    # Eight strided passes: NumPy's own reduction over an axis of 8 is five times slower.
    bits = flat.view(np.uint32).reshape(-1, BFP_BLOCK)
    smallest = bits[:, 0].copy()
    largest = smallest.view(np.int32).copy()
    for column in range(1, BFP_BLOCK):
        np.maximum(smallest, bits[:, column], out=smallest)
        np.maximum(largest, bits[:, column].view(np.int32), out=largest)
    magic = np.repeat(_magic(smallest, largest), BFP_BLOCK)
    np.add(flat, magic, out=flat)
    np.subtract(flat, magic, out=flat)


# --- functions of the vector unit --------------------------------------------------------------

TANH_STEP = 0.052
_TANH_ENTRIES = 256


def _tanh_table() -> F32:
    steps = np.arange(_TANH_ENTRIES, dtype=np.float64)
    return round_rne(np.tanh(TANH_STEP * steps).astype(np.float32))


_TANH = _tanh_table()


def tanh(v: F32, out: F32 | None = None) -> F32:
    """The vector unit's tanh, *calibrated*: rne(tanh(h * rint(|v| / h))), odd in v, h = 0.052.

    The hardware function is not published. h was fitted on SiLU_Mul and carried to GELU; an exact
    tanh, floored, is far too clean (5.0e-3 and 6.8e-3, recorded 1.0e-2 and 8.4e-3). Finite ``v``.
    """
    steps = np.abs(v)
    np.divide(steps, np.float32(TANH_STEP), out=steps)
    np.rint(steps, out=steps)
    np.minimum(steps, np.float32(_TANH_ENTRIES - 1), out=steps)
    out = np.take(_TANH, steps.astype(np.intp), out=out, mode="clip")
    return np.copysign(out, v, out=out)


_BF16_UNITS = np.float32(128.0)
_BIAS_UNITS = np.float32(127 * 128)


def exp2(z: F32, spare: NDArray[np.int32]) -> F32:
    """2^z of the vector unit for z <= 0, in place: trunc_bf16(2^floor(z) * (1 + frac z)) (F).

    Linear in the fraction: an exact exp2 gives attention 1.6e-2, far too clean. Its bf16 bits are
    floor(128 * (z + 127)), so no power is computed; below 2^-127 the result is 0.
    """
    np.multiply(z, _BF16_UNITS, out=z)
    np.floor(z, out=z)
    np.add(z, _BIAS_UNITS, out=z)
    np.maximum(z, np.float32(0.0), out=z)
    np.copyto(spare, z, casting="unsafe")
    np.left_shift(spare, np.int32(16), out=z.view(np.int32))
    return z


_INVERSE_SEED = np.uint16(0x7EB5)
_INVERSE_K1 = np.float32(1.9375)  # 1.9395974 as bf16
_INVERSE_K2 = np.float32(1.436142)
_TWO = np.float32(2.0)


def reciprocal(v: F32) -> F32:
    """1/v of the vector library for positive bf16 ``v``: a bit-trick seed, two Newton steps (S).

    Each product is kept as bf16, rounded to nearest even as the attention kernel sets it.
    """
    y = unpack(np.subtract(_INVERSE_SEED, pack(v)))
    error = round_rne(_INVERSE_K2 - v * y)
    y = round_rne(round_rne(error * y) * _INVERSE_K1)
    error = round_rne(_TWO - v * y)
    return round_rne(y * error)
