"""A kernel page as data: dims, knobs, constraints, tolerances, bands, work, harness, columns."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from registry_tool.records.fields import (
    Count,
    Line,
    Name,
    NonNegative,
    Part,
    Positive,
    Precision,
    RuleId,
    Size,
)

Expression = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2000,
        description="Whitelisted arithmetic over dims, knobs, herd axes, `tiles` and `variant`.",
    ),
]


class Knob(Part, frozen=True):
    """A tile size that the harness takes."""

    label: Annotated[Line, Meta(description="Short name in table headings, e.g. `kl2`.")]
    choices: Annotated[
        list[Count], Meta(min_length=1, description="Sizes that the search tries, best first.")
    ]


class Axis(Part, frozen=True):
    """One extent of the herd."""

    label: Annotated[Line, Meta(description="Short name in table headings.")]
    choices: Annotated[
        list[Count], Meta(min_length=1, description="Extents that the search tries, best first.")
    ]


class Variant(Part, frozen=True):
    """A method or code generation of the kernel."""

    precision: Annotated[Precision | None, Meta(description="Its precision tier, or null.")]
    summary: Annotated[Line, Meta(description="What it does, in a sentence.")]


class Preference(Part, frozen=True):
    """The order in which variants are tried for a shape: the first entry whose `when` holds."""

    when: Annotated[Expression | None, Meta(description="Condition on the shape; null is always.")]
    order: Annotated[list[Name], Meta(min_length=1, description="Variants, first choice first.")]


class Constraint(Part, frozen=True):
    """A condition that tile and herd must satisfy for a shape."""

    id: Annotated[Name, Meta(description="Stable name of the constraint.")]
    when: Annotated[Expression | None, Meta(description="Where it applies; null is everywhere.")]
    holds: Annotated[Expression, Meta(description="The condition that must be true.")]
    kind: Annotated[
        Literal["hard", "guideline"],
        Meta(description="`hard` is refused; `guideline` warns, since recorded rows break it."),
    ]
    reason: Annotated[Line, Meta(description="Why: what happens when it is broken.")]


class KnownBad(Part, frozen=True):
    """A tiling that was measured to be wrong although every constraint holds."""

    when: Annotated[Expression, Meta(description="Which shape and tiling.")]
    reason: Annotated[Line, Meta(description="What was measured.")]


class Tolerance(Part, frozen=True):
    """The element-wise gate: |out-ref| <= atol + rtol*|ref| for every element."""

    rtol: Annotated[NonNegative, Meta(description="Relative tolerance.")]
    atol: Annotated[NonNegative, Meta(description="Absolute tolerance.")]


class BandRule(Part, frozen=True):
    """The plausible range of mean_rel_L1: the first entry whose `when` holds."""

    when: Annotated[Expression | None, Meta(description="Where it applies; null is everywhere.")]
    low: Annotated[Expression, Meta(description="Smallest plausible value.")]
    high: Annotated[Expression, Meta(description="Largest plausible value.")]
    source: Annotated[Line, Meta(description="Where the range comes from.")]


class Work(Part, frozen=True):
    """How much one call does; throughput is this over the latency."""

    flops: Annotated[Expression | None, Meta(description="Floating point operations, or null.")]
    bytes: Annotated[Expression | None, Meta(description="Bytes moved to and from L3, or null.")]


class OutputSpec(Part, frozen=True):
    """One output buffer."""

    name: Annotated[Line, Meta(description="What it holds.")]
    elements: Annotated[Expression, Meta(description="Its number of elements.")]


class HarnessRun(Part, frozen=True):
    """One command of a hardware harness; words are `str.format` templates over checked values."""

    folder: Annotated[Line, Meta(description="Working folder below harness_root.")]
    command: Annotated[list[str], Meta(min_length=1, description="Argument list.")]


class Canary(Part, frozen=True):
    """A small configuration that is recorded as good: it tries a device that timed out."""

    shape: Annotated[dict[str, Size], Meta(description="Dimension name to size.")]
    variant: Annotated[Name | None, Meta(description="Variant, or null.")]
    tile: Annotated[dict[str, Count], Meta(description="Tile knob to size.")]
    herd: Annotated[list[Count], Meta(min_length=1, description="Extents of the herd.")]


class Harness(Part, frozen=True):
    """How a hardware target runs the kernel."""

    correctness: Annotated[HarnessRun, Meta(description="The gated run.")]
    timing: Annotated[
        HarnessRun | None, Meta(description="The timed run, repeated; null where none is printed.")
    ]
    stateful: Annotated[
        bool,
        Meta(description="Whether timing corrupts the outputs, so that its precision is ignored."),
    ] = False
    build: Annotated[
        list[Line],
        Meta(description="Build folders below harness_root: made anew for each verdict."),
    ] = field(default_factory=list)
    compile: Annotated[
        HarnessRun | None,
        Meta(description="A compile-only run, which needs no device and no lock; null without."),
    ] = None
    canary: Annotated[
        Canary | None,
        Meta(description="What to run to try a suspect device, where no row is verified yet."),
    ] = None


class Column(Part, frozen=True):
    """One column of the kernel's table of tested shapes."""

    title: Annotated[Line, Meta(description="Heading.")]
    cell: Annotated[
        Name,
        Meta(
            description="Which cell format of registry_tool.tables.columns fills it, e.g. `tile`."
        ),
    ]
    align: Annotated[
        Literal["left", "right", "center"], Meta(description="Alignment of the column.")
    ] = "left"
    argument: Annotated[
        str | None, Meta(description="What the cell format needs, e.g. a dimension or a template.")
    ] = None


