"""The facts about a vision tower that its needs follow from, from its keys and its type's row.

Facts and key names: the public configuration classes of transformers that each row names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry_tool.errors import UsageError
from registry_tool.models import connector
from registry_tool.models.config import ACTIVATIONS
from registry_tool.models.decoder import Activation
from registry_tool.models.document import Document, short
from registry_tool.models.families import Norm
from registry_tool.models.keys import LARGEST, Keys
from registry_tool.models.options import Options
from registry_tool.models.size import CONFIG, Size, divided, times
from registry_tool.models.towers import Tower


@dataclass(frozen=True)
class Kind:
    """What distinguishes one type of vision tower from SigLIP's."""

    config_class: str
    norm: Norm = "LayerNorm"
    gated: bool = False
    activation: str = "gelu_pytorch_tanh"
    class_token: bool = False
    learned: bool = True
    rotary: bool = False
    width: tuple[str, ...] = ("hidden_size",)
    biased: bool = True
    one_qkv: bool = False
    connector: connector.Kind = ""


_SIGLIP = Kind("SiglipVisionConfig")
_SHUFFLED = Kind("Idefics3VisionConfig", connector="shuffle")
KINDS: Mapping[str, Kind] = {
    "siglip_vision_model": _SIGLIP,
    "idefics3_vision": _SHUFFLED,
    "idefics3": _SHUFFLED,
    "smolvlm_vision": _SHUFFLED,
    "clip_vision_model": Kind("CLIPVisionConfig", activation="quick_gelu", class_token=True),
    "pixtral": Kind(
        "PixtralVisionConfig",
        norm="RMSNorm",
        gated=True,
        activation="silu",
        learned=False,
        rotary=True,
        biased=False,
    ),
    "qwen2_vl": Kind(
        "Qwen2VLVisionConfig",
        activation="quick_gelu",
        learned=False,
        rotary=True,
        width=("embed_dim",),
        one_qkv=True,
        connector="merger",
    ),
    "qwen2_5_vl": Kind(
        "Qwen2_5_VLVisionConfig",
        norm="RMSNorm",
        gated=True,
        activation="silu",
        learned=False,
        rotary=True,
        one_qkv=True,
        connector="merger",
    ),
    "qwen3_vl": Kind(
        "Qwen3VLVisionConfig",
        rotary=True,
        one_qkv=True,
        connector="merger",
    ),
}
# A vision_config that names no model_type is of the type that the wrapper's class names.
_OF_WRAPPER: Mapping[str, str] = {
    "gemma3": "siglip_vision_model",
    "qwen2_vl": "qwen2_vl",
    "qwen2_5_vl": "qwen2_5_vl",
    "qwen2_5_omni": "qwen2_5_vl",
    "qwen3_vl": "qwen3_vl",
}


@dataclass(frozen=True)
class Vision:
    """A vision tower at one image: widths in elements, ``patches`` and ``tokens`` in rows.

    ``window`` is in patches, with the layers that have it; ``pooled`` are the rows that go to the
    decoder, ``merge`` how many patches of a square become one of them, ``out`` their width;
    ``mlp`` is the activation of a connector of two projections.
    """

    kind: Kind
    hidden: Size
    intermediate: Size
    layers: int
    heads: Size
    head_dim: Size
    patch: Size
    patches: Size
    tokens: Size
    activation: Activation
    window: tuple[Size, int] | None = None
    pooled: Size | None = None
    merge: Size | None = None
    out: Size | None = None
    mlp: Activation | None = None
    notes: tuple[str, ...] = ()


