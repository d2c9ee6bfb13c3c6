"""A Hugging Face config.json as the few facts that needs follow from; refuses what it cannot read.

Facts and key names: the public configuration classes of transformers (families.py names the class
of each), and the configs of the models themselves. Nothing is guessed: a missing key is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from registry_tool.errors import InputError, UsageError
from registry_tool.models import attention, refusals, towers
from registry_tool.models.decoder import Activation, DecoderConfig, Fact, QKNorm
from registry_tool.models.defaults import DEFAULTS
from registry_tool.models.document import Document, read_document, short
from registry_tool.models.families import FAMILIES, TEXT_OF_WRAPPER, Family
from registry_tool.models.keys import Keys
from registry_tool.models.options import Options
from registry_tool.models.size import CONFIG, Size, scaled

HIDDEN = ("hidden_size", "n_embd", "d_model", "n_embed")
INTERMEDIATE = ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "d_ff", "inner_dim")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
VOCABULARY = ("vocab_size", "padded_vocab_size")
_POSITIONS = ("max_position_embeddings", "n_positions", "seq_length", "n_ctx")
_ACTIVATION_KEYS = ("hidden_activation", "hidden_act", "activation_function", "activation")
_ACTIVATIONS: Mapping[str, Activation] = {
    "silu": "silu",
    "swish": "silu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "quick_gelu": "quick_gelu",
    "relu": "relu",
    "relu2": "relu2",
}
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


def read_config(path: Path, options: Options | None = None) -> DecoderConfig:
    """The facts in the config.json at ``path``.

    Raises InputError, naming the deciding keys, for a file that is no config, lacks keys, or is of
    a kind whose needs are not derived; UsageError for a family that ``options`` names and nobody
    knows.
    """
    return read_decoder(read_document(path), options or Options())


def read_decoder(document: Document, options: Options) -> DecoderConfig:
    """As `read_config`, for a document that was read."""
    refusals.check(document.keys, document.path)
    tower = towers.text_tower(document)
    name, family, told = _family(document, tower, options)
    keys = Keys(tower.keys, document.path, tower.prefix, *_defaults(options))
    if keys.flag("alibi", False):
        family = replace(family, positions="alibi")
    hidden, intermediate = keys.required(HIDDEN), _intermediate(keys, family)
    layers, heads = keys.required(LAYERS), keys.required(attention.HEADS)
    vocabulary = keys.required(VOCABULARY)
    kv_heads, head_dim = attention.read_heads(keys, family)
    for key in family.must_say:
        if key not in keys.present:
            keys.lack(key)
    _check_complete(keys, document, name)
    intermediate = intermediate or scaled(4, hidden)
    layer_groups = attention.groups(keys, family, hidden, layers.value, heads, kv_heads, head_dim)
    _check_complete(keys, document, name)
    embed = keys.size(("word_embed_proj_dim",)) or hidden
    biased = _biased(keys, family)
    activation = _activation(keys, family)
    return DecoderConfig(
        family=name,
        sha256=document.sha256,
        hidden=hidden,
        intermediate=intermediate,
        layers=layers.value,
        vocabulary=vocabulary,
        attention=layer_groups,
        activation=activation,
        gated=family.gated,
        norm="RMSNorm" if keys.flag("rmsnorm", family.norm == "RMSNorm") else "LayerNorm",
        embed=embed,
        learned_positions=family.positions == "learned",
        interleaved=family.interleaved or keys.flag("rope_interleaved", False),
        qk_norm=_qk_norm(keys, family),
        extra_norms=family.extra_norms,
        scores=_scores(keys, family),
        biased=biased,
        stored=family.stored,
        uncovered=_soft_cap(keys),
        positions_limit=keys.size(_POSITIONS[:2]),
        facts=_facts(keys, document, family, name, layers, heads, vocabulary),
        notes=(
            *told,
            *family.notes,
            *keys.notes,
            *_scales(keys, layer_groups[0].head_dim),
            *_flags(keys, document),
            *towers.other_towers(document),
        ),
    )


def _family(
    document: Document, tower: towers.Tower, options: Options
) -> tuple[str, Family, list[str]]:
    """Name and row of the family, with what must be said about the choice of it."""
    if options.read_as is not None:
        if options.read_as not in FAMILIES:
            raise UsageError(f"--as {options.read_as}: known are {', '.join(FAMILIES)}")
        stated = short(tower.keys.get("model_type"))
        told = [f"read as {options.read_as} (--as); model_type is {stated}"]
        return options.read_as, FAMILIES[options.read_as], told
    kind = tower.keys.get("model_type")
    told = []
    if tower.prefix:
        outer = document.keys.get("model_type")
        told.append(
            f"multimodal (model_type {short(outer)}): the needs are those of its text "
            f"tower, {tower.prefix.removesuffix('.')}"
        )
        if kind is None and isinstance(outer, str):
            kind = TEXT_OF_WRAPPER.get(outer)
    if kind is None:
        raise _no_model_type(document, tower)
    if isinstance(kind, str) and kind in FAMILIES:
        return kind, FAMILIES[kind], told
    looks = all(
        any(key in tower.keys for key in names)
        for names in (HIDDEN, INTERMEDIATE, LAYERS, VOCABULARY)
    )
    raise InputError(
        f"`{tower.prefix}model_type` = {short(kind)} is not known; known are {', '.join(FAMILIES)}",
        path=document.path,
        fix="if its arithmetic is that of a known family, say so: --as llama" if looks else None,
    )


def _no_model_type(document: Document, tower: towers.Tower) -> InputError:
    wanted = (HIDDEN, INTERMEDIATE, LAYERS, attention.HEADS, VOCABULARY)
    lacks = [names[0] for names in wanted if not any(name in tower.keys for name in names)]
    missing = ", ".join(f"{tower.prefix}{name}" for name in ("model_type", *lacks))
    elsewhere = document.keys.get("vlm_model_name")
    fix = None
    if isinstance(elsewhere, str):
        fix = f"give the config.json of {short(elsewhere)} (vlm_model_name)"
    elif not lacks:
        fix = "if its arithmetic is that of a known family, say so: --as llama"
    return InputError(f"not a decoder's config: it lacks {missing}", path=document.path, fix=fix)


def _defaults(options: Options) -> tuple[Mapping[str, int], str]:
    if options.defaults is None:
        return {}, ""
    if options.defaults not in DEFAULTS:
        raise UsageError(f"--defaults {options.defaults}: there are those of {', '.join(DEFAULTS)}")
    return DEFAULTS[options.defaults], options.defaults


def _check_complete(keys: Keys, document: Document, name: str) -> None:
    fix = "give the complete config.json of the model"
    elsewhere = document.keys.get("vlm_model_name")
    if isinstance(elsewhere, str):
        fix = f"give the config.json of {short(elsewhere)} (vlm_model_name)"
    elif name in DEFAULTS:
        fix += f", or take the defaults of its class: --defaults {name}"
    keys.check_complete(fix)


def _intermediate(keys: Keys, family: Family) -> Size | None:
    """The MLP's width; None where the family documents 4 x hidden for null and absent ones."""
    if family.four_hidden:
        found = keys.size(INTERMEDIATE)
        if found is None:
            keys.notes.append(
                f"no width of the MLP is given: 4 times the hidden size, as {family.config_class} "
                "documents"
            )
        return found
    return keys.required(INTERMEDIATE)