class Cover(Part, frozen=True):
    """A need that a passing row of a block meets, since the block computes it inside."""

    kernel: Annotated[Name, Meta(description="Kernel page of the need.")]
    shape: Annotated[
        dict[str, Expression], Meta(description="Its dims, as expressions over the block's.")
    ]


class KernelSpec(Part, frozen=True):
    """One kernel page. Adding a kernel is adding one of these, and an emulator function."""

    schema_version: Annotated[Literal[1], Meta(description="Version of the spec format.")]
    kernel: Annotated[Name, Meta(description="Page name, also the folder name in the registry.")]
    title: Annotated[Line, Meta(description="Heading of the page.")]
    summary: Annotated[Line, Meta(description="What it computes, in a sentence or two.")]
    source: Annotated[Line, Meta(description="Where the facts of this page come from.")]
    dims: Annotated[list[Name], Meta(min_length=1, description="Dimension names, in order.")]
    shape_text: Annotated[Line, Meta(description="How a shape is written, e.g. `{M}×{K}×{N}`.")]
    bound: Annotated[Literal["compute", "memory"], Meta(description="What limits it.")]
    metric: Annotated[Literal["gflops", "gbps"], Meta(description="Unit of its throughput.")]
    tile: Annotated[dict[str, Knob], Meta(description="Tile knobs, in order.")]
    herd: Annotated[dict[str, Axis], Meta(min_length=1, description="Herd axes, in order.")]
    default_herd: Annotated[list[Count], Meta(description="The herd that lookups leave unsaid.")]
    tiles_target: Annotated[Count, Meta(description="Tiles in flight that a row should reach.")]
    variants: Annotated[dict[Name, Variant], Meta(description="Variants; empty if there are none.")]
    preference: Annotated[list[Preference], Meta(description="Which variant first, by shape.")]
    constraints: Annotated[list[Constraint], Meta(description="Legality of tile and herd.")]
    known_bad: Annotated[list[KnownBad], Meta(description="Tilings measured to be wrong.")]
    tolerances: Annotated[
        dict[str, Tolerance],
        Meta(description="Gate per precision tier; the key is `any` for a kernel without tiers."),
    ]
    band: Annotated[list[BandRule], Meta(description="Plausible accuracy; empty if unknown.")]
    work: Annotated[Work, Meta(description="Work of one call.")]
    outputs: Annotated[list[OutputSpec], Meta(min_length=1, description="Output buffers.")]
    order: Annotated[
        list[Expression], Meta(description="Sort keys of the rows of its tables, ascending.")
    ]
    columns: Annotated[list[Column], Meta(min_length=1, description="Columns of its table.")]
    emulator: Annotated[
        str | None,
        Meta(
            description="`module:function` below registry_tool.emulator, `file.py:function` beside "
            "this file for a registry's own kernel, or null if it is not emulated."
        ),
    ] = None
    harness: Annotated[
        dict[str, Harness], Meta(description="Hardware harness per target; may be empty.")
    ] = field(default_factory=dict)
    lookup: Annotated[
        str | None,
        Meta(description="Name of the consumers' lookup function, e.g. `gemm_config`, or null."),
    ] = None
    covers: Annotated[
        list[Cover],
        Meta(description="For a block of several kernels: the needs that a passing row meets."),
    ] = field(default_factory=list)


Signing = Literal["off", "optional", "required"]
_SignersFile = Annotated[str, Meta(pattern=r"^signers/[A-Za-z0-9][A-Za-z0-9._-]*(?![\s\S])")]


