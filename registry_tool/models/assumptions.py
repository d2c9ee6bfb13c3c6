"""What was assumed and chosen when a decoder's needs were derived, one line each."""

from __future__ import annotations

from collections.abc import Iterator

from registry_tool.errors import UsageError
from registry_tool.models.decoder import Attention, DecoderConfig
from registry_tool.models.options import Options
from registry_tool.models.size import Size, plus, scaled

# Rows of one LM-head launch (NPU2 registry, GEMV page: a single launch over the vocabulary would
# exceed the 255 repeats of a buffer descriptor).
LM_HEAD_PARTITION = 16384


def fused(config: DecoderConfig, options: Options) -> frozenset[str]:
    """Which projections run as one; raises UsageError for a gate that the MLP has not."""
    stored = set(config.stored) if "stored" in options.fuse else set()
    fuses = frozenset({"qkv", "gate_up"} & (options.fuse | stored))
    if "gate_up" in fuses and not config.gated:
        raise UsageError("--fuse gate_up: the MLP of this model has no gate")
    return fuses


def qkv_width(group: Attention) -> Size:
    """Output width of Q, K and V as one projection."""
    return plus(group.q_dim, scaled(2, group.kv_dim))


def gate_up_width(config: DecoderConfig) -> Size:
    """Output width of gate and up as one projection."""
    return scaled(2, config.intermediate)


def assumptions(config: DecoderConfig, options: Options, fuses: frozenset[str]) -> list[str]:
    """What was assumed and chosen, one line each."""
    longest = max(options.seqs)
    lengths = " and ".join(map(str, options.seqs))
    decoded = "one token" if options.batch == 1 else "one token of each sequence, as GEMM"
    notes = [
        *config.notes,
        *_window_notes(config, longest),
        f"prefill of {lengths} tokens, decode of {decoded}, batch {options.batch}",
        *_lm_head(config),
    ]
    limit = config.positions_limit
    if limit is not None and longest > limit.value:
        what = "the table of positions ends there" if config.learned_positions else "its limit"
        notes.append(f"{limit.text} is less than a prefill of {longest} tokens: {what}")
    notes += _stored(config, options, fuses)
    if fuses:
        notes.append(f"run as one projection (--fuse): {', '.join(sorted(fuses))}")
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


def _lm_head(config: DecoderConfig) -> Iterator[str]:
    vocabulary = config.vocabulary.value
    partitions = -(-vocabulary // LM_HEAD_PARTITION)
    padding = partitions * LM_HEAD_PARTITION - vocabulary
    rows = f", the last one padded by {padding} rows" if padding else ""
    yield (f"LM head: {vocabulary} rows in {partitions} partition(s) of {LM_HEAD_PARTITION}{rows}")


def _stored(config: DecoderConfig, options: Options, fuses: frozenset[str]) -> Iterator[str]:
    seq = options.seqs[0] * options.batch
    widths = {
        "qkv": ("Q, K and V", qkv_width(config.shapes[0])),
        "gate_up": ("gate and up", gate_up_width(config)),
    }
    for what, weight in config.stored.items():
        told, width = widths[what]
        if what not in fuses:
            shape = f"{seq}x{config.hidden.value}x{width.value}"
            yield (
                f"the checkpoint holds {told} as one weight ({weight}), listed apart here; as "
                f"one GEMM it is {shape}: --fuse {what}"
            )


def _window_notes(config: DecoderConfig, longest: int) -> Iterator[str]:
    for group in config.attention:
        if group.window is not None and group.window >= longest:
            of = "" if group.layers == config.layers else f" in {group.layers} layers"
            yield f"sliding_window {group.window} has no effect at {longest} tokens{of}"
