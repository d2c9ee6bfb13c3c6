from __future__ import annotations

import numpy as np
import pytest

from registry_tool.emulator import attention, numerics
from registry_tool.emulator.case import Case
from registry_tool.errors import UsageError
from tests.emulator.figures import BUDGET_MB, agrees, in_a_child, measure


def config(length: int, dim: int, heads: int, kv_heads: int, causal: bool) -> dict[str, int]:
    return {
        "lq": length,
        "lk": length,
        "dk": dim,
        "dv": dim,
        "num_heads": heads,
        "num_kv_heads": kv_heads,
        "causal": int(causal),
    }


@pytest.mark.parametrize(
    ("shape", "recorded"),
    [
        (config(512, 64, 2, 2, False), "4.4e-2"),
        (config(512, 64, 12, 6, False), "4.6e-2"),
        (config(512, 64, 64, 8, False), "4.6e-2"),
        (config(1024, 64, 12, 12, False), "4.8e-2"),
        (config(512, 128, 28, 4, False), "4.4e-2"),
        (config(512, 128, 32, 8, False), "4.4e-2"),
        (config(2048, 64, 14, 2, True), "3.8e-2"),
        (config(2048, 64, 32, 8, True), "3.9e-2"),
        (config(2048, 128, 12, 2, True), "3.8e-2"),
    ],
)
def test_attention_agrees_with_the_recorded_row(shape, recorded: str) -> None:
    found = measure(attention.flash, shape, atol=1e-1)
    assert agrees(found.mean_rel_L1, recorded, within=0.05)
    assert found.passed
    assert found.elements == shape["num_heads"] * shape["lq"] * shape["dv"]


def test_an_exact_exp2_would_be_far_too_clean(monkeypatch) -> None:
    monkeypatch.setattr(
        numerics, "exp2", lambda z, spare: numerics.round_trunc(np.exp2(z, out=z), out=z)
    )
    found = measure(attention.flash, config(2048, 64, 2, 2, True))
    assert 1.3e-2 < found.mean_rel_L1 < 1.9e-2


def test_skipping_what_the_mask_kills_changes_no_bit(monkeypatch) -> None:
    q, k, v = (np.random.default_rng(n).standard_normal((512, 64), np.float32) for n in range(3))
    skipped = attention._online(q, k, v, 0, attention.STAGES)

    scores_of = attention._scores

    def masked(q_t, keys, work):
        """All chunks for all queries; what lies after the query is minus infinity."""
        scores = scores_of(q_t, keys, work)
        first = next(n for n in range(0, 512, 64) if np.shares_memory(k[n : n + 64], keys))
        scores[np.arange(first, first + 64)[:, None] > np.arange(512)[None, :]] = -np.inf
        return scores

    monkeypatch.setattr(attention, "_scores", masked)
    assert np.array_equal(attention._online(q, k, v, None, attention.STAGES), skipped)


def test_the_rows_in_which_queries_are_worked_on_do_not_show(monkeypatch) -> None:
    case = Case("FlashAttention", config(256, 64, 2, 1, True))
    whole = np.concatenate([block.out for block in attention.flash(case)])
    monkeypatch.setattr(attention, "ROWS", 128)
    cut = np.concatenate([block.out for block in attention.flash(case)])
    assert np.array_equal(whole, cut)


def test_queries_need_not_fill_whole_tiles_without_a_mask() -> None:
    shape = config(256, 64, 2, 2, False) | {"lq": 100}
    found = measure(attention.flash, shape, atol=1e-1)
    assert found.passed
    assert 3e-2 < found.mean_rel_L1 < 6e-2


def test_grouped_queries_read_the_keys_of_their_group() -> None:
    found = measure(attention.flash, config(256, 64, 6, 2, True), atol=1e-1)
    assert found.passed


def test_a_dropped_share_of_the_scores_is_seen() -> None:
    found = measure(attention.flash, config(256, 64, 2, 2, False), atol=1e-1, dropped_k=0.25)
    assert found.mean_rel_L1 > 0.3


def test_a_zero_output_would_pass_over_many_keys() -> None:
    shape = config(256, 64, 1, 1, False) | {"lk": 16384}
    found = measure(attention.flash, shape, atol=1e-1)
    assert found.zero_share == 0.0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"lk": 300}, "lk"),
        ({"dk": 96}, "dk"),
        ({"num_kv_heads": 3}, "num_heads"),
        ({"lq": 512}, "lq == lk"),
        ({"causal": 2}, "0 or 1"),
        ({"window": 64}, "window"),
    ],
)
def test_what_the_kernel_cannot_do_is_a_usage_error(change, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        attention.flash(Case("FlashAttention", config(256, 64, 2, 2, True) | change))


def test_no_cascade_stage_at_all_is_a_usage_error() -> None:
    case = Case("FlashAttention", config(256, 64, 2, 2, True), tile={"num_cascade_stages": 0})
    with pytest.raises(UsageError, match="num_cascade_stages"):
        attention.flash(case)


@pytest.mark.slow
def test_a_prefill_attention_stays_within_the_memory_budget() -> None:
    mean_rel_l1, peak_mb = in_a_child("attention:flash", config(2048, 128, 32, 8, True))
    assert agrees(mean_rel_l1, "3.8e-2", within=0.05)
    assert peak_mb < BUDGET_MB


def test_the_tile_says_how_many_stages_share_the_keys() -> None:
    shape = {"lq": 128, "lk": 128, "dk": 64, "dv": 64, "num_heads": 2, "num_kv_heads": 2}
    case = Case("FlashAttention_bf16", shape, tile={"num_cascade_stages": 2})
    assert sum(block.out.size for block in attention.flash(case)) == 2 * 128 * 64
    with pytest.raises(UsageError, match="multiple of 256"):
        list(attention.flash(Case("FlashAttention_bf16", shape)))