class Signers(Part, frozen=True):
    """Who may sign verdicts; the files stand in the registry, below signers/."""

    allowed: Annotated[
        _SignersFile,
        Meta(description="Keys and their principals, as ssh-keygen's allowed signers file."),
    ] = "signers/allowed_signers"
    revoked: Annotated[
        _SignersFile | None,
        Meta(description="Keys that are trusted no more: public keys, one a line, or a KRL."),
    ] = None
    roles: Annotated[
        dict[Line, list[Name]],
        Meta(
            description="Principal to the targets that it may sign for. Empty: every principal "
            "may sign for every target; else one that is not named may sign for none."
        ),
    ] = field(default_factory=dict)


class LockSpec(Part, frozen=True):
    """The device lock of a target: flock(2) on a file."""

    path: Annotated[Line, Meta(description="Lock file; held exclusively for each run.")]
    limit_s: Annotated[Count, Meta(description="Longest wait for it, s.")] = 1800


Level = Literal["error", "warning", "off"]

RuleLevels = Annotated[
    dict[RuleId, Level],
    Meta(
        description="How findings of a rule count: `error` refuses, `warning` only shows, `off` "
        "says nothing. Any rule may be raised; `explain` says which may be lowered."
    ),
]


class Limits(Part, frozen=True):
    """The most that a device can do: a throughput above it was not measured."""

    gflops: Annotated[Positive | None, Meta(description="Most GFLOP/s; null: as built in.")] = None
    gbps: Annotated[
        Positive | None, Meta(description="Most GB/s from and to memory; null: as built in.")
    ] = None


class Target(Part, frozen=True):
    """A device kind, or its emulation."""

    kind: Annotated[Literal["hardware", "emulated"], Meta(description="What produces its numbers.")]
    lock: Annotated[LockSpec, Meta(description="What serialises its runs.")]
    harness_root: Annotated[
        str | None, Meta(description="Tree that holds the hardware harnesses, or null.")
    ] = None
    run_limit_s: Annotated[Count, Meta(description="Longest run of one harness, s.")] = 1800
    jobs: Annotated[
        Count, Meta(description="Runs that may go side by side; hardware allows one.")
    ] = 1
    compile_limit_s: Annotated[
        Count, Meta(description="Longest compile-only run, s; it is never tried again.")
    ] = 600
    timing_runs: Annotated[
        Count, Meta(description="Timed runs of a row; its speed is their median.")
    ] = 3
    harness_lock: Annotated[
        Line | None,
        Meta(
            description="Lock that the harnesses take themselves, below TMPDIR unless it is an "
            "absolute path: never to be the lock of the target."
        ),
    ] = "npu.lock"
    diagnosis: Annotated[
        HarnessRun,
        Meta(description="What covers a kernel without a harness: the diagnosis of a model."),
    ] = HarnessRun(folder="{model}", command=["make", "diagnosis", "PEANO_INSTALL_DIR={peano}"])
    model_folders: Annotated[
        dict[Name, Line],
        Meta(description="Folder of a model below harness_root, where it is not its name."),
    ] = field(default_factory=dict)
    limits: Annotated[
        Limits | None, Meta(description="What the device can do at most; null: as built in.")
    ] = None
    rules: RuleLevels = field(default_factory=dict)
    signing: Annotated[
        Signing | None,
        Meta(description="Whether its verdicts must be signed; null: as the registry's `signing`."),
    ] = None


class Policy(Part, frozen=True):
    """registry.yaml: the targets of a registry and what it insists on."""

    schema_version: Annotated[Literal[1], Meta(description="Version of this file's format.")]
    targets: Annotated[
        dict[Name, Target],
        Meta(min_length=1, description="Targets; the first is shown in pages, JSON and shim."),
    ]
    signing: Annotated[
        Signing,
        Meta(
            description="Whether verdicts are signed: `off` looks at no signature, `optional` "
            "judges those that are there, `required` refuses rows without one."
        ),
    ] = "off"
    signers: Annotated[
        Signers | None, Meta(description="Who may sign; null: signers/allowed_signers, no roles.")
    ] = None
    lookup: Annotated[
        Literal["any", "sound", "verified"] | None,
        Meta(
            description="Which rows answer lookups that do not say: `any`, only those without "
            "caveats (`sound`), or only those that a run backs (`verified`); null leaves it open."
        ),
    ] = None
    rules: RuleLevels = field(default_factory=dict)

    def signing_of(self, target: str) -> Signing:
        """Whether verdicts of ``target`` must be signed."""
        known = self.targets.get(target)
        return self.signing if known is None or known.signing is None else known.signing

    @property
    def looks_at_signatures(self) -> bool:
        """Whether signatures are judged on any target."""
        return any(self.signing_of(name) != "off" for name in self.targets)
