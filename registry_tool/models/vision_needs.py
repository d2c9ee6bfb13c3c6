"""From a vision tower's dimensions to its needs, all of the prefill, and what has no page.

Sites begin with `vision`; `layers` counts the tower's own layers, 1 for what stands outside them.
"""

from __future__ import annotations

from collections.abc import Iterator

from registry_tool.models.calls import Call, gemm, padded
from registry_tool.models.needs import Extra
from registry_tool.models.options import Options
from registry_tool.models.size import Size, scaled, times
from registry_tool.models.uncovered import NO_ACTIVATION
from registry_tool.models.vision import Vision
from registry_tool.records.model import Uncovered


def vision_needs(vision: Vision, options: Options) -> Extra:
    """What ``vision`` adds to its decoder's needs."""
    calls = (*_outside(vision, options), *_layer(vision, options), *_connector(vision, options))
    return Extra(calls, tuple(_uncovered(vision)), vision.notes)


def _rows(size: Size, options: Options) -> Size:
    return padded(size, "M", options)


def _outside(vision: Vision, options: Options) -> Iterator[Call]:
    patches = _rows(vision.patches, options)
    yield gemm(
        "prefill", "vision patch embedding", patches, vision.patch, vision.hidden, options, 1
    )
    if vision.kind.learned:
        dims = {"N": times(_rows(vision.tokens, options), vision.hidden)}
        yield Call("prefill", "vision position add", "EltwiseAdd_bf16", dims, None, 1)


def _layer(vision: Vision, options: Options) -> Iterator[Call]:
    tokens, hidden, layers = _rows(vision.tokens, options), vision.hidden, vision.layers
    norm = vision.kind.norm
    dims = {"M": tokens, "N": hidden}
    yield Call("prefill", f"vision {norm}", f"{norm}_bf16", dims, None, layers)
    if "qkv" in options.fuse or (vision.kind.one_qkv and "stored" in options.fuse):
        three = scaled(3, hidden)
        yield gemm("prefill", "vision QKV proj (fused)", tokens, hidden, three, options, layers)
    else:
        yield gemm("prefill", "vision Q/K/V proj", tokens, hidden, hidden, options, layers)
    yield gemm("prefill", "vision O proj", tokens, hidden, hidden, options, layers)
    if vision.kind.rotary:
        dims = {"rows": times(vision.heads, tokens), "head_dim": vision.head_dim}
        yield Call("prefill", "vision RoPE Q/K", "RoPE_bf16", dims, None, layers)
    yield from _attention(vision, tokens)
    width = vision.intermediate
    if vision.kind.gated and "gate_up" in options.fuse:
        two = scaled(2, width)
        yield gemm("prefill", "vision Gate+Up proj (fused)", tokens, hidden, two, options, layers)
    else:
        up = "vision Gate/Up proj" if vision.kind.gated else "vision Up proj"
        yield gemm("prefill", up, tokens, hidden, width, options, layers)
    yield gemm("prefill", "vision Down proj", tokens, width, hidden, options, layers)
    size = {"N": times(tokens, width)}
    if vision.kind.gated and vision.activation == "silu":
        yield Call("prefill", "vision SwiGLU", "SiLU_Mul_bf16", size, None, layers)
    elif vision.activation == "gelu_tanh":
        yield Call("prefill", "vision GELU", "GELU_bf16", size, None, layers)
    dims = {"N": times(tokens, hidden)}
    yield Call("prefill", "vision residual add", "EltwiseAdd_bf16", dims, None, layers)


def _attention(vision: Vision, tokens: Size) -> Iterator[Call]:
    spans = [(tokens, vision.layers, "vision attention")]
    if vision.window is not None:
        patches, layers = vision.window
        spans = [(patches, layers, "vision attention (one window)")]
        if layers < vision.layers:
            spans.append((tokens, vision.layers - layers, "vision attention (all patches)"))
    for rows, layers, site in spans:
        dims = {
            "lq": rows,
            "lk": rows,
            "dk": vision.head_dim,
            "dv": vision.head_dim,
            "num_heads": vision.heads,
            "num_kv_heads": vision.heads,
            "causal": Size(0, "not causal: every patch sees every other"),
        }
        yield Call("prefill", site, "FlashAttention_bf16", dims, None, layers)


def _connector(vision: Vision, options: Options) -> Iterator[Call]:
    if vision.pooled is None or vision.out is None:
        return
    rows = _rows(vision.pooled, options)
    if vision.mlp is not None:
        yield from _projector(vision, rows, vision.out, options)
        return
    if vision.merge is None:
        dims = {"M": rows, "N": vision.hidden}
        yield Call("prefill", "vision connector norm", "RMSNorm_bf16", dims, None, 1)
        yield gemm("prefill", "vision connector proj", rows, vision.hidden, vision.out, options, 1)
        return
    joined = times(vision.merge, vision.hidden)
    if vision.kind.connector == "merger":
        yield gemm("prefill", "vision connector Up proj", rows, joined, joined, options, 1)
    yield gemm("prefill", "vision connector proj", rows, joined, vision.out, options, 1)


def _projector(vision: Vision, rows: Size, out: Size, options: Options) -> Iterator[Call]:
    """Two projections with an activation between them, after a merge of patches if there is one."""
    if vision.merge is not None:
        dims = {"M": _rows(vision.patches, options), "N": vision.hidden}
        yield Call("prefill", "vision connector norm", "RMSNorm_bf16", dims, None, 1)
        joined = times(vision.merge, vision.hidden)
        site = "vision connector merge proj"
        yield gemm("prefill", site, rows, joined, vision.hidden, options, 1)
    yield gemm("prefill", "vision connector Up proj", rows, vision.hidden, out, options, 1)
    if vision.mlp == "gelu_tanh":
        size = {"N": times(rows, out)}
        yield Call("prefill", "vision connector GELU", "GELU_bf16", size, None, 1)
    yield gemm("prefill", "vision connector proj", rows, out, out, options, 1)


def _uncovered(vision: Vision) -> Iterator[Uncovered]:
    kind = vision.activation
    covered = kind == "silu" if vision.kind.gated else kind == "gelu_tanh"
    if not covered:
        reason = "no page for a product" if vision.kind.gated else NO_ACTIVATION[kind]
        yield _part("vision MLP activation", reason)
    if vision.kind.biased:
        yield _part("vision bias", "no page adds a bias to the rows of a projection")
    if vision.pooled is None:
        yield _part(
            "vision connector", "the config does not say what joins the tower to the decoder"
        )
    elif vision.mlp is not None:
        if vision.mlp != "gelu_tanh":
            yield _part("vision connector activation", NO_ACTIVATION[vision.mlp])
    elif vision.merge is None:
        yield _part(
            "vision pooling",
            f"no page averages {vision.patches.value} patches to {vision.pooled.value} rows",
        )
    elif vision.kind.connector == "merger":
        yield _part("vision connector activation", NO_ACTIVATION["gelu"])


def _part(site: str, reason: str) -> Uncovered:
    return Uncovered(phase="prefill", site=site, reason=reason)
