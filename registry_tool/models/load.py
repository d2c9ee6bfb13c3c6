"""The model that a config file describes, under a name that can stand in a path."""

from __future__ import annotations

import re
from pathlib import Path

from registry_tool.errors import UsageError
from registry_tool.models.config import read_decoder
from registry_tool.models.decoder import DecoderConfig
from registry_tool.models.document import Document, read_document
from registry_tool.models.needs import Derived, Extra, derive
from registry_tool.models.options import Options
from registry_tool.models.towers import vision_tower
from registry_tool.models.vision import read_vision
from registry_tool.models.vision_needs import vision_needs
from registry_tool.records.model import Model

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def load_model(config: Path, name: str | None, options: Options | None = None) -> Model:
    """The needs of the config at ``config``; the default name is its file's, or its folder's.

    Raises InputError for a config that is out of scope, UsageError for a bad name or choice.
    """
    return load_derived(config, name, options).model


def load_derived(config: Path, name: str | None, options: Options | None = None) -> Derived:
    """As `load_model`, with the arithmetic behind every need."""
    options = options or Options()
    options.check()
    if name is None:
        inside = config / "config.json" if config.is_dir() else config
        name = inside.resolve().parent.name if inside.name == "config.json" else inside.stem
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a model: letters, digits, dot, underscore and dash only",
            fix="--model NAME",
        )
    document = read_document(config)
    decoder = read_decoder(document, options)
    return derive(decoder, name, options, _vision(document, decoder, options))


def _vision(document: Document, decoder: DecoderConfig, options: Options) -> Extra:
    """The needs of the vision tower, if there is one; what is missing of it is a note."""
    tower = vision_tower(document)
    if tower is None:
        if options.image is not None:
            raise UsageError("--image: this config has no vision tower")
        return Extra()
    vision = read_vision(document, tower, options, decoder.hidden)
    if isinstance(vision, str):
        where = tower.prefix.removesuffix(".")
        return Extra(notes=(f"vision tower ({where}): its needs are not derived: {vision}",))
    return vision_needs(vision, options)
