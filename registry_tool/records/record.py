"""One registry row as a typed object: what it holds, field by field; no file access."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from registry_tool.records.fields import (
    Count,
    Date,
    Line,
    Name,
    NonNegative,
    Part,
    Positive,
    Precision,
    Remark,
    RuleId,
    Sha256,
    Size,
    Status,
    VerdictKind,
)

_Schema = Literal["../../../schemas/record-1.schema.json"]
_SCHEMA: _Schema = "../../../schemas/record-1.schema.json"


class Performance(Part, frozen=True):
    """What the timed run measured; kernel time only, without buffer synchronisation."""

    latency_us: Annotated[Positive, Meta(description="Median kernel latency in microseconds.")]
    gflops: Annotated[
        Positive | None, Meta(description="Throughput in GFLOP/s, for kernels counted in it.")
    ]
    gbps: Annotated[
        Positive | None, Meta(description="Bandwidth in GB/s, for kernels counted in it.")
    ]
    spread: Annotated[
        NonNegative | None,
        Meta(description="(max - min) / median of the timed repetitions; null for a single one."),
    ]


class VerdictLink(Part, frozen=True):
    """The verdict artifact that a row stands on."""

    status: Annotated[Status, Meta(description="What the gated run proved; a row needs `pass`.")]
    kind: Annotated[VerdictKind, Meta(description="How it was proved.")]
    artifact: Annotated[
        Line, Meta(description="Path of the verdict file, relative to the registry's root.")
    ]
    sha256: Annotated[Sha256, Meta(description="SHA-256 of the verdict file's bytes.")]
    flaky: Annotated[
        Literal[True] | UnsetType,
        Meta(description="Present if it passed only after the same recipe had not passed."),
    ] = UNSET


class Use(Part, frozen=True):
    """One call site that relies on the row."""

    model: Annotated[Remark, Meta(description="Name of the model, as in models/<name>.json.")]
    site: Annotated[Remark, Meta(description="Call site in it, e.g. `prefill Gate/Up`.")]


class Waiver(Part, frozen=True):
    """A person's decision to accept one rule's complaint about this row for a while."""

    rule: Annotated[RuleId, Meta(description="Id of the waived rule.")]
    reason: Annotated[Remark, Meta(description="Why it is acceptable.")]
    by: Annotated[Line, Meta(description="Who decided.")]
    date: Annotated[Date, Meta(description="Day of the decision, YYYY-MM-DD.")]
    expires: Annotated[Date, Meta(description="Last day on which the waiver holds, YYYY-MM-DD.")]


class Record(Part, frozen=True, kw_only=True):
    """One row of the registry: a kernel x shape x variant on a target.

    Human-owned fields are ``used_by``, ``notes`` and ``waivers``; all else comes from a verdict.
    """

    schema: Annotated[
        _Schema,
        Meta(description="Where editors find this file's JSON Schema."),
    ] = field(name="$schema", default=_SCHEMA)
    schema_version: Annotated[
        Literal[1], Meta(description="Version of the record format; migrations start from it.")
    ] = 1
    kernel: Annotated[Name, Meta(description="Kernel page name, e.g. `GEMM_bf16_in_bf16_out`.")]
    target: Annotated[Name, Meta(description="Device kind, as named in registry.yaml.")]
    shape: Annotated[
        dict[str, Size],
        Meta(
            description="Problem size: dimension name to size in elements, in the kernel's order."
        ),
    ]
    variant: Annotated[
        Name | None, Meta(description="Method or code generation; null where the kernel has none.")
    ]
    precision: Annotated[
        Precision | None,
        Meta(description="Precision tier of the variant; null where there is one."),
    ]
    tile: Annotated[dict[str, Count], Meta(description="Tile knob to size, in the kernel's order.")]
    herd: Annotated[list[Count], Meta(description="Extents of the array of compute tiles.")]
    tiles_in_flight: Annotated[Count, Meta(description="Product of the herd's extents.")]
    mean_rel_L1: Annotated[
        NonNegative | None,
        Meta(description="mean|out-ref| / mean|ref| of the worst output; null for a diagnosis."),
    ]
    max_abs: Annotated[
        NonNegative | None, Meta(description="Largest |out-ref| of the worst output.")
    ]
    max_rel: Annotated[
        NonNegative | None,
        Meta(description="Largest |out-ref|/|ref| of the worst output; thousands are normal."),
    ]
    performance: Annotated[
        Performance | None, Meta(description="Measured speed; null on an emulated target.")
    ]
    verdict: Annotated[VerdictLink, Meta(description="The run that proves this row.")]
    used_by: Annotated[list[Use], Meta(description="Who relies on the row (human-owned).")]
    notes: Annotated[list[Remark], Meta(description="Remarks, one line each (human-owned).")]
    waivers: Annotated[list[Waiver], Meta(description="Accepted complaints (human-owned).")]
    provenance: Annotated[
        dict[str, Line],
        Meta(description="Where a value that was not measured comes from: field to source."),
    ]
