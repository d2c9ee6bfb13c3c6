"""A Hugging Face config.json as the few facts that needs follow from; refuses what it cannot read.

Facts and key names: the public configuration classes of transformers (families.py names the class
of each), and the configs of the models themselves. Nothing is guessed: a missing key is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from registry_tool.models import attention, names, refusals, remarks, towers
from registry_tool.models.choice import defaults_of, family_of
from registry_tool.models.decoder import Activation, DecoderConfig, QKNorm
from registry_tool.models.defaults import DEFAULTS
from registry_tool.models.document import Document, read_document, short
from registry_tool.models.families import Family
from registry_tool.models.keys import Keys
from registry_tool.models.options import Options
from registry_tool.models.size import Size, scaled

_ACTIVATION_KEYS = ("hidden_activation", "hidden_act", "activation_function", "activation")
_MOST_LAYERS = 10_000
ACTIVATIONS: Mapping[str, Activation] = {
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
    name, family, told = family_of(document, tower, options)
    keys = Keys(tower.keys, document.path, tower.prefix, *defaults_of(options))
    if keys.flag("alibi", False):
        family = replace(family, positions="alibi")
    hidden, intermediate = keys.required(names.HIDDEN), _intermediate(keys, family)
    layers, heads = keys.required(names.LAYERS), keys.required(names.HEADS)
    vocabulary = keys.required(names.VOCABULARY)
    kv_heads, head_dim = attention.read_heads(keys, family)
    for key in family.must_say:
        if key not in keys.present:
            keys.lack(key)
    _check_complete(keys, document, name)
    if layers.value > _MOST_LAYERS:
        raise keys.refuse(f"{layers.text} is more layers than any model has ({_MOST_LAYERS})")
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
        scores=remarks.scores(keys, family),
        biased=biased,
        stored=family.stored,
        uncovered=remarks.caps(keys),
        positions_limit=keys.size(names.POSITIONS),
        facts=remarks.facts(keys, document, family, name, layers, heads, vocabulary),
        notes=(
            *told,
            *family.notes,
            *keys.notes,
            *remarks.scales(keys, layer_groups[0].head_dim),
            *remarks.flags(keys, document),
            *towers.other_towers(document),
        ),
    )


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
        found = keys.size(names.INTERMEDIATE)
        if found is None:
            keys.notes.append(
                f"no width of the MLP is given: 4 times the hidden size, as {family.config_class} "
                "documents"
            )
        return found
    return keys.required(names.INTERMEDIATE)


def _activation(keys: Keys, family: Family) -> Activation:
    name = family.activation
    for key in _ACTIVATION_KEYS:
        stated = keys.text(key)
        if stated is None:
            continue
        if stated not in ACTIVATIONS:
            raise keys.refuse(
                f"`{keys.named(key)}` = {short(stated)}: known are {', '.join(ACTIVATIONS)}"
            )
        # GemmaConfig's first configs say "gelu" and mean the approximation.
        legacy = key == "hidden_act" and stated == "gelu" and family.config_class == "GemmaConfig"
        return "gelu_tanh" if legacy else ACTIVATIONS[stated]
    if family.config_class != "ChatGLMConfig (remote code)":
        keys.notes.append(f"no activation is given: {name}, as in {family.config_class}")
    return ACTIVATIONS[name]


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
