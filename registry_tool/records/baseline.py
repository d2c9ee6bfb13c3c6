"""The baseline as a typed object: imported rows that nobody has run yet; no file access."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from registry_tool.records.fields import Part, Sha256

PATH = "baseline.json"
"""Where it stands, below the registry's root."""

_Schema = Literal["schemas/baseline-1.schema.json"]
_SCHEMA: _Schema = "schemas/baseline-1.schema.json"

_PART = r"[A-Za-z0-9][A-Za-z0-9._+-]*"
# The end of text as `fields` spells it.
RowName = Annotated[str, Meta(pattern=rf"^{_PART}/{_PART}/{_PART}(?![\s\S])", max_length=400)]


class Entry(Part, frozen=True):
    """One imported row, as it was when it was imported."""

    row: Annotated[RowName, Meta(description="The row: target/kernel/key, as below records/.")]
    record: Annotated[
        Sha256,
        Meta(
            description="SHA-256 of the record in canonical form, its human-owned fields emptied."
        ),
    ]
    artifact: Annotated[Sha256, Meta(description="SHA-256 of the imported artifact's bytes.")]


class Baseline(Part, frozen=True, kw_only=True):
    """Rows that were imported and not verified: debt that is worked off, and never grows."""

    schema: Annotated[
        _Schema,
        Meta(description="Where editors find this file's JSON Schema."),
    ] = field(name="$schema", default=_SCHEMA)
    schema_version: Annotated[Literal[1], Meta(description="Version of the baseline format.")] = 1
    rows: Annotated[list[Entry], Meta(description="The rows, in the order of their names.")]
