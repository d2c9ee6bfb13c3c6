"""What one gated run proved, as a typed object: an immutable file; no file access."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from registry_tool.records.fields import (
    Count,
    Line,
    Name,
    NonNegative,
    Part,
    Precision,
    RunId,
    Sha256,
    Share,
    Size,
    Status,
    Timestamp,
    VerdictKind,
)
from registry_tool.records.record import Performance

_Schema = Literal["../../../../schemas/verdict-1.schema.json"]
_SCHEMA: _Schema = "../../../../schemas/verdict-1.schema.json"


class Subject(Part, frozen=True):
    """What was run."""

    kernel: Annotated[Name, Meta(description="Kernel page name.")]
    target: Annotated[Name, Meta(description="Device kind that ran it.")]
    shape: Annotated[dict[str, Size], Meta(description="Dimension name to size.")]
    variant: Annotated[Name | None, Meta(description="Method or code generation, or null.")]
    precision: Annotated[Precision | None, Meta(description="Precision tier, or null.")]
    tile: Annotated[dict[str, Count], Meta(description="Tile knob to size.")]
    herd: Annotated[list[Count], Meta(description="Extents of the array of compute tiles.")]


class Band(Part, frozen=True):
    """The range that mean_rel_L1 must fall in for this datapath, both ends included."""

    low: Annotated[NonNegative, Meta(description="Smallest plausible mean_rel_L1.")]
    high: Annotated[NonNegative, Meta(description="Largest plausible mean_rel_L1.")]


class Gate(Part, frozen=True):
    """What the run was held to."""

    rtol: Annotated[NonNegative, Meta(description="Relative tolerance of the element-wise test.")]
    atol: Annotated[NonNegative, Meta(description="Absolute tolerance of the element-wise test.")]
    band: Annotated[Band | None, Meta(description="Band of mean_rel_L1, or null.")]
    band_reason: Annotated[Line | None, Meta(description="Why there is no band, or null.")]
    zero_share: Annotated[
        Share | None,
        Meta(description="Share of elements that an all-zero output would fail (worst output)."),
    ]
    zero_share_reason: Annotated[
        Line | None, Meta(description="Why zero_share is unknown, or null.")
    ]


class Output(Part, frozen=True):
    """The precision line of one output buffer."""

    index: Annotated[int, Meta(ge=0, description="Index of the output buffer.")]
    elements: Annotated[Count, Meta(description="Number of elements compared.")]
    mean_rel_L1: Annotated[
        NonNegative | None, Meta(description="mean|out-ref| / mean|ref|; null if not finite.")
    ]
    max_rel: Annotated[
        NonNegative | None, Meta(description="Largest |out-ref|/|ref|; null if not finite.")
    ]
    max_abs: Annotated[
        NonNegative | None, Meta(description="Largest |out-ref|; null if not finite.")
    ]
    rtol: Annotated[NonNegative, Meta(description="Relative tolerance that the harness printed.")]
    atol: Annotated[NonNegative, Meta(description="Absolute tolerance that the harness printed.")]


class StoredLog(Part, frozen=True):
    """A captured stream as stored beside the verdict."""

    name: Annotated[Name, Meta(description="File name, in the verdict's folder.")]
    sha256: Annotated[Sha256, Meta(description="SHA-256 of the whole stream.")]
    size: Annotated[int, Meta(ge=0, description="Bytes of the whole stream.")]
    excerpt_sha256: Annotated[
        Sha256 | None,
        Meta(
            description="SHA-256 of the stored head, judged lines and tail; null if stored whole."
        ),
    ]


class Attempt(Part, frozen=True):
    """One start of the harness."""

    command: Annotated[list[str], Meta(description="Argument list, first the program.")]
    exit_status: Annotated[
        int | None, Meta(description="Exit status; negative for a signal; null if it was killed.")
    ]
    timed_out: Annotated[bool, Meta(description="Whether the time limit ended it.")]
    status: Annotated[Status, Meta(description="What this attempt alone proved.")]
    started: Annotated[Timestamp, Meta(description="Start, UTC.")]
    seconds: Annotated[NonNegative, Meta(description="Wall time of the run, s.")]
    lock_wait_s: Annotated[NonNegative, Meta(description="Time waited for the device lock, s.")]
    log: Annotated[StoredLog, Meta(description="Standard output as captured.")]
    err: Annotated[StoredLog, Meta(description="Standard error as captured.")]
    step: Annotated[
        Literal["compile", "timing"] | UnsetType,
        Meta(description="Which start this was, if not the gated run itself."),
    ] = UNSET
    reason: Annotated[
        Line | UnsetType, Meta(description="Why this start was no pass, if it did not decide.")
    ] = UNSET
    survivors: Annotated[
        list[Line] | UnsetType,
        Meta(description="Commands that were still running after it, and were ended."),
    ] = UNSET


class Fact(Part, frozen=True):
    """One thing known about the machine, or the reason why it is not."""

    value: Annotated[Line | None, Meta(description="The value, or null.")]
    reason: Annotated[Line | None, Meta(description="Why it is unknown, or null.")]


class Environment(Part, frozen=True):
    """What surrounds the numbers."""

    host: Annotated[Fact, Meta(description="Stable digest of the host, never its name.")]
    device: Annotated[Fact, Meta(description="Device as the harness reports it.")]
    driver: Annotated[Fact, Meta(description="NPU driver version.")]
    firmware: Annotated[Fact, Meta(description="NPU firmware version.")]
    power_mode: Annotated[Fact, Meta(description="NPU power mode.")]
    platform_profile: Annotated[Fact, Meta(description="ACPI platform profile.")]
    toolchain: Annotated[
        dict[str, Fact], Meta(description="Toolchain commits or versions that shape the numbers.")
    ]


class Verdict(Part, frozen=True, kw_only=True):
    """What one gated run proved: append-only, never edited."""

    schema: Annotated[
        _Schema,
        Meta(description="Where editors find this file's JSON Schema."),
    ] = field(name="$schema", default=_SCHEMA)
    schema_version: Annotated[Literal[1], Meta(description="Version of the verdict format.")] = 1
    run_id: Annotated[RunId, Meta(description="UTC time plus a short digest of the content.")]
    kind: Annotated[VerdictKind, Meta(description="How it was proved.")]
    subject: Annotated[Subject, Meta(description="What was run.")]
    status: Annotated[Status, Meta(description="The judge's answer.")]
    reason: Annotated[Line | None, Meta(description="Why it is not a pass; null for a pass.")]
    gate: Annotated[Gate, Meta(description="What the run was held to.")]
    outputs: Annotated[list[Output], Meta(description="One entry per output, by index.")]
    attempts: Annotated[list[Attempt], Meta(description="Every start of the harness, in order.")]
    profile: Annotated[
        list[Attempt] | None,
        Meta(description="The separate timing runs that the performance is of, or null."),
    ]
    performance: Annotated[
        Performance | None, Meta(description="Measured speed; null unless it passed on hardware.")
    ]
    environment: Annotated[Environment, Meta(description="What surrounds the numbers.")]
    sources: Annotated[
        dict[str, Sha256], Meta(description="SHA-256 of each harness file that produced the run.")
    ]
    tool_version: Annotated[Line, Meta(description="Version of registry-tool that judged.")]
    compile: Annotated[
        Attempt | UnsetType,
        Meta(description="The compile-only run before the gated one, if there was one."),
    ] = UNSET
    earlier_failures: Annotated[
        Count | UnsetType,
        Meta(description="Verdicts of this very recipe that did not pass, if there were any."),
    ] = UNSET
    places: Annotated[
        Literal[False] | UnsetType,
        Meta(description="Present if the compiler refused tile and herd: they do not place."),
    ] = UNSET
    canary: Annotated[
        Literal[True] | UnsetType,
        Meta(description="Present if it only tried a device that had timed out on another row."),
    ] = UNSET
    layers: Annotated[
        Count | UnsetType,
        Meta(description="How many layers a diagnosis had to show, if the model's are known."),
    ] = UNSET

    @property
    def is_flaky(self) -> bool:
        """Whether it passed only after the same recipe had not: on a retry, or in a later run."""
        return self.status == "pass" and (
            len(self.attempts) > 1 or self.earlier_failures is not UNSET
        )
