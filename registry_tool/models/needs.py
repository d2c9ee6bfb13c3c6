"""From a decoder's dimensions to its needs: every kernel x shape x tier, per phase and call site.

Which kernel serves which site follows the NPU2 deployments of the public kernel registry: prefill
projections run as bf16-out GEMM, decode ones as GEMV, and the LM head in partitions of 16384 rows.
Decoding several sequences at once multiplies a matrix: its projections are GEMM then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from registry_tool.errors import InputError
from registry_tool.models.assumptions import (
    LM_HEAD_PARTITION,
    assumptions,
    fused,
    gate_up_width,
    qkv_width,
)
from registry_tool.models.calls import Call, gemm, gemv, padded
from registry_tool.models.decoder import Attention, DecoderConfig, Fact
from registry_tool.models.options import Options
from registry_tool.models.size import Size, times
from registry_tool.models.uncovered import uncovered
from registry_tool.records.model import Model, Phase, Uncovered

# What every reader of JSON takes as a whole number.
_LARGEST = 2**53
_FUSED = "plain GEMV; upstream fuses it"
_UPSTREAM_FUSES = ("O proj", "Gate/Up proj", "Gate+Up proj (fused)", "Down proj")


@dataclass(frozen=True)
class Extra:
    """What another tower adds to a decoder's needs."""

    calls: tuple[Call, ...] = ()
    uncovered: tuple[Uncovered, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Derived:
    """A model with the arithmetic behind it: ``calls`` are its needs, in their order."""

    model: Model
    calls: tuple[Call, ...]
    facts: tuple[Fact, ...]


def derive(
    config: DecoderConfig, name: str, options: Options, extra: Extra | None = None
) -> Derived:
    """The needs of ``config`` for the prefills and the batch of ``options``, and of decode.

    Raises UsageError for a choice that this model does not have.
    """
    options.check()
    extra = extra or Extra()
    fuses = fused(config, options)
    plan = _Plan(config, options, fuses)
    calls = [call for seq in options.seqs for call in plan.prefill(seq)]
    calls += plan.decode()
    calls = [*_once(calls), *extra.calls]
    for call in calls:
        _check(call)
    several = len(options.seqs) > 1
    model = Model(
        model=name,
        config_sha256=config.sha256,
        seq=options.seqs[0],
        needs=[call.need for call in calls],
        uncovered=[*uncovered(config, options), *extra.uncovered],
        notes=[*assumptions(config, options, fuses), *extra.notes],
        layers=config.layers,
        seqs=list(options.seqs) if several else UNSET,
        batch=options.batch if options.batch > 1 else UNSET,
        options=options.words or UNSET,
    )
    return Derived(model, tuple(calls), config.facts)


def _check(call: Call) -> None:
    for dim, size in call.dims.items():
        if size.value >= _LARGEST:
            raise InputError(f"{call.site}: {dim} = {size.explained} is no size of a model")


def _once(calls: Sequence[Call]) -> Iterator[Call]:
    """Every need of a site once: a length that is given twice changes nothing."""
    seen = set()
    for call in calls:
        shape = tuple((dim, size.value) for dim, size in call.dims.items())
        if (key := (call.phase, call.site, call.kernel, shape)) not in seen:
            seen.add(key)
            yield call


class _Plan:
    """The calls of one decoder under one set of options."""

    def __init__(self, config: DecoderConfig, options: Options, fuses: frozenset[str]) -> None:
        self._config = config
        self._options = options
        self._fuses = fuses

    def prefill(self, seq: int) -> Iterator[Call]:
        """Needs of a prefill of ``seq`` tokens for every sequence."""
        config, options = self._config, self._options
        length = padded(Size(seq, f"seq {seq}", ("--seq",)), "M", options)
        tokens = length
        if options.batch > 1:
            tokens = times(Size(options.batch, f"batch {options.batch}", ("--batch",)), length)
        yield from self._embedding("prefill", tokens)
        for site, width, out, layers in self._projections():
            yield gemm("prefill", site, tokens, width, out, options, layers)
        yield from self._norms("prefill", tokens)
        yield from self._rope("prefill", tokens)
        yield from self._attention(seq, length)
        yield from self._activation("prefill", tokens)
        size = times(tokens, config.hidden)
        yield Call("prefill", "residual add", "EltwiseAdd_bf16", {"N": size})

    def _attention(self, seq: int, length: Size) -> Iterator[Call]:
        """Attention of all layers that see every token before a query, alike ones as one."""
        config = self._config
        if config.scores:
            return
        alike: dict[tuple[int, int, int], list[Attention]] = {}
        for group in config.attention:
            if group.window is None or group.window >= seq:
                key = (group.heads.value, group.kv_heads.value, group.head_dim.value)
                alike.setdefault(key, []).append(group)
        for groups in alike.values():
            first, layers = groups[0], sum(group.layers for group in groups)
            dims = {
                "lq": length,
                "lk": length,
                "dk": first.head_dim,
                "dv": first.head_dim,
                "num_heads": first.heads,
                "num_kv_heads": first.kv_heads,
                "causal": Size(1, "causal: a decoder"),
            }
            every = layers == config.layers
            site = "attention" if every else _labelled("attention", first)
            part = None if every else layers
            yield Call("prefill", site, "FlashAttention_bf16", dims, None, part)

    def decode(self) -> Iterator[Call]:
        """Needs of a decode step: one token of every sequence."""
        config, options = self._config, self._options
        batch = options.batch
        one = Size(1, "one token")
        partition = Size(LM_HEAD_PARTITION, f"partition {LM_HEAD_PARTITION}", ("GEMV page",))
        head = "LM head (per partition)"
        fuses = _UPSTREAM_FUSES if config.gated and config.activation == "silu" else ("O proj",)
        if batch == 1:
            yield from self._embedding("decode", one)
            for site, width, out, layers in self._projections():
                fused = site.split(" [")[0] in fuses
                told = f"{site} ({_FUSED})" if fused else site
                yield gemv("decode", told, width, out, options, layers)
            yield gemv("decode", head, config.embed, partition, options)
            yield from self._norms("decode", one)
            yield from self._rope("decode", one)
            # SiLU times up is inside the fused cascade; a GELU of the gate is on its own.
            if not (config.gated and config.activation == "silu"):
                yield from self._activation("decode", one)
            return
        tokens = padded(Size(batch, f"batch {batch}", ("--batch",)), "M", options)
        yield from self._embedding("decode", tokens)
        for site, width, out, layers in self._projections():
            yield gemm("decode", site, tokens, width, out, options, layers)
        yield gemm("decode", head, tokens, config.embed, partition, options)
        yield from self._norms("decode", tokens)
        yield from self._rope("decode", tokens)
        yield from self._activation("decode", tokens)
        size = times(tokens, config.hidden)
        yield Call("decode", "residual add", "EltwiseAdd_bf16", {"N": size})

    def _part(self, group: Attention) -> int | None:
        return group.layers if group.layers != self._config.layers else None

    def _projections(self) -> Iterator[tuple[str, Size, Size, int | None]]:
        """Site, reduction width, output width and layers of every weight projection of a layer."""
        config = self._config
        for group in config.shapes:
            part = self._part(group)
            if "qkv" in self._fuses:
                out = qkv_width(group)
                yield _labelled("QKV proj (fused)", group), config.hidden, out, part
            else:
                yield _labelled("Q proj", group), config.hidden, group.q_dim, part
                yield _labelled("K/V proj", group), config.hidden, group.kv_dim, part
            yield _labelled("O proj", group), group.q_dim, config.hidden, part
        if not config.gated:
            yield "Up proj", config.hidden, config.intermediate, None
        elif "gate_up" in self._fuses:
            yield "Gate+Up proj (fused)", config.hidden, gate_up_width(config), None
        else:
            yield "Gate/Up proj", config.hidden, config.intermediate, None
        yield "Down proj", config.intermediate, config.hidden, None

    def _embedding(self, phase: Phase, tokens: Size) -> Iterator[Call]:
        """What comes before and after the layers of a few models."""
        config, options = self._config, self._options
        if config.embed.value != config.hidden.value:
            for site, width, out in (
                ("embedding proj in", config.embed, config.hidden),
                ("embedding proj out", config.hidden, config.embed),
            ):
                if phase == "decode" and options.batch == 1:
                    yield gemv(phase, site, width, out, options)
                else:
                    yield gemm(phase, site, tokens, width, out, options)
        if config.learned_positions and (phase == "prefill" or options.batch > 1):
            dims = {"N": times(tokens, config.hidden)}
            yield Call(phase, "position embedding add", "EltwiseAdd_bf16", dims)

    def _norms(self, phase: Phase, tokens: Size) -> Iterator[Call]:
        config = self._config
        kernel = f"{config.norm}_bf16"
        sites = [config.norm, *([config.extra_norms] if config.extra_norms else [])]
        for site in sites:
            yield Call(phase, site, kernel, {"M": tokens, "N": config.hidden})
        norm = config.qk_norm
        if norm is None:
            return
        for group in config.shapes:
            part = self._part(group)
            if norm.over == "head":
                dims = {"M": tokens, "N": group.head_dim}
                site = _labelled("Q/K norm (per head)", group)
                yield Call(phase, site, f"{norm.kind}_bf16", dims, None, part)
            else:
                for what, width in (("Q", group.q_dim), ("K", group.kv_dim)):
                    dims = {"M": tokens, "N": width}
                    site = _labelled(f"{what} norm (whole width)", group)
                    yield Call(phase, site, f"{norm.kind}_bf16", dims, None, part)

    def _rope(self, phase: Phase, tokens: Size) -> Iterator[Call]:
        config = self._config
        if config.interleaved:
            return
        merged: dict[tuple[int, int, int], tuple[Attention, int]] = {}
        for group in config.attention:
            if group.rotary is not None:
                key = (group.kv_heads.value, group.head_dim.value, group.rotary.value)
                merged[key] = (group, group.layers + (merged[key][1] if key in merged else 0))
        for group, layers in merged.values():
            assert group.rotary is not None
            part = layers if layers != config.layers else None
            label = "" if len(merged) == 1 else f" [{group.label}]"
            if group.rotary.value != group.head_dim.value:
                label = f" ({group.rotary.value} of {group.head_dim.value}){label}"
            for what, heads in (("Q", group.heads), ("K", group.kv_heads)):
                rows = times(heads, tokens) if tokens.value > 1 else heads
                dims = {"rows": rows, "head_dim": group.rotary}
                yield Call(phase, f"RoPE {what}{label}", "RoPE_bf16", dims, None, part)

    def _activation(self, phase: Phase, tokens: Size) -> Iterator[Call]:
        config = self._config
        dims = {"N": times(tokens, config.intermediate)}
        if config.gated and config.activation == "silu":
            yield Call(phase, "SwiGLU", "SiLU_Mul_bf16", dims)
        elif config.activation == "gelu_tanh":
            site = "GELU of the gate" if config.gated else "GELU"
            yield Call(phase, site, "GELU_bf16", dims)


def _labelled(site: str, group: Attention) -> str:
    return f"{site} [{group.label} layers]" if group.label else site
