"""What joins a vision tower to the decoder, as far as a config says; no kernels."""

from __future__ import annotations

from typing import Literal

from registry_tool.models.config import ACTIVATIONS
from registry_tool.models.decoder import Activation
from registry_tool.models.document import Document
from registry_tool.models.keys import Keys
from registry_tool.models.size import Size, times

Kind = Literal["", "pool", "merger", "shuffle"]
"""Of the tower's own class; some connectors belong to the wrapper instead."""


def widths(
    document: Document, keys: Keys, kind: Kind, patches: Size, text_hidden: Size
) -> tuple[Size | None, Size | None, Size | None]:
    """Merged patches, rows for the decoder and their width, as far as the config says."""
    top = Keys(document.keys, document.path)
    merge: Size | None = None
    if document.keys.get("mm_tokens_per_image") is not None:
        return None, top.size(("mm_tokens_per_image",)), text_hidden
    if kind == "merger":
        merge = keys.size(("spatial_merge_size",))
    elif kind == "shuffle":
        merge = top.size(("scale_factor",))
    elif projector(document) is not None:
        merge = top.size(("spatial_merge_size",))
        if merge is None:
            return None, patches, text_hidden
    if merge is None:
        return None, None, None
    square = merge.value * merge.value
    if patches.value % square:
        keys.notes.append(
            f"{patches.value} patches are no multiple of {square}, which the connector joins"
        )
        return None, None, None
    rows = Size(
        patches.value // square,
        f"({patches.text}) / {merge.text} squared",
        (*patches.sources, *merge.sources),
        True,
    )
    out = keys.size(("out_hidden_size",)) if kind == "merger" else None
    return times(merge, merge), rows, out or text_hidden


def projector(document: Document) -> Activation | None:
    """The activation between the two projections of LLaVA's and Mistral 3's connector.

    None for any other connector, for one that takes the rows of several layers, and for an
    activation that is not known.
    """
    # LlavaMultiModalProjector and Mistral3MultiModalProjector; the latter merges patches before.
    layer = document.keys.get("vision_feature_layer")
    if document.keys.get("model_type") not in ("llava", "mistral3") or isinstance(layer, list):
        return None
    stated = Keys(document.keys, document.path).text("projector_hidden_act")
    return ACTIVATIONS.get(stated or "gelu")
