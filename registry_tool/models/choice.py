"""Which family's row a config is read by: by its model_type, or as a person said."""

from __future__ import annotations

from collections.abc import Mapping

from registry_tool.errors import InputError, UsageError
from registry_tool.models import names, towers
from registry_tool.models.defaults import DEFAULTS
from registry_tool.models.document import Document, short
from registry_tool.models.families import FAMILIES, TEXT_OF_WRAPPER, Family
from registry_tool.models.options import Options

# Keys that name the model whose config has the widths.
_ELSEWHERE = {"vlm_model_name": "", "base_model_name_or_path": ": this is an adapter"}
# Files that stand beside a config.json, by a key of theirs.
_OTHER_FILES = {
    "weight_map": "an index of weights",
    "tokenizer_class": "a tokenizer's config",
    "added_tokens_decoder": "a tokenizer's config",
    "image_processor_type": "a preprocessor's config",
    "_from_model_config": "a generation config",
}


def family_of(
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
            f"multimodal (model_type {short(outer)}): its decoder is the text tower, "
            f"{tower.prefix.removesuffix('.')}"
        )
        if kind is None and isinstance(outer, str):
            kind = TEXT_OF_WRAPPER.get(outer)
    if kind is None:
        raise _no_model_type(document, tower)
    if isinstance(kind, str) and kind in FAMILIES:
        return kind, FAMILIES[kind], told
    looks = all(
        any(key in tower.keys for key in those)
        for those in (names.HIDDEN, names.INTERMEDIATE, names.LAYERS, names.VOCABULARY)
    )
    raise InputError(
        f"`{tower.prefix}model_type` = {short(kind)} is not known; known are {', '.join(FAMILIES)}",
        path=document.path,
        fix="if its arithmetic is that of a known family, say so: --as llama" if looks else None,
    )


def _no_model_type(document: Document, tower: towers.Tower) -> InputError:
    wanted = (names.HIDDEN, names.INTERMEDIATE, names.LAYERS, names.HEADS, names.VOCABULARY)
    lacks = [those[0] for those in wanted if not any(name in tower.keys for name in those)]
    missing = ", ".join(f"{tower.prefix}{name}" for name in ("model_type", *lacks))
    fix = None
    if not lacks:
        fix = "if its arithmetic is that of a known family, say so: --as llama"
    for key, told in _ELSEWHERE.items():
        if isinstance(named := document.keys.get(key), str):
            fix = f"give the config.json of {short(named)} ({key}{told})"
    for key, what in _OTHER_FILES.items():
        if key in document.keys and lacks:
            fix = f"{key} is a key of {what}: give the config.json beside it"
    return InputError(f"not a decoder's config: it lacks {missing}", path=document.path, fix=fix)


def defaults_of(options: Options) -> tuple[Mapping[str, int], str]:
    """The defaults that were asked for, and their name; raises UsageError if there are none."""
    if options.defaults is None:
        return {}, ""
    if options.defaults not in DEFAULTS:
        raise UsageError(f"--defaults {options.defaults}: there are those of {', '.join(DEFAULTS)}")
    return DEFAULTS[options.defaults], options.defaults
