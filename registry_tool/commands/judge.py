"""Read a saved harness log and say what it proves, and why it may have failed.

A pass needs every signal to agree: exit status 0, PASS! alone on its line, a precision line with
every element for each output, tolerances no looser than asked. Without --exit-status the answer
is at best `unverified`. Exit 0 only for a pass.

With --kernel and --shape the kernel's page says what the run is held to (elements of every output,
tolerance, band, target) unless another option does, and its constraints say more of the causes.
"""

from __future__ import annotations

import argparse
import errno
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from registry_tool.commands.common import (
    find,
    parse_herd,
    parse_shape,
    parse_sizes,
    say,
    say_json,
)
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, EXIT_USAGE, RegistryError, UsageError

if TYPE_CHECKING:
    from registry_tool.records.spec import KernelSpec, Policy
    from registry_tool.records.verdict import Band
    from registry_tool.verifier.diagnose import Cause, Setup
    from registry_tool.verifier.logs.facts import LogFacts
    from registry_tool.verifier.logs.judge import Judgement
    from registry_tool.verifier.logs.request import Request

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `judge`."""
    parser.add_argument("log", metavar="LOG", help="the captured output; - for standard input")
    parser.add_argument(
        "--err",
        metavar="FILE",
        help="standard error, captured apart: it can only speak against the run "
        "(default: RUN.err beside RUN.log, as verify keeps them)",
    )
    ending = parser.add_argument_group("how the run ended")
    ending.add_argument("--exit-status", type=int, metavar="N", help="negative for a signal")
    ending.add_argument("--timed-out", action="store_true", help="its time limit ended it")
    asked = parser.add_argument_group("what was asked of it")
    asked.add_argument(
        "--elements",
        metavar="N[,N]",
        help="elements of the outputs, in order; outputs beyond those named are held to no count",
    )
    asked.add_argument("--outputs", type=int, metavar="N", help="number of outputs")
    asked.add_argument("--rtol", type=float, metavar="R", help="relative tolerance")
    asked.add_argument("--atol", type=float, metavar="A", help="absolute tolerance")
    asked.add_argument("--target", metavar="T", help="device that it must have run on")
    asked.add_argument(
        "--mode",
        choices=("harness", "diagnosis", "verify"),
        default="harness",
        help="diagnosis judges the per-layer table of `make diagnosis`, whatever that printed; "
        "verify is a model's end-to-end verification, which is at best unverified of a kernel",
    )
    asked.add_argument("--layers", type=int, metavar="N", help="layers of the model (diagnosis)")
    row = parser.add_argument_group("what was run: supplies what is asked, and computes causes")
    row.add_argument("--kernel", metavar="NAME", help="kernel page name")
    row.add_argument("--shape", metavar="DIM=N,...", help="e.g. M=2048,K=1024,N=3072")
    row.add_argument("--variant", metavar="NAME", help="default: the auto rule's, without its band")
    row.add_argument("--tile", metavar="KNOB=N,...", help="every tile knob")
    row.add_argument("--herd", metavar="AxB", help="extents of the herd")


def run(args: argparse.Namespace) -> int:
    """Judge the log and print the verdict; exit 0 for a pass, 1 otherwise, 2 if unreadable."""
    from registry_tool.verifier.diagnose import causes
    from registry_tool.verifier.logs.judge import Judgement, judge

    found = _setup(args)
    request = _request(args, found)
    try:
        facts = _read(args.log)
        errors = _read_errors(args)
    except OSError as error:
        name = str(error.filename or args.log).encode("utf-8", "backslashreplace").decode()
        reason = f"{name} cannot be read: {error.strerror or error}"
        unread = Judgement("error", reason, (), None, None, None)
        _print(args, unread, [])
        return EXIT_USAGE
    judgement = judge(facts, args.exit_status, args.timed_out, request, errors)
    if args.mode == "verify":
        judgement = _end_to_end(judgement)
    _print(args, judgement, causes(facts, judgement, errors, found and found[0]))
    return EXIT_OK if judgement.status == "pass" else EXIT_FINDINGS


def _end_to_end(judgement: Judgement) -> Judgement:
    """What a model's whole run says of a kernel: that something failed, or nothing at all."""
    from dataclasses import replace

    if judgement.status not in ("pass", "incomplete", "unverified"):
        return judgement
    reason = "a model's end-to-end verification, which is no verdict on any of its kernels"
    return replace(judgement, status="unverified", reason=reason)


