"""JSON Schemas of the registry's files, generated from the typed objects; schemas/ holds them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from registry_tool.records.baseline import Baseline
from registry_tool.records.fields import Part
from registry_tool.records.layout import Layout
from registry_tool.records.model import Model
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec, Policy
from registry_tool.records.verdict import Verdict

TYPES: dict[str, type[Part]] = {
    "record-1": Record,
    "verdict-1": Verdict,
    "kernel-1": KernelSpec,
    "registry-1": Policy,
    "model-1": Model,
    "baseline-1": Baseline,
    "layout-1": Layout,
}


@cache
def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) called ``name``, e.g. ``record-1``."""
    schema = msgspec.json.schema(TYPES[name])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:registry-tool:{name}",
        "title": TYPES[name].__name__,
        **schema,
    }


def schema_for(type_: type[Part]) -> dict[str, Any]:
    """The JSON Schema of one of the file types."""
    return schema_of(next(name for name, known in TYPES.items() if known is type_))


def schema_files() -> dict[str, bytes]:
    """File name to bytes of every schema, as they stand in schemas/ and in each registry."""
    import json

    return {
        f"{name}.schema.json": (json.dumps(schema_of(name), indent=2) + "\n").encode()
        for name in TYPES
    }


def write(folder: Path) -> None:
    """Write every schema into ``folder`` (`make docs`)."""
    for name, data in schema_files().items():
        (folder / name).write_bytes(data)
