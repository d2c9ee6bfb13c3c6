"""From a decoder's dimensions to its needs: every kernel x shape x tier, per phase and call site.

Which kernel serves which site follows the NPU2 deployments of the public kernel registry: prefill
projections run as bf16-out GEMM, decode ones as GEMV, and the LM head in partitions of 16384 rows.
Decoding several sequences at once multiplies a matrix: its projections are GEMM then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from registry_tool.errors import UsageError
from registry_tool.models.calls import Call, gemm, gemv, padded
from registry_tool.models.decoder import Attention, DecoderConfig, Fact
from registry_tool.models.options import Options
from registry_tool.models.size import Size, plus, scaled, times
from registry_tool.models.uncovered import uncovered
from registry_tool.records.model import Model, Phase, Uncovered

# Rows of one LM-head launch (NPU2 registry, GEMV page: a single launch over the vocabulary would
# exceed the 255 repeats of a buffer descriptor).
LM_HEAD_PARTITION = 16384

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
    plan = _Plan(config, options)
    calls = [call for seq in options.seqs for call in plan.prefill(seq)]
    calls += plan.decode()
    calls = [*_once(calls), *extra.calls]
    several = len(options.seqs) > 1
    model = Model(
        model=name,
        config_sha256=config.sha256,
        seq=options.seqs[0],
        needs=[call.need for call in calls],
        uncovered=[*uncovered(config, options), *extra.uncovered],
        notes=[*plan.notes(), *extra.notes],
        layers=config.layers,
        seqs=list(options.seqs) if several else UNSET,
        batch=options.batch if options.batch > 1 else UNSET,
        options=options.words or UNSET,
    )
    return Derived(model, tuple(calls), config.facts)


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

    def __init__(self, config: DecoderConfig, options: Options) -> None:
        self._config = config
        self._options = options
        wanted = options.fuse
        stored = set(config.stored) if "stored" in wanted else set()
        self._fuses = {"qkv", "gate_up"} & (wanted | stored)
        if "gate_up" in self._fuses and not config.gated:
            raise UsageError("--fuse gate_up: the MLP of this model has no gate")

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
        for group in config.attention:
            if config.scores or (group.window is not None and group.window < seq):
                continue
            dims = {
                "lq": length,
                "lk": length,
                "dk": group.head_dim,
                "dv": group.head_dim,
                "num_heads": group.heads,
                "num_kv_heads": group.kv_heads,
                "causal": Size(1, "causal: a decoder"),
            }
            site = _labelled("attention", group)
            yield Call("prefill", site, "FlashAttention_bf16", dims, None, self._part(group))
        yield from self._activation("prefill", tokens)
        size = times(tokens, config.hidden)
        yield Call("prefill", "residual add", "EltwiseAdd_bf16", {"N": size})

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
            if not config.gated:
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

    def notes(self) -> list[str]:
        """What was assumed and chosen, one line each."""
        config, options = self._config, self._options
        longest = max(options.seqs)
        lengths = " and ".join(map(str, options.seqs))
        decoded = "one token" if options.batch == 1 else "one token of each sequence, as GEMM"
        notes = [
            *config.notes,
            *_window_notes(config, longest),
            f"prefill of {lengths} tokens, decode of {decoded}, batch {options.batch}",
            *self._lm_head(),
        ]
        limit = config.positions_limit
        if limit is not None and longest > limit.value:
            what = "the table of positions ends there" if config.learned_positions else "its limit"
            notes.append(f"{limit.text} is less than a prefill of {longest} tokens: {what}")
        notes += self._stored_notes()
        if self._fuses:
            notes.append(f"run as one projection (--fuse): {', '.join(sorted(self._fuses))}")
        if options.pad:
            told = ", ".join(f"{dim} to a multiple of {n}" for dim, n in options.pad.items())
            notes.append(
                f"padded (--pad): {told}; M are tokens, K and N the widths of weights, with zeros"
            )
        if options.batch > 1:
            notes.append(
                f"attention runs once for each of {options.batch} sequences: its page has no batch"
            )
        return notes

    def _lm_head(self) -> Iterator[str]:
        vocabulary = self._config.vocabulary.value
        partitions = -(-vocabulary // LM_HEAD_PARTITION)
        padding = partitions * LM_HEAD_PARTITION - vocabulary
        rows = f", the last one padded by {padding} rows" if padding else ""
        yield (
            f"LM head: {vocabulary} rows in {partitions} partition(s) of {LM_HEAD_PARTITION}{rows}"
        )

    def _stored_notes(self) -> Iterator[str]:
        seq = self._options.seqs[0] * self._options.batch
        widths = {"qkv": ("Q, K and V", self._qkv), "gate_up": ("gate and up", self._gate_up)}
        for what, weight in self._config.stored.items():
            told, width = widths[what]
            if what not in self._fuses:
                shape = f"{seq}x{self._config.hidden.value}x{width().value}"
                yield (
                    f"the checkpoint holds {told} as one weight ({weight}), listed apart here; as "
                    f"one GEMM it is {shape}: --fuse {what}"
                )

    def _qkv(self) -> Size:
        group = self._config.shapes[0]
        return plus(group.q_dim, scaled(2, group.kv_dim))

    def _gate_up(self) -> Size:
        return scaled(2, self._config.intermediate)

    def _part(self, group: Attention) -> int | None:
        return group.layers if group.layers != self._config.layers else None

    def _projections(self) -> Iterator[tuple[str, Size, Size, int | None]]:
        """Site, reduction width, output width and layers of every weight projection of a layer."""
        config = self._config
        for group in config.shapes:
            part = self._part(group)
            if "qkv" in self._fuses:
                out = plus(group.q_dim, scaled(2, group.kv_dim))
                yield _labelled("QKV proj (fused)", group), config.hidden, out, part
            else:
                yield _labelled("Q proj", group), config.hidden, group.q_dim, part
                yield _labelled("K/V proj", group), config.hidden, group.kv_dim, part
            yield _labelled("O proj", group), group.q_dim, config.hidden, part
        if not config.gated:
            yield "Up proj", config.hidden, config.intermediate, None
        elif "gate_up" in self._fuses:
            yield "Gate+Up proj (fused)", config.hidden, self._gate_up(), None
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


def _window_notes(config: DecoderConfig, longest: int) -> Iterator[str]:
    for group in config.attention:
        if group.window is not None and group.window >= longest:
            of = "" if group.layers == config.layers else f" in {group.layers} layers"
            yield f"sliding_window {group.window} has no effect at {longest} tokens{of}"