def _read(log: str) -> LogFacts:
    from registry_tool.verifier.logs.harness_log import LogReader, read_log

    if log != "-":
        return read_log(_regular(log))
    reader = LogReader()
    for chunk in _standard_input():
        reader.feed(chunk)
    return reader.finish()


def _read_errors(args: argparse.Namespace) -> LogFacts | None:
    from registry_tool.verifier.logs.harness_log import read_log

    if args.err is not None:
        return read_log(_regular(args.err))
    beside = Path(args.log).with_suffix(".err")
    if args.log != "-" and Path(args.log).suffix == ".log" and beside.is_file():
        return read_log(beside)
    return None


def _regular(name: str) -> Path:
    """``name`` as a path of a file; OSError for what could be waited for (a pipe) or has no end."""
    path = Path(name)
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a folder says it is one
        raise OSError(
            errno.EINVAL,
            "it is no regular file (for a pipe: COMMAND | registry-tool judge -)",
            name,
        )
    return path


def _standard_input() -> Iterator[bytes]:
    while chunk := sys.stdin.buffer.read(1 << 20):
        yield chunk


def _setup(args: argparse.Namespace) -> tuple[Setup, str | None] | None:
    """What was run, and the target that it belongs to; None if no kernel is named."""
    from registry_tool.records import kernel
    from registry_tool.verifier.diagnose import Setup

    if args.kernel is None:
        for name in ("shape", "variant", "tile", "herd"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name} says nothing without --kernel", fix="add --kernel NAME")
        return None
    specs, policy = _specs(args)
    spec = specs.get(args.kernel)
    if spec is None:
        raise UsageError(f"unknown kernel {args.kernel!r}; known are {', '.join(specs)}")
    if args.shape is None:
        example = ",".join(f"{dim}=SIZE" for dim in spec.dims)
        raise UsageError(f"--kernel {spec.kernel} needs a shape", fix=f"add --shape {example}")
    shape = parse_shape(spec, [args.shape])
    if args.variant is not None and args.variant not in spec.variants:
        known = ", ".join(spec.variants) or "none"
        raise UsageError(f"{spec.kernel} has no variant {args.variant!r}; known are {known}")
    variant = args.variant or kernel.variant_order(spec, shape)[0]
    setup = Setup(
        spec,
        shape,
        variant,
        parse_sizes(args.tile, spec.tile, "tile") or {},
        tuple(parse_herd(args.herd, spec) or ()),
    )
    return setup, _target(spec, policy)


def _specs(args: argparse.Namespace) -> tuple[Mapping[str, KernelSpec], Policy | None]:
    """The specs in force: those of the registry from here upward, else the built-in ones."""
    from registry_tool.records import catalog
    from registry_tool.store import registry, snapshot

    try:
        root = find(args)
    except RegistryError:
        return catalog.built_in(), None
    loaded = registry.load(snapshot.of_worktree(root))
    return loaded.specs, loaded.policy


def _target(spec: KernelSpec, policy: Policy | None) -> str | None:
    """The device that a log of this kernel is expected from: hardware, where there is any."""
    if policy is None:
        return next(iter(spec.harness), None)
    hardware = [name for name, target in policy.targets.items() if target.kind == "hardware"]
    return next((name for name in hardware if name in spec.harness), next(iter(policy.targets)))


