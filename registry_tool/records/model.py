"""A model's needs as a typed object, with the digest of the config that they came from."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from registry_tool.records.fields import Count, Line, Name, Part, Precision, Sha256, Size

_Schema = Literal["../schemas/model-1.schema.json"]
_SCHEMA: _Schema = "../schemas/model-1.schema.json"


Phase = Literal["prefill", "decode"]


class Need(Part, frozen=True):
    """A kernel x shape x tier that a model requires at one call site."""

    phase: Annotated[Phase, Meta(description="When it runs.")]
    site: Annotated[Line, Meta(description="Call site, e.g. `Gate/Up proj`.")]
    kernel: Annotated[Name, Meta(description="Kernel page name.")]
    precision: Annotated[Precision | None, Meta(description="Tier asked for first, or null.")]
    shape: Annotated[dict[str, Size], Meta(description="Dimension name to size.")]
    layers: Annotated[
        Count | UnsetType,
        Meta(
            description=(
                "How many layers have it, where not every decoder layer does: of a vision tower "
                "its own layers, 1 for what stands outside them."
            )
        ),
    ] = UNSET


class Uncovered(Part, frozen=True):
    """Something a model computes for which there is no kernel page; it blocks nothing."""

    phase: Annotated[Phase, Meta(description="When it runs.")]
    site: Annotated[Line, Meta(description="Call site.")]
    reason: Annotated[Line, Meta(description="Why no page covers it.")]


class Model(Part, frozen=True, kw_only=True):
    """What one model needs of the registry."""

    schema: Annotated[
        _Schema,
        Meta(description="Where editors find this file's JSON Schema."),
    ] = field(name="$schema", default=_SCHEMA)
    schema_version: Annotated[Literal[1], Meta(description="Version of the model format.")] = 1
    model: Annotated[Name, Meta(description="Name of the model.")]
    config_sha256: Annotated[Sha256, Meta(description="SHA-256 of the config file's bytes.")]
    seq: Annotated[Count, Meta(description="Prefill length in tokens.")]
    needs: Annotated[list[Need], Meta(description="Kernel x shape x tier, per call site.")]
    uncovered: Annotated[list[Uncovered], Meta(description="What no page covers.")]
    notes: Annotated[list[Line], Meta(description="What was assumed on the way.")]
    layers: Annotated[
        Count | UnsetType, Meta(description="Number of decoder layers, if it is known.")
    ] = UNSET
    seqs: Annotated[
        list[Count] | UnsetType,
        Meta(description="Every prefill length, where there are several; seq is the first."),
    ] = UNSET
    batch: Annotated[
        Count | UnsetType, Meta(description="Sequences at a time, where there are several.")
    ] = UNSET
    options: Annotated[
        list[Line] | UnsetType,
        Meta(description="Further choices that the needs follow from, as one types them."),
    ] = UNSET
