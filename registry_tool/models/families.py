"""One row per model_type: what sets it apart from plain Llama arithmetic. Data, not code.

Facts and key names: the public configuration classes of transformers (each row names its own), and
for those that came as remote code the keys of the published configs. No row gives a width: what a
config leaves out is derived only where its class derives it from other keys of the same file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Norm = Literal["RMSNorm", "LayerNorm"]
# What an absent head_dim means: hidden / heads, or that the config is incomplete.
HeadDim = Literal["hidden / heads", "named"]
# How many heads of keys: as the key says, an absent one meaning one per head or an incomplete
# config; or by a rule of the family (see attention.py).
KvHeads = Literal["per head", "named", "falcon", "multi_query", "groups", "every head"]
Positions = Literal["rope", "learned", "alibi", "none"]
# Which layers see a window: all, those from max_window_layers on where use_sliding_window is true,
# every other one from the first, all but every n-th, or those that layer_types must then name.
Pattern = Literal["all", "qwen", "alternate", "every", "listed"]


@dataclass(frozen=True)
class Window:
    """Sliding windows: which layers, and what absent keys mean in the class."""

    pattern: Pattern = "all"
    size_if_absent: int | None = None
    every: int = 0


@dataclass(frozen=True)
class Bias:
    """Which projections carry a bias: where ``key`` is true, ``default`` where it is absent."""

    sites: str
    key: str | None = None
    default: bool = True


@dataclass(frozen=True)
class Family:
    """What distinguishes one model_type; everything left out is as in Llama.

    ``activation`` is the class's own where the file names none. ``four_hidden``: a null or absent
    intermediate size is 4 x hidden. ``stored``: projections that the checkpoint holds as one
    weight, by its name. ``extra_norms``: norms of the hidden width beyond the usual ones.
    ``qk_norm``: norms of Q and K per head or over their whole width, always or where a key is true.
    ``rotary_share``: part of head_dim that is rotated, where no key says. ``full_head_dim``: the
    key of the head_dim of layers without a window. ``must_say``: keys without which the config is
    incomplete, because the class's default would change the layers' make.
    """

    config_class: str
    norm: Norm = "RMSNorm"
    gated: bool = True
    activation: str = "silu"
    head_dim: HeadDim = "hidden / heads"
    kv_heads: KvHeads = "per head"
    four_hidden: bool = False
    window: Window = Window()
    positions: Positions = "rope"
    rotary_share: float = 1.0
    interleaved: bool = False
    no_rope: Literal["", "listed", "full layers", "full beside sliding"] = ""
    qk_norm: Literal["", "head", "width"] = ""
    qk_norm_key: str | None = None
    qk_norm_kind: Norm = "RMSNorm"
    extra_norms: str = ""
    biases: tuple[Bias, ...] = (
        Bias("Q/K/V and O", "attention_bias", False),
        Bias("MLP", "mlp_bias", False),
    )
    stored: Mapping[str, str] = field(default_factory=dict)
    tied: bool = False
    full_head_dim: str = ""
    must_say: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


_ALL = Bias("Q/K/V, O and MLP")
_QKV = Bias("Q/K/V")
_ONE_QKV = {"qkv": "query_key_value"}
_GEMMA_NORM = "RMSNorm multiplies by 1 + weight: add the 1 when the weights are loaded"
_LAYERS_NO_BIAS = "LayerNorm without a bias: run the page with zeros as its bias"
_PHI_BIASES = (_ALL, Bias("LM head"))

_QWEN2 = Family(
    "Qwen2Config",
    kv_heads="named",
    window=Window("qwen", 4096),
    biases=(_QKV,),
)
_QWEN3 = Family(
    "Qwen3Config",
    head_dim="named",
    kv_heads="named",
    window=Window("qwen", 4096),
    qk_norm="head",
    biases=(Bias("Q/K/V and O", "attention_bias", False),),
)
_GEMMA3 = Family(
    "Gemma3TextConfig",
    activation="gelu_pytorch_tanh",
    head_dim="named",
    kv_heads="named",
    window=Window("every", 4096, 6),
    qk_norm="head",
    extra_norms="RMSNorm after attention and MLP",
    tied=True,
    notes=(_GEMMA_NORM,),
)
_PHI = Family(
    "PhiConfig",
    norm="LayerNorm",
    gated=False,
    activation="gelu_new",
    rotary_share=0.5,
    qk_norm="head",
    qk_norm_key="qk_layernorm",
    qk_norm_kind="LayerNorm",
    biases=_PHI_BIASES,
)
_PHI3 = Family("Phi3Config", stored={"qkv": "qkv_proj", "gate_up": "gate_up_proj"}, biases=())
_FALCON = Family(
    "FalconConfig",
    norm="LayerNorm",
    gated=False,
    activation="gelu",
    kv_heads="falcon",
    four_hidden=True,
    biases=(Bias("Q/K/V, O and MLP", "bias", False),),
    stored=_ONE_QKV,
    tied=True,
)
_GPT2 = Family(
    "GPT2Config",
    norm="LayerNorm",
    gated=False,
    activation="gelu_new",
    kv_heads="every head",
    four_hidden=True,
    positions="learned",
    biases=(_ALL,),
    stored={"qkv": "c_attn"},
    tied=True,
)
_COHERE = Family(
    "CohereConfig",
    norm="LayerNorm",
    interleaved=True,
    qk_norm="head",
    qk_norm_key="use_qk_norm",
    qk_norm_kind="LayerNorm",
    biases=(Bias("Q/K/V and O", "attention_bias", False),),
    tied=True,
    notes=(_LAYERS_NO_BIAS,),
)
_GLM = Family(
    "GlmConfig",
    head_dim="named",
    kv_heads="named",
    rotary_share=0.5,
    interleaved=True,
    biases=(Bias("Q/K/V", "attention_bias", True),),
    stored={"gate_up": "gate_up_proj"},
)

FAMILIES: Mapping[str, Family] = {
    "llama": Family("LlamaConfig"),
    "mistral": Family("MistralConfig", kv_heads="named", window=Window("all", 4096), biases=()),
    "ministral": Family("MinistralConfig", kv_heads="named", window=Window("all", 4096), biases=()),
    "ministral3": Family("Ministral3Config", head_dim="named", kv_heads="named", biases=()),
    "qwen2": _QWEN2,
    "qwen2_vl": _QWEN2,
    "qwen2_vl_text": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen2_5_vl_text": _QWEN2,
    "qwen2_5_omni_text": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_vl_text": _QWEN3,
    "gemma": Family(
        "GemmaConfig",
        activation="gelu_pytorch_tanh",
        head_dim="named",
        kv_heads="named",
        biases=(Bias("Q/K/V and O", "attention_bias", False),),
        tied=True,
        notes=(_GEMMA_NORM,),
    ),
    "gemma2": Family(
        "Gemma2Config",
        activation="gelu_pytorch_tanh",
        head_dim="named",
        kv_heads="named",
        window=Window("alternate", 4096),
        extra_norms="RMSNorm after attention and MLP",
        tied=True,
        notes=(_GEMMA_NORM,),
    ),
    "gemma3_text": _GEMMA3,
    "gemma3": _GEMMA3,
    "gemma4_text": Family(
        "Gemma4TextConfig",
        activation="gelu_pytorch_tanh",
        head_dim="named",
        kv_heads="named",
        window=Window("every", 512, 6),
        qk_norm="head",
        full_head_dim="global_head_dim",
        extra_norms="RMSNorm after attention and MLP",
        tied=True,
        must_say=("hidden_size_per_layer_input", "global_head_dim"),
        notes=("V is normed as K is, without weights: run the RMSNorm page with ones",),
    ),
    "phi": _PHI,
    "phi-msft": Family(
        "PhiConfig (remote code)",
        norm="LayerNorm",
        gated=False,
        activation="gelu_new",
        four_hidden=True,
        rotary_share=0.5,
        biases=_PHI_BIASES,
        stored={"qkv": "Wqkv"},
    ),
    "phi3": _PHI3,
    "phi3_v": _PHI3,
    "smollm3": Family(
        "SmolLM3Config", kv_heads="named", window=Window("listed"), no_rope="listed", tied=True
    ),
    "starcoder2": Family(
        "Starcoder2Config",
        norm="LayerNorm",
        gated=False,
        activation="gelu_pytorch_tanh",
        kv_heads="named",
        biases=(Bias("Q/K/V, O and MLP", "use_bias"),),
        tied=True,
    ),
    "falcon": _FALCON,
    "RefinedWeb": _FALCON,
    "RefinedWebModel": _FALCON,
    "gpt2": _GPT2,
    "gpt_bigcode": Family(
        "GPTBigCodeConfig",
        norm="LayerNorm",
        gated=False,
        activation="gelu_pytorch_tanh",
        kv_heads="multi_query",
        four_hidden=True,
        positions="learned",
        biases=(_ALL,),
        stored={"qkv": "c_attn"},
        tied=True,
    ),
    "gpt_neox": Family(
        "GPTNeoXConfig",
        norm="LayerNorm",
        gated=False,
        activation="gelu",
        kv_heads="every head",
        rotary_share=0.25,
        biases=(Bias("Q/K/V and O", "attention_bias"), Bias("MLP")),
        stored=_ONE_QKV,
    ),
    "gptj": Family(
        "GPTJConfig",
        norm="LayerNorm",
        gated=False,
        activation="gelu_new",
        kv_heads="every head",
        four_hidden=True,
        interleaved=True,
        biases=(Bias("MLP"), Bias("LM head")),
    ),
    "opt": Family(
        "OPTConfig",
        norm="LayerNorm",
        gated=False,
        activation="relu",
        kv_heads="every head",
        positions="learned",
        biases=(Bias("Q/K/V, O and MLP", "enable_bias"),),
        tied=True,
    ),
    "bloom": Family(
        "BloomConfig",
        norm="LayerNorm",
        gated=False,
        activation="gelu_pytorch_tanh",
        kv_heads="every head",
        four_hidden=True,
        positions="alibi",
        biases=(_ALL,),
        stored=_ONE_QKV,
        tied=True,
        notes=("the embeddings have a LayerNorm of their own, of the layers' shape",),
    ),
    "chatglm": Family(
        "ChatGLMConfig (remote code)",
        kv_heads="groups",
        rotary_share=0.5,
        interleaved=True,
        biases=(
            Bias("Q/K/V", "add_qkv_bias", False),
            Bias("Q/K/V, O and MLP", "add_bias_linear", False),
        ),
        stored={"qkv": "query_key_value", "gate_up": "dense_h_to_4h"},
    ),
    "glm": _GLM,
    "glm4": Family(
        "Glm4Config",
        head_dim="named",
        kv_heads="named",
        rotary_share=0.5,
        interleaved=True,
        biases=_GLM.biases,
        stored=_GLM.stored,
        extra_norms="RMSNorm after attention and MLP",
    ),
    "olmo": Family(
        "OlmoConfig",
        norm="LayerNorm",
        biases=(Bias("Q/K/V and O", "attention_bias", False),),
        notes=("LayerNorm without weights: run the page with ones and zeros",),
    ),
    "olmo2": Family(
        "Olmo2Config", qk_norm="width", biases=(Bias("Q/K/V and O", "attention_bias", False),)
    ),
    "olmo3": Family(
        "Olmo3Config",
        qk_norm="width",
        window=Window("every", 4096, 4),
        biases=(Bias("Q/K/V and O", "attention_bias", False),),
    ),
    "internlm2": Family(
        "InternLM2Config (remote code)",
        biases=(Bias("Q/K/V and O", "bias"),),
        stored={"qkv": "wqkv"},
    ),
    "minicpm": Family("MiniCPMConfig (remote code)", tied=True),
    "ernie4_5": Family(
        "Ernie4_5Config",
        head_dim="named",
        kv_heads="named",
        interleaved=True,
        biases=(Bias("Q/K/V, O and MLP", "use_bias", False),),
        tied=True,
    ),
    "exaone4": Family(
        "Exaone4Config",
        kv_heads="named",
        window=Window("every", 4096, 4),
        no_rope="full beside sliding",
        qk_norm="head",
        biases=(),
    ),
    "arcee": Family("ArceeConfig", gated=False, activation="relu2"),
    "nemotron": Family(
        "NemotronConfig",
        norm="LayerNorm",
        gated=False,
        activation="relu2",
        rotary_share=0.5,
        notes=("LayerNorm multiplies by 1 + weight: add the 1 when the weights are loaded",),
    ),
    "granite": Family("GraniteConfig", tied=False),
    "cohere": _COHERE,
    "cohere2": Family(
        "Cohere2Config",
        norm="LayerNorm",
        interleaved=True,
        window=Window("every", 4096, 4),
        no_rope="full layers",
        biases=(Bias("Q/K/V and O", "attention_bias", False),),
        tied=True,
        notes=(_LAYERS_NO_BIAS,),
    ),
    "stablelm": Family(
        "StableLmConfig",
        norm="LayerNorm",
        rotary_share=0.25,
        kv_heads="named",
        qk_norm="head",
        qk_norm_key="qk_layernorm",
        qk_norm_kind="LayerNorm",
        biases=(Bias("Q/K/V", "use_qkv_bias", False),),
    ),
}

# A wrapper's text tower that names no model_type is of the class that the wrapper names.
TEXT_OF_WRAPPER: Mapping[str, str] = {
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "qwen2_vl": "qwen2_vl_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen2_audio": "qwen2",
    "internvl": "qwen2",
    "llava_onevision": "qwen2",
    "llava": "llama",
    "llava_next": "llama",
    "vipllava": "llama",
    "video_llava": "llama",
    "idefics2": "mistral",
    "idefics3": "llama",
    "smolvlm": "llama",
    "mistral3": "mistral",
    "paligemma": "gemma",
    "aya_vision": "cohere2",
}
