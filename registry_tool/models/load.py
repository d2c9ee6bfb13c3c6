"""The model that a config file describes, under a name that can stand in a path."""

from __future__ import annotations

import re
from pathlib import Path

from registry_tool.errors import UsageError
from registry_tool.models.config import read_config
from registry_tool.models.needs import derive
from registry_tool.records.model import Model

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def load_model(config: Path, name: str | None, seq: int) -> Model:
    """The needs of the config at ``config``; the default name is its file's, or its folder's.

    Raises InputError for a config that is out of scope, UsageError for a bad name or length.
    """
    if seq < 1:
        raise UsageError(f"--seq must be at least 1, found {seq}")
    if name is None:
        inside = config / "config.json" if config.is_dir() else config
        name = inside.resolve().parent.name if inside.name == "config.json" else inside.stem
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a model: letters, digits, dot, underscore and dash only",
            fix="--model NAME",
        )
    return derive(read_config(config, seq), name, seq)