def _activation(keys: Keys, family: Family) -> Activation:
    name = family.activation
    for key in _ACTIVATION_KEYS:
        stated = keys.text(key)
        if stated is None:
            continue
        if stated not in _ACTIVATIONS:
            raise keys.refuse(
                f"`{keys.named(key)}` = {short(stated)}: known are {', '.join(_ACTIVATIONS)}"
            )
        # GemmaConfig's first configs say "gelu" and mean the approximation.
        legacy = key == "hidden_act" and stated == "gelu" and family.config_class == "GemmaConfig"
        return "gelu_tanh" if legacy else _ACTIVATIONS[stated]
    if family.config_class != "ChatGLMConfig (remote code)":
        keys.notes.append(f"no activation is given: {name}, as in {family.config_class}")
    return _ACTIVATIONS[name]


def _biased(keys: Keys, family: Family) -> tuple[str, ...]:
    found = [
        one.sites for one in family.biases if one.key is None or keys.flag(one.key, one.default)
    ]
    return tuple(dict.fromkeys(found))


def _qk_norm(keys: Keys, family: Family) -> QKNorm | None:
    if not family.qk_norm:
        return None
    if family.qk_norm_key is not None and not keys.flag(family.qk_norm_key, False):
        return None
    return QKNorm(family.qk_norm, family.qk_norm_kind)


def _scores(keys: Keys, family: Family) -> tuple[str, ...]:
    """Why the FlashAttention page does not compute this model's scores, if it does not."""
    reasons = []
    cap = keys.number("attn_logit_softcapping")
    if cap:
        reasons.append(f"no page caps the scores (attn_logit_softcapping = {cap:g})")
    if family.positions == "alibi":
        reasons.append("no page adds ALiBi to the scores")
    return tuple(reasons)


def _soft_cap(keys: Keys) -> tuple[tuple[str, str], ...]:
    cap = keys.number("final_logit_softcapping")
    if not cap:
        return ()
    return (("LM head soft cap", f"no page caps the logits (final_logit_softcapping = {cap:g})"),)


def _scales(keys: Keys, head_dim: Size) -> list[str]:
    notes = []
    scalar = keys.number("query_pre_attn_scalar")
    if scalar is not None and scalar != head_dim.value:
        notes.append(
            f"query_pre_attn_scalar = {scalar:g} is not head_dim {head_dim.value}: the page divides "
            "the scores by sqrt(head_dim), the rest belongs into the weights of Q"
        )
    factors = [name for name in _FACTORS if keys.number(name) not in (None, 1.0)]
    if factors:
        notes.append(
            f"{', '.join(factors)}: factors that belong into the weights; no kernel has them"
        )
    return notes


def _flags(keys: Keys, document: Document) -> list[str]:
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
    return list(dict.fromkeys(notes))


def _facts(
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
