"""FlashAttention: two BFP16 products around an online softmax that carries bf16."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from registry_tool.emulator import draws, numerics, products, streams
from registry_tool.emulator.case import F32, Block, Case
from registry_tool.emulator.numerics import rne_in_place, round_rne
from registry_tool.emulator.shapes import kept, require, sizes, switch

SEED = 42
CHUNK = 64
"""Keys per step of the online softmax, and head-dim elements per product of scores."""
STAGES = 4
"""Cascade stages unless the tile says: each takes its share of the keys, then they merge."""
ROWS = 512
"""Queries worked on at once: 64 x 512 scores stay in the core's own cache."""

_LOWEST = np.float32(-3.3895314e38)  # bf16 0xff7f: the running maximum before any score
_BEYOND = np.triu(np.ones((CHUNK, CHUNK), dtype=bool), k=1).T
"""Of a diagonal chunk as (key, query): the keys that lie after the query."""


def flash(case: Case) -> Iterator[Block]:
    """softmax(Q K^T / sqrt(dk), causal) V per head; output rows are head * lq + query, dv wide.

    Draws (S, harness source): ``default_rng(42)``, N(0, 1) in float64: Q (heads, lq, dk), then
    K (kv, lk, dk), then V (kv, lk, dv), cast to bf16. Reference: per head in f32, cast.

    Datapath, per 64 keys (S, kernel source unless said): scores of BFP16 operands, rounded to
    bf16 after each 64 of dk; running maximum, rescale factor, sum and output accumulator carried
    as bf16; every cast to nearest even; ``numerics.exp2`` (F); P quantised along the keys for
    P V; the keys split over the cascade stages (4, or the tile's ``num_cascade_stages``), which
    merge pairwise from the last to the first; the output scaled by ``numerics.reciprocal`` of
    the sum. log2(e) / sqrt(dk) is one bf16 constant.

    Chunks that the causal mask kills outright are skipped. That is exact (S): a chunk of -inf
    leaves the running maximum, factors one and adds zero; a stage of nothing but such chunks
    merges as factors one and zero.
    """
    lq, lk, dk, dv, heads, kv_heads = sizes(
        case, "lq", "lk", "dk", "dv", "num_heads", "num_kv_heads", optional=("causal",)
    )
    causal = switch(case, "causal")
    stages = case.tile.get("num_cascade_stages", STAGES)
    require(case, stages >= 1, f"needs num_cascade_stages >= 1, got {stages}")
    step = CHUNK * stages
    require(case, lk % step == 0, f"needs lk to be a multiple of {step}, got {lk}")
    require(case, dk % CHUNK == 0, f"needs dk to be a multiple of {CHUNK}, got {dk}")
    require(case, heads % kv_heads == 0, "needs num_heads to be a multiple of num_kv_heads")
    require(case, not causal or lq == lk, f"needs lq == lk when causal, got {lq} and {lk}")
    return _blocks((lq, lk, dk, dv), heads, kv_heads, causal, kept(case, dk), stages)


def _blocks(
    sizes_: tuple[int, int, int, int],
    heads: int,
    kv_heads: int,
    causal: bool,
    used_dk: int,
    stages: int,
) -> Iterator[Block]:
    lq, lk, dk, dv = sizes_
    normals = draws.generator_f64(SEED)
    q = draws.bf16(normals, (heads, lq, dk))
    k = draws.bf16(normals, (kv_heads, lk, dk))
    v = draws.bf16(normals, (kv_heads, lk, dv))
    k_bfp = numerics.bfp16_across(k.copy().reshape(-1, dk)).reshape(k.shape)
    v_bfp = numerics.bfp16_down(v.copy().reshape(-1, dv)).reshape(v.shape)
    group = heads // kv_heads

    def work(task: tuple[int, int, int]) -> Block:
        head, start, stop = task
        rows, kv = q[head, start:stop], head // group
        first = start if causal else None
        q_bfp = numerics.bfp16_across(rows.copy())
        q_bfp[:, used_dk:] = 0.0
        return Block(
            out=_online(q_bfp, k_bfp[kv], v_bfp[kv], first, stages),
            ref=_reference(rows, k[kv], v[kv], first),
            row=head * lq + start,
        )

    tasks = ((head, *span) for head in range(heads) for span in draws.spans(lq, ROWS))
    yield from streams.mapped(work, tasks)


def _reference(q: F32, k: F32, v: F32, first: int | None) -> F32:
    """Softmax attention of some rows in f32; keys after the last row have weight zero exactly."""
    queries, dk = q.shape
    seen = len(k) if first is None else first + queries
    weights = np.empty((seen, queries), np.float32)  # transposed, as in the emulated kernel
    products.matmul(k[:seen], np.ascontiguousarray(q.T), weights)
    weights *= np.float32(1.0 / math.sqrt(dk))
    if first is not None:
        hidden = np.tril(np.ones((queries, queries), dtype=bool), k=-1)
        np.copyto(weights[first:], np.float32(-1e9), where=hidden)
    weights -= np.max(weights, axis=0)
    np.exp(weights, out=weights)
    weights /= np.sum(weights, axis=0)
    out = np.empty((v.shape[1], queries), np.float32)
    products.matmul(v[:seen].T, weights, out)
    return np.ascontiguousarray(round_rne(out).T)


