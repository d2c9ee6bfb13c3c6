"""From a decoder's dimensions to its needs: every kernel x shape x tier, per phase and call site.

Which kernel serves which site follows the NPU2 deployments of the public kernel registry: prefill
projections run as bf16-out GEMM, decode ones as GEMV, and the LM head in partitions of 16384 rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from registry_tool.models.config import DecoderConfig
from registry_tool.records.fields import Precision
from registry_tool.records.model import Model, Need, Phase, Uncovered

# Rows of one LM-head launch (NPU2 registry, GEMV page: a single launch over the vocabulary would
# exceed the 255 repeats of a buffer descriptor).
LM_HEAD_PARTITION = 16384

_FUSED = "plain GEMV; upstream fuses it"


def derive(config: DecoderConfig, name: str, seq: int) -> Model:
    """The needs of ``config`` at a prefill of ``seq`` tokens and decode of one, batch 1."""
    notes = [*config.notes, f"prefill of {seq} tokens, decode of one token, batch 1"]
    partitions = -(-config.vocabulary // LM_HEAD_PARTITION)
    padding = partitions * LM_HEAD_PARTITION - config.vocabulary
    padded = f", the last one padded by {padding} rows" if padding else ""
    notes.append(
        f"LM head: {config.vocabulary} rows in {partitions} partition(s) of "
        f"{LM_HEAD_PARTITION}{padded}"
    )
    return Model(
        model=name,
        config_sha256=config.sha256,
        seq=seq,
        needs=[*_prefill(config, seq), *_decode(config)],
        uncovered=list(_uncovered(config)),
        notes=notes,
        layers=config.layers,
    )


def _projections(config: DecoderConfig) -> Iterator[tuple[str, int, int]]:
    """Site, reduction size K and output size of every weight projection of a layer."""
    yield "Q proj", config.hidden, config.q_dim
    yield "K/V proj", config.hidden, config.kv_dim
    yield "O proj", config.q_dim, config.hidden
    yield "Gate/Up proj", config.hidden, config.intermediate
    yield "Down proj", config.intermediate, config.hidden


def _need(
    phase: Phase, site: str, kernel: str, precision: Precision | None = None, **shape: int
) -> Need:
    return Need(phase=phase, site=site, kernel=kernel, precision=precision, shape=shape)


def _prefill(config: DecoderConfig, seq: int) -> Iterator[Need]:
    for site, k, n in _projections(config):
        yield _need("prefill", site, "GEMM_bf16_in_bf16_out", "high", M=seq, K=k, N=n)
    yield _need("prefill", "RMSNorm", "RMSNorm_bf16", M=seq, N=config.hidden)
    if config.qk_norm:
        yield _need("prefill", "Q/K norm (per head)", "RMSNorm_bf16", M=seq, N=config.head_dim)
    yield _need("prefill", "RoPE Q", "RoPE_bf16", rows=config.heads * seq, head_dim=config.head_dim)
    yield _need(
        "prefill", "RoPE K", "RoPE_bf16", rows=config.kv_heads * seq, head_dim=config.head_dim
    )
    yield _need(
        "prefill",
        "attention",
        "FlashAttention_bf16",
        lq=seq,
        lk=seq,
        dk=config.head_dim,
        dv=config.head_dim,
        num_heads=config.heads,
        num_kv_heads=config.kv_heads,
        causal=1,
    )
    yield _need("prefill", "SwiGLU", "SiLU_Mul_bf16", N=seq * config.intermediate)
    yield _need("prefill", "residual add", "EltwiseAdd_bf16", N=seq * config.hidden)


def _decode(config: DecoderConfig) -> Iterator[Need]:
    for site, k, m in _projections(config):
        fused = site in ("O proj", "Gate/Up proj", "Down proj")
        yield _need("decode", f"{site} ({_FUSED})" if fused else site, "GEMV_bf16", M=m, K=k)
    yield _need(
        "decode", "LM head (per partition)", "GEMV_bf16", M=LM_HEAD_PARTITION, K=config.hidden
    )
    yield _need("decode", "RMSNorm", "RMSNorm_bf16", M=1, N=config.hidden)
    if config.qk_norm:
        yield _need("decode", "Q/K norm (per head)", "RMSNorm_bf16", M=1, N=config.head_dim)
    yield _need("decode", "RoPE Q", "RoPE_bf16", rows=config.heads, head_dim=config.head_dim)
    yield _need("decode", "RoPE K", "RoPE_bf16", rows=config.kv_heads, head_dim=config.head_dim)


def _uncovered(config: DecoderConfig) -> Iterator[Uncovered]:
    for site, inside in (
        ("residual add", "the fused output and FFN cascades"),
        ("SwiGLU", "the fused FFN cascade"),
    ):
        yield Uncovered(
            phase="decode", site=site, reason=f"no page: upstream runs it inside {inside}"
        )
    yield Uncovered(phase="decode", site="attention", reason="no page for attention of one query")
