"""What a decoder computes that no kernel page covers, with why; it blocks nothing."""

from __future__ import annotations

from collections.abc import Iterator

from registry_tool.models.decoder import Activation, DecoderConfig
from registry_tool.models.options import Options
from registry_tool.records.model import Phase, Uncovered

_INSIDE = "no page: upstream runs it inside"
NO_ACTIVATION: dict[Activation, str] = {
    "gelu": "no page for GELU by erf: the GELU page is the approximation by tanh",
    "quick_gelu": "no page for x sigmoid(1.702 x): the GELU page is the approximation by tanh",
    "relu": "no page for ReLU",
    "relu2": "no page for the square of ReLU",
    "silu": "no page for SiLU without a product",
}


def uncovered(config: DecoderConfig, options: Options) -> Iterator[Uncovered]:
    """Every part without a page, decode's standing ones first."""
    if options.batch == 1:
        yield _part("decode", "residual add", f"{_INSIDE} the fused output and FFN cascades")
        if config.gated and config.activation == "silu":
            yield _part("decode", "SwiGLU", f"{_INSIDE} the fused FFN cascade")
        if config.learned_positions:
            yield _part("decode", "position embedding add", "no page for one row")
    yield _part("decode", "attention", "no page for attention of one query")
    yield from _attention(config, options)
    yield from _mlp(config)
    for phase in _PHASES:
        if config.interleaved and any(group.rotary for group in config.attention):
            yield _part(
                phase,
                "RoPE",
                "no page for interleaved rotation: the RoPE page is half-split (rows of the Q and "
                "K weights can be put in its order when they are loaded)",
            )
        for sites in config.biased:
            if phase == "prefill" and sites == "LM head":
                continue
            yield _part(phase, f"{sites} bias", "no page adds a bias to the rows of a projection")
        for site, reason in config.uncovered:
            if phase == "decode" or not site.startswith("LM head"):
                yield _part(phase, site, reason)


_PHASES: tuple[Phase, ...] = ("prefill", "decode")


def _attention(config: DecoderConfig, options: Options) -> Iterator[Uncovered]:
    if config.scores:
        yield _part("prefill", "attention", "; ".join(config.scores))
    for group in config.attention:
        longer = [seq for seq in options.seqs if group.window is not None and group.window < seq]
        if not longer:
            continue
        every = group.layers == config.layers
        of = "" if every else f" in {group.layers} of {config.layers} layers"
        lengths = " and ".join(map(str, longer))
        yield _part(
            "prefill",
            f"attention{of}",
            f"no page for attention in a window: sliding_window {group.window} is shorter than a "
            f"prefill of {lengths} tokens",
        )


def _mlp(config: DecoderConfig) -> Iterator[Uncovered]:
    kind = config.activation
    if config.gated and kind == "silu":
        return
    for phase in _PHASES:
        if kind != "gelu_tanh":
            yield _part(phase, "MLP activation", NO_ACTIVATION[kind])
        if config.gated:
            yield _part(
                phase, "gate times up", "no page for a product: the SiLU-and-Mul page fixes SiLU"
            )


def _part(phase: Phase, site: str, reason: str) -> Uncovered:
    return Uncovered(phase=phase, site=site, reason=reason)