@dataclass
class _Carried:
    """What a stage carries from chunk to chunk, all bf16; queries run along the last axis."""

    maximum: F32  # (queries,)
    total: F32  # (queries,)
    output: F32  # (dv, queries)


class _Work:
    """Buffers for one task, reused from chunk to chunk."""

    def __init__(self, queries: int, dv: int) -> None:
        height = max(CHUNK, dv)
        self._product = np.empty(height * queries, np.float32)
        self._spare = np.empty(height * queries, np.float32)
        self._scores = np.empty(CHUNK * queries, np.float32)

    def scores(self, queries: int) -> F32:
        return self._scores[: CHUNK * queries].reshape(CHUNK, queries)

    def product(self, height: int, queries: int) -> F32:
        return self._product[: height * queries].reshape(height, queries)

    def spare(self, height: int, queries: int) -> F32:
        return self._spare[: height * queries].reshape(height, queries)


def _online(q: F32, k: F32, v: F32, first: int | None, stages: int) -> F32:
    """The kernel's output for some rows of one head; everything inside is laid out transposed.

    With the queries along the last axis, the maxima, sums and BFP16 blocks over the keys run
    down columns, which NumPy does with whole-row operations.
    """
    queries, dk = q.shape
    dv = v.shape[1]
    factor = round_rne(np.array([1.44269504089 / math.sqrt(dk)], np.float32))[0]
    q_t = np.ascontiguousarray(q.T)
    work = _Work(queries, dv)
    merged: _Carried | None = None
    with np.errstate(over="ignore"):
        for stage in reversed(range(stages)):
            carried = _Carried(
                np.full(queries, _LOWEST),
                np.zeros(queries, np.float32),
                np.zeros((dv, queries), np.float32),
            )
            for key in range(stage * len(k) // stages, (stage + 1) * len(k) // stages, CHUNK):
                hidden = 0 if first is None else max(0, key - first)
                if hidden < queries:
                    chunk = slice(key, key + CHUNK)
                    scores = _scores(q_t[:, hidden:], k[chunk], work)
                    if first is not None and key >= first:
                        np.copyto(scores[:, :CHUNK], np.float32(-np.inf), where=_BEYOND)
                    _absorb(carried, hidden, scores, v[chunk], factor, work)
            merged = carried if merged is None else _merge(merged, carried, factor)
    assert merged is not None
    out = merged.output * numerics.reciprocal(merged.total)
    return np.ascontiguousarray(round_rne(out).T)


def _scores(q_t: F32, k: F32, work: _Work) -> F32:
    queries = q_t.shape[1]
    scores, spare = work.scores(queries), work.spare(CHUNK, queries)
    products.small_matmul(k[:, :CHUNK], q_t[:CHUNK], scores)
    rne_in_place(scores, spare)
    for start in range(CHUNK, len(q_t), CHUNK):
        part = slice(start, start + CHUNK)
        product = work.product(CHUNK, queries)
        products.small_matmul(k[:, part], q_t[part], product)
        np.add(scores, product, out=scores)
        rne_in_place(scores, spare)
    return scores


def _absorb(
    carried: _Carried, hidden: int, scores: F32, v: F32, factor: np.float32, work: _Work
) -> None:
    """Take one chunk of scores into what is carried for the queries from ``hidden`` on."""
    queries, dv = scores.shape[1], v.shape[1]
    maximum, total = carried.maximum[hidden:], carried.total[hidden:]
    output = carried.output[:, hidden:]
    new_maximum = np.maximum(maximum, np.max(scores, axis=0))
    rescale = _weight(maximum, new_maximum, factor)
    maximum[:] = new_maximum

    spare = work.spare(CHUNK, queries)
    np.subtract(scores, new_maximum, out=scores)
    rne_in_place(scores, spare)
    np.multiply(scores, factor, out=scores)
    p = numerics.exp2(scores, spare.view(np.int32))
    total[:] = round_rne(rescale * total + round_rne(np.sum(p, axis=0)))

    spare, product = work.spare(dv, queries), work.product(dv, queries)
    np.multiply(output, rescale, out=output)
    rne_in_place(output, spare)
    products.small_matmul(v.T, numerics.bfp16_down(p), product)
    np.add(output, product, out=output)
    rne_in_place(output, spare)


def _weight(old: F32, new: F32, factor: np.float32) -> F32:
    """exp(old - new) as the kernel computes it, for maxima of a row."""
    difference = round_rne(np.maximum(old - new, _LOWEST))
    return numerics.exp2(difference * factor, np.empty(old.shape, np.int32))


def _merge(later: _Carried, own: _Carried, factor: np.float32) -> _Carried:
    """Join what the later stage handed down with what this stage carried."""
    maximum = np.maximum(later.maximum, own.maximum)
    from_later = _weight(later.maximum, maximum, factor)
    from_own = _weight(own.maximum, maximum, factor)
    output = round_rne(round_rne(later.output * from_later) + round_rne(own.output * from_own))
    total = round_rne(own.total * from_own + round_rne(later.total * from_later))
    return _Carried(maximum, total, output)
