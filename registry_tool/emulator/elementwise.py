"""EltwiseAdd, SiLU_Mul and GELU: flat outputs of N values, no reduction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from registry_tool.emulator import draws, numerics, streams
from registry_tool.emulator.case import F32, Block, Case
from registry_tool.emulator.numerics import round_floor, round_rne, round_trunc
from registry_tool.emulator.shapes import sizes, without_reduction

SEED = 0
PART = 1 << 16
"""Values worked on at once."""

_HALF = np.float32(0.5)
_ONE = np.float32(1.0)
_THIRD_ORDER = np.float32(0.044715)
_ROOT_2_PI = np.float32(math.sqrt(2.0 / math.pi))
_THIRD_ORDER_BF16, _ROOT_2_PI_BF16 = round_rne(np.array([_THIRD_ORDER, _ROOT_2_PI]))


def add(case: Case) -> Iterator[Block]:
    """c = a + b. Draws (S, harness source): ``default_rng(0)``, f32: a, then b; cast to bf16.

    Reference: f32 sum, cast. Datapath: f32 sum, one truncation (F: recorded 1.9e-3).
    """
    return _two_operands(case, lambda a, b: round_trunc(a + b), lambda a, b: a + b)


def silu_mul(case: Case) -> Iterator[Block]:
    """out = gate / (1 + exp(-gate)) * up. Draws (S): ``default_rng(0)``, f32: gate, then up.

    Reference: f32, cast. Datapath (S for the steps, F for the rounding): h = floor(g/2);
    t = tanh(h); floor(1 + t); floor(/ 2); floor(* g); floor(* up). tanh is *calibrated*.
    """
    return _two_operands(case, _silu_mul_out, lambda g, up: g / (_ONE + np.exp(-g)) * up)


def gelu(case: Case) -> Iterator[Block]:
    """out = 0.5 x (1 + tanh(k1 (x + k2 x^3))), k1 = sqrt(2/pi), k2 = 0.044715.

    Draws (S): ``default_rng(0)``, f32: x; cast to bf16. Reference: f32, cast. Datapath (S for the
    steps, F for the rounding): x^3 = floor(floor(x x) x); inner = floor(x + k2 x^3) with the
    product unrounded; t = tanh(floor(k1 inner)); floor(floor(x/2) floor(t + 1)); k1 and k2 as
    bf16. tanh is *calibrated*, on another kernel.
    """
    (n,) = sizes(case, "N")
    without_reduction(case)
    normals = draws.generator_f32(SEED)
    parts = ((start, draws.bf16(normals, (stop - start,))) for start, stop in draws.spans(n, PART))

    def work(part: tuple[int, F32]) -> Block:
        start, x = part
        return _flat(start, _gelu_out(x), _gelu_ref(x))

    return streams.mapped(work, parts)


def _two_operands(
    case: Case, out_of: Callable[[F32, F32], F32], ref_of: Callable[[F32, F32], F32]
) -> Iterator[Block]:
    (n,) = sizes(case, "N")
    without_reduction(case)

    def work(part: tuple[int, F32, F32]) -> Block:
        start, a, b = part
        return _flat(start, out_of(a, b), ref_of(a, b))

    return streams.mapped(work, _parts(n))


def _parts(n: int) -> Iterator[tuple[int, F32, F32]]:
    normals = draws.generator_f32(SEED)
    first = draws.packed(normals, (n,))  # all of it comes before the second operand
    for start, stop in draws.spans(n, PART):
        yield start, numerics.unpack(first[start:stop]), draws.bf16(normals, (stop - start,))


def _flat(start: int, out: F32, ref: F32) -> Block:
    return Block(out=out.reshape(-1, 1), ref=round_rne(ref, ref).reshape(-1, 1), row=start)


def _silu_mul_out(gate: F32, up: F32) -> F32:
    t = numerics.tanh(round_floor(gate * _HALF))
    sigmoid = round_floor(round_floor(t + _ONE) * _HALF)
    return round_floor(round_floor(sigmoid * gate) * up)


def _gelu_out(x: F32) -> F32:
    cube = round_floor(round_floor(x * x) * x)
    inner = round_floor(x + _THIRD_ORDER_BF16 * cube)
    t = numerics.tanh(round_floor(_ROOT_2_PI_BF16 * inner))
    return round_floor(round_floor(x * _HALF) * round_floor(t + _ONE))


def _gelu_ref(x: F32) -> F32:
    inner = _ROOT_2_PI * (x + _THIRD_ORDER * (x * x * x))
    y: F32 = _HALF * x * (_ONE + np.tanh(inner))
    return y