def read_vision(
    document: Document, tower: Tower, options: Options, text_hidden: Size
) -> Vision | str:
    """The facts of ``tower``, or why they do not suffice, in a line.

    Raises InputError for a value that is none, UsageError for an image that does not fit.
    """
    name = tower.keys.get("model_type")
    outer = document.keys.get("model_type")
    if not isinstance(name, str) or name not in KINDS:
        known = _OF_WRAPPER.get(outer) if isinstance(outer, str) else None
        if name is not None and not (isinstance(name, str) and name == outer and known):
            return f"its model_type {short(name)} is not known; known are {', '.join(KINDS)}"
        if known is None:
            return f"it names no model_type; known are {', '.join(KINDS)}"
        name = known
    kind = KINDS[name]
    keys = Keys(tower.keys, document.path, tower.prefix)
    hidden = keys.required(kind.width)
    layers = keys.required(("num_hidden_layers", "depth"))
    heads = keys.required(("num_attention_heads", "num_heads"))
    side = keys.required(("patch_size",))
    intermediate = _intermediate(keys, hidden)
    image = _image(keys, options)
    if image is None:
        keys.lack("image_size (or give --image HxW)")
    if keys.missing or image is None:
        return f"it lacks {', '.join(keys.missing)}"
    if hidden.value % heads.value:
        raise keys.refuse(
            f"`{keys.named(hidden.text.split(' ')[0])}` = {hidden.value} is not divisible by "
            f"its heads, {heads.value}"
        )
    head_dim = Size(
        hidden.value // heads.value,
        f"vision head_dim {hidden.value // heads.value}",
        (f"vision head_dim = {hidden.text} / {heads.text}",),
    )
    patches = _patches(keys, image, side, options)
    tokens = patches
    if kind.class_token:
        tokens = Size(patches.value + 1, f"({patches.text}) + 1 class token", patches.sources, True)
    deep = keys.raw("deepstack_visual_indexes")
    if isinstance(deep, list) and deep:
        keys.notes.append(f"{len(deep)} more connectors of the same shapes (deepstack)")
    merge, pooled, out = connector.widths(document, keys, kind.connector, patches, text_hidden)
    mlp = connector.projector(document) if pooled is not None else None
    return Vision(
        kind=kind,
        hidden=hidden,
        intermediate=intermediate,
        layers=layers.value,
        heads=heads,
        head_dim=head_dim,
        patch=_patch(keys, kind, side),
        patches=patches,
        tokens=tokens,
        activation=_activation(keys, kind),
        window=_window(keys, side, layers.value),
        pooled=pooled,
        merge=merge,
        out=out,
        mlp=mlp,
        notes=(
            f"vision tower: one image of {image[0]}x{image[1]} pixels, {tokens.value} rows",
            *(f"vision tower: {note}" for note in keys.notes),
        ),
    )


def _intermediate(keys: Keys, hidden: Size) -> Size:
    ratio = keys.size(("mlp_ratio",)) if isinstance(keys.raw("mlp_ratio"), int) else None
    if ratio is not None and not keys.has("intermediate_size"):
        return times(ratio, hidden)
    return keys.required(("intermediate_size",))


def _image(keys: Keys, options: Options) -> tuple[int, int] | None:
    """Height and width in pixels: as asked, else as the config says."""
    if options.image is not None:
        return options.image
    stated = keys.raw("image_size")
    if isinstance(stated, list) and len(stated) == 2:
        pixels = [one for one in stated if isinstance(one, int) and not isinstance(one, bool)]
        if len(pixels) == 2 and all(1 <= one <= LARGEST for one in pixels):
            return pixels[0], pixels[1]
    side = keys.size(("image_size",))
    return None if side is None else (side.value, side.value)


def _patches(keys: Keys, image: tuple[int, int], side: Size, options: Options) -> Size:
    """Rows of the tower; a convolution with a stride of one patch leaves the rest of an edge."""
    rows, columns = (pixels // side.value for pixels in image)
    source = "--image" if options.image is not None else CONFIG + keys.named("image_size")
    if not rows or not columns or rows * columns > LARGEST:
        told = f"an image of {image[0]}x{image[1]} has {rows * columns} patches of {side.value}"
        if options.image is not None:
            raise UsageError(f"--image: {told}")
        raise keys.refuse(told)
    if any(pixels % side.value for pixels in image):
        keys.notes.append(f"pixels beyond the last whole patch of {side.value} are not seen")
    text = f"({image[0]} // {side.value}) x ({image[1]} // {side.value}) patches"
    return Size(rows * columns, text, (source, *side.sources), True)


def _patch(keys: Keys, kind: Kind, side: Size) -> Size:
    """Values of a patch: the reduction width of the patch embedding, a convolution as GEMM."""
    channels = keys.size(("num_channels", "in_channels", "in_chans"))
    if channels is None:
        keys.notes.append(f"num_channels is absent: 3, as in {kind.config_class}")
        channels = Size(3, "channels 3", (kind.config_class,))
    frames = keys.size(("temporal_patch_size",))
    factors = [channels, *([frames] if frames is not None else []), side, side]
    return times(*factors)


def _activation(keys: Keys, kind: Kind) -> Activation:
    stated = keys.text("hidden_act")
    if stated is None:
        keys.notes.append(f"no activation is given: {kind.activation}, as in {kind.config_class}")
        stated = kind.activation
    if stated not in ACTIVATIONS:
        raise keys.refuse(
            f"`{keys.named('hidden_act')}` = {short(stated)}: known are {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[stated]


def _window(keys: Keys, side: Size, layers: int) -> tuple[Size, int] | None:
    """Patches of a window and the layers that have it."""
    pixels = keys.size(("window_size",))
    whole: Any = keys.raw("fullatt_block_indexes")
    if pixels is None or not isinstance(whole, list):
        return None
    if pixels.value % side.value:
        raise keys.refuse(
            f"`{keys.named('window_size')}` = {pixels.value} is no multiple of {side.text}"
        )
    across = divided(pixels, side)
    full = {one for one in whole if isinstance(one, int) and 0 <= one < layers}
    if len(full) == layers:
        return None
    return times(across, across), layers - len(full)
