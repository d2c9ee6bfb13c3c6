"""What a config says beyond widths: factors, caps, quantisation, remote code, and facts to show."""

from __future__ import annotations

from registry_tool.models.decoder import Fact
from registry_tool.models.document import Document, short
from registry_tool.models.families import Family
from registry_tool.models.keys import Keys
from registry_tool.models.size import CONFIG, Size

# Factors on scores, embeddings, residuals and logits: numbers that a kernel's inputs can carry.
_FACTORS = (
    "attention_multiplier",
    "embedding_multiplier",
    "residual_multiplier",
    "logits_scaling",
    "logit_scale",
    "scale_emb",
    "scale_depth",
)


def scores(keys: Keys, family: Family) -> tuple[str, ...]:
    """Why the FlashAttention page does not compute this model's scores, if it does not."""
    reasons = []
    cap = keys.number("attn_logit_softcapping")
    if cap:
        reasons.append(f"no page caps the scores (attn_logit_softcapping = {cap:g})")
    if family.positions == "alibi":
        reasons.append("no page adds ALiBi to the scores")
    return tuple(reasons)


def caps(keys: Keys) -> tuple[tuple[str, str], ...]:
    """Caps on Q, K and V and on the logits, as sites without a page."""
    found = []
    if clip := keys.number("clip_qkv"):
        found.append(("Q/K/V clamp", f"no page clamps Q, K and V (clip_qkv = {clip:g})"))
    if cap := keys.number("final_logit_softcapping"):
        reason = f"no page caps the logits (final_logit_softcapping = {cap:g})"
        found.append(("LM head soft cap", reason))
    return tuple(found)


def scales(keys: Keys, head_dim: Size) -> list[str]:
    """Factors that no kernel has, and where they belong."""
    notes = []
    scalar = keys.number("query_pre_attn_scalar")
    if scalar is not None and scalar != head_dim.value:
        notes.append(
            f"query_pre_attn_scalar = {scalar:g} is not head_dim {head_dim.value}: the page "
            "divides the scores by sqrt(head_dim), the rest belongs into the weights of Q"
        )
    factors = [name for name in _FACTORS if keys.number(name) not in (None, 1.0)]
    if factors:
        notes.append(
            f"{', '.join(factors)}: factors that belong into the weights; no kernel has them"
        )
    return notes


def flags(keys: Keys, document: Document) -> list[str]:
    """What does not change the needs, and must be known before anybody runs them."""
    notes = []
    for holder in (document.keys, keys.present):
        quantised = holder.get("quantization_config")
        if quantised:
            method = quantised.get("quant_method") if isinstance(quantised, dict) else None
            told = f" ({short(method)})" if isinstance(method, str) else ""
            notes.append(
                f"quantization_config: a quantised checkpoint{told}; these are the needs "
                "of its weights in bf16"
            )
        if holder.get("auto_map"):
            notes.append(
                "auto_map names remote code, which was not run: the needs are those of "
                "the keys and the model_type"
            )
        for name in ("quantization", "compression_config", "quantization_bit"):
            if stated := holder.get(name):
                notes.append(
                    f"{name} {short(stated)}: a quantised checkpoint; these are the needs of its "
                    "weights in bf16"
                )
    for name in ("num_nextn_predict_layers", "mtp_num_hidden_layers"):
        if keys.raw(name):
            notes.append(f"{name}: layers that predict further tokens; their needs are not derived")
    return list(dict.fromkeys(notes))


def facts(
    keys: Keys,
    document: Document,
    family: Family,
    name: str,
    layers: Size,
    heads: Size,
    vocabulary: Size,
) -> tuple[Fact, ...]:
    """What was read that no dim shows, for `--explain`."""
    tied, where = family.tied, f"as in {family.config_class}"
    for holder, prefix in ((keys.present, keys.named("")), (document.keys, "")):
        stated = holder.get("tie_word_embeddings")
        if isinstance(stated, bool):
            tied, where = stated, f"{CONFIG}{prefix}tie_word_embeddings"
    facts = [
        Fact("family", f"{name} ({family.config_class})", CONFIG + keys.named("model_type")),
        Fact("layers", str(layers.value), "; ".join(layers.sources)),
        Fact("vocabulary", str(vocabulary.value), "; ".join(vocabulary.sources)),
        Fact("tied embeddings", "yes" if tied else "no", where),
    ]
    for key in ("rope_theta", "rope_parameters", "rope_scaling", "dtype", "torch_dtype"):
        if keys.has(key):
            facts.append(Fact(key, short(keys.raw(key)), CONFIG + keys.named(key)))
    return tuple(facts)
