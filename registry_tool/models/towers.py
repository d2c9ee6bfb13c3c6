"""Where the text tower and the vision tower of a config stand: at the top, or nested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry_tool.errors import InputError
from registry_tool.models.document import Document, short

# Objects that hold the text tower, and those that hold such an object in turn.
_TEXT = ("text_config", "llm_config", "language_config", "language_model_config")
_OUTER = ("thinker_config", "language_config", "llm_config")
_VISION = ("vision_config", "vision_tower_config", "vision_encoder_config")


@dataclass(frozen=True)
class Tower:
    """The keys of one tower, and where they stand (``text_config.``; empty at the top)."""

    keys: Mapping[str, Any]
    prefix: str


def text_tower(document: Document) -> Tower:
    """The keys of the language model; raises InputError where it is named and is no object."""
    keys: Mapping[str, Any] = document.keys
    prefix = ""
    # Two levels are enough: thinker_config.text_config.
    for _ in range(2):
        name = next((one for one in (*_TEXT, *_OUTER) if keys.get(one) is not None), None)
        if name is None:
            break
        inner = keys[name]
        if not isinstance(inner, dict):
            raise InputError(
                f"`{prefix}{name}` must be an object, found {short(inner)}", path=document.path
            )
        keys, prefix = inner, f"{prefix}{name}."
    return Tower(keys, prefix)


def vision_tower(document: Document) -> Tower | None:
    """The keys of the vision tower, if the config has one."""
    outer = document.keys.get("thinker_config")
    for keys, prefix in ((document.keys, ""), (outer, "thinker_config.")):
        for name in _VISION:
            found = keys.get(name) if isinstance(keys, dict) else None
            if found is None:
                continue
            if not isinstance(found, dict):
                raise InputError(
                    f"`{prefix}{name}` must be an object, found {short(found)}", path=document.path
                )
            return Tower(found, f"{prefix}{name}.")
    return None


def other_towers(document: Document) -> list[str]:
    """Notes on towers whose needs are not derived here."""
    notes = []
    for name in ("audio_config", "talker_config", "token2wav_config", "speech_config"):
        if document.keys.get(name):
            notes.append(f"{name}: the needs of this tower are not derived")
    processor = document.keys.get("img_processor")
    if isinstance(processor, dict):
        model = processor.get("model_name")
        told = f" ({short(model)})" if isinstance(model, str) else ""
        notes.append(
            f"vision tower: img_processor names a model{told} and gives no widths or depth; its "
            "own config.json has them"
        )
    return notes