def _request(args: argparse.Namespace, found: tuple[Setup, str | None] | None) -> Request:
    """What the options ask, over what the page of the kernel asks."""
    from dataclasses import replace

    from registry_tool.records import kernel
    from registry_tool.verifier.logs.request import Request

    given = _given(args)
    if found is None:
        return given
    setup, target = found
    spec = setup.spec
    tolerance = kernel.tolerance(spec, kernel.precision_of(spec, setup.variant))
    elements = tuple(kernel.output_elements(spec, setup.shape))
    page = Request(
        elements=elements,
        outputs=len(elements),
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        target=target,
        # Which band it is depends on the variant, which nobody named.
        band=None if spec.variants and args.variant is None else _band(setup),
    )
    if given.elements is not None:
        elements = (*given.elements, *elements[len(given.elements) :])
        page = replace(page, elements=elements, outputs=len(elements))
    named = {
        name: value
        for name in ("outputs", "rtol", "atol", "target")
        if (value := getattr(given, name)) is not None
    }
    return replace(page, mode=given.mode, layers=given.layers, **named)


def _band(setup: Setup) -> Band | None:
    """The band of the page, or None if there is none or it needs a tile that nobody named."""
    from registry_tool.records import kernel
    from registry_tool.records.expressions import ExpressionError

    try:
        return kernel.band(setup.spec, setup.shape, setup.variant, setup.tile, setup.herd)
    except ExpressionError:
        return None


def _given(args: argparse.Namespace) -> Request:
    from registry_tool.verifier.logs.request import Request

    elements = None if args.elements is None else _counts(args.elements)
    for name in ("outputs", "layers"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name} must be at least 1, found {value}")
    for name in ("rtol", "atol"):
        value = getattr(args, name)
        if value is not None and not 0.0 <= value < float("inf"):
            raise UsageError(f"--{name} must be a number from 0, found {value}")
    if elements is not None and args.outputs is not None and len(elements) > args.outputs:
        raise UsageError(f"--elements names {len(elements)} outputs, --outputs {args.outputs}")
    return Request(
        elements=elements,
        outputs=args.outputs,
        rtol=args.rtol,
        atol=args.atol,
        target=args.target,
        mode="diagnosis" if args.mode == "diagnosis" else "harness",
        layers=args.layers,
    )


def _counts(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise UsageError(f"--elements takes counts like 2097152 or 4194304,1048576, found {text!r}")
    return tuple(map(int, words))


def _print(args: argparse.Namespace, judgement: Judgement, causes: Sequence[Cause]) -> None:
    if args.format == "json":
        say_json(_document(judgement, causes))
    elif judgement.status != "pass" or not args.quiet:
        for line in _lines(judgement, causes):
            say(line)


def _document(judgement: Judgement, causes: Sequence[Cause]) -> dict[str, Any]:
    from math import isfinite

    from msgspec import to_builtins

    outputs = [
        {
            name: value if value is None or isfinite(value) else None
            for name, value in to_builtins(output).items()
        }
        for output in judgement.outputs
    ]
    return {
        "status": judgement.status,
        "reason": judgement.reason,
        "outputs": outputs,
        "latency_us": judgement.latency_us,
        "gflops": judgement.gflops,
        "gbps": judgement.gbps,
        "causes": [to_builtins(cause) for cause in causes],
    }


def _lines(judgement: Judgement, causes: Sequence[Cause]) -> Iterator[str]:
    yield judgement.status + (f": {judgement.reason}" if judgement.reason else "")
    for output in judgement.outputs:
        figures = ", ".join(
            f"{name} {'not finite' if value is None else f'{value:g}'}"
            for name, value in (
                ("mean_rel_L1", output.mean_rel_L1),
                ("max_rel", output.max_rel),
                ("max_abs", output.max_abs),
                ("rtol", output.rtol),
                ("atol", output.atol),
            )
        )
        yield f"  output {output.index}: {output.elements} elements, {figures}"
    speed = [
        f"{value:g} {unit}"
        for value, unit in (
            (judgement.latency_us, "us"),
            (judgement.gflops, "GFLOP/s"),
            (judgement.gbps, "GB/s"),
        )
        if value is not None
    ]
    if speed:
        yield f"  speed: {', '.join(speed)}"
    for cause in causes:
        yield f"  symptom: {cause.symptom}"
        yield f"    likely: {cause.likely}"
        yield f"    look at: {cause.look_at}"
