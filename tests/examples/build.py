"""Small registries in throw-away git repositories, consistent down to the last digest.

`Example` is a registry on disk; its rows are built from the real types, so that every rule holds
until a test damages something.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from registry_tool import __version__
from registry_tool.planning.search import best
from registry_tool.records import canonical, kernel
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.record import Performance, Record, Use, Waiver
from registry_tool.records.spec import KernelSpec
from registry_tool.records.verdict import (
    Attempt,
    Environment,
    Fact,
    Gate,
    Output,
    StoredLog,
    Subject,
    Verdict,
)
from registry_tool.verifier import hardware
from registry_tool.verifier.artifact import run_id
from registry_tool.verifier.commands import emulator_command, recorded
from registry_tool.verifier.hardware import Place
from registry_tool.verifier.runner import record_from

GEMM = "GEMM_bf16_in_bf16_out"
SMALL = {"M": 2048, "K": 1024, "N": 1024}
OTHER = {"M": 2048, "K": 2048, "N": 512}


@dataclass(frozen=True)
class Row:
    """A row's verdict with its streams, and what people add to the record that it earns."""

    id: RowId
    verdict: Verdict
    log: bytes
    err: bytes = b""
    timings: tuple[bytes, ...] = ()
    used_by: tuple[Use, ...] = ()
    notes: tuple[str, ...] = ()
    waivers: tuple[Waiver, ...] = ()

    @property
    def artifact(self) -> str:
        return f"{self.id.verdict_folder}/{self.verdict.run_id}.json"

    @property
    def record(self) -> Record:
        digest = hashlib.sha256(canonical.encode(self.verdict)).hexdigest()
        return record_from(
            self.verdict, self.artifact, digest, self.used_by, self.notes, self.waivers
        )

    def files(self) -> dict[str, bytes]:
        """Path to bytes of record, verdict and streams."""
        return {self.id.record_path: canonical.encode(self.record), **self.evidence()}

    def evidence(self) -> dict[str, bytes]:
        """Path to bytes of verdict and streams."""
        folder, attempt = self.id.verdict_folder, self.verdict.attempts[-1]
        files = {
            self.artifact: canonical.encode(self.verdict),
            f"{folder}/{attempt.log.name}": self.log,
            f"{folder}/{attempt.err.name}": self.err,
        }
        for run, log in zip(self.verdict.profile or (), self.timings, strict=False):
            files |= {f"{folder}/{run.log.name}": log, f"{folder}/{run.err.name}": b""}
        return files


def sealed(row: Row) -> Row:
    """``row`` with the run id that its content gives, which a careful forger would compute too."""
    attempt = row.verdict.attempts[-1]
    attempt = replace(
        attempt,
        log=stored(attempt.log.name, row.log),
        err=stored(attempt.err.name, row.err),
    )
    verdict = replace(row.verdict, attempts=[*row.verdict.attempts[:-1], attempt])
    if verdict.profile and row.timings:
        profile = [
            replace(run, log=stored(run.log.name, log), err=stored(run.err.name, b""))
            for run, log in zip(verdict.profile, row.timings, strict=False)
        ]
        verdict = replace(verdict, profile=profile)
    name = run_id(verdict)
    attempt = replace(
        attempt,
        log=replace(attempt.log, name=f"{name}.log"),
        err=replace(attempt.err, name=f"{name}.err"),
    )
    verdict = replace(verdict, run_id=name, attempts=[*verdict.attempts[:-1], attempt])
    if verdict.profile:
        profile = [
            replace(
                run,
                log=replace(run.log, name=f"{name}.t{at}.log"),
                err=replace(run.err, name=f"{name}.t{at}.err"),
            )
            for at, run in enumerate(verdict.profile, 1)
        ]
        verdict = replace(verdict, profile=profile)
    return dataclasses.replace(row, verdict=verdict)


def log_text(verdict: Verdict, emulated: bool) -> bytes:
    """What a harness prints for the outputs of ``verdict``."""
    target = verdict.subject.target
    label = f"Emulated target {target}: numerics of the kernels in NumPy, not a device run."
    lines = [label] if emulated else []
    lines.append(f"Detected NPU device: {target}")
    if verdict.performance is not None:
        lines.append(speed_text(verdict.performance))
    for out in verdict.outputs:
        lines.append(
            f"[precision] Output {out.index} ({out.elements} elements): "
            f"mean_rel_L1={out.mean_rel_L1:.3e} | rel_err max={out.max_rel:.3e} | "
            f"abs_err max={out.max_abs:.3e} | rtol={out.rtol:.1e} atol={out.atol:.1e}"
        )
        if emulated:
            share = verdict.gate.zero_share
            lines.append(f"[reference] Output {out.index}: zero_share={share:.3e}")
    return ("\n".join([*lines, "PASS!"]) + "\n").encode()


def speed_text(timed: Performance) -> str:
    """What a harness prints of a speed."""
    if timed.gflops is None:
        return f"Latency (us): {timed.latency_us} | Bandwidth: {timed.gbps:.6e} GB/s"
    return f"Latency (us): {timed.latency_us} | Throughput: {timed.gflops:.6e} GFLOP/s"


def speed_of(spec: KernelSpec, shape: Mapping[str, int], latency_us: float) -> Performance:
    """A speed that fits the work of ``spec``, as a harness prints it."""
    value = float(f"{kernel.throughput(spec, shape, latency_us):.6e}")
    gflops, gbps = (value, None) if spec.metric == "gflops" else (None, value)
    return Performance(latency_us=latency_us, gflops=gflops, gbps=gbps, spread=0.0)


TIMED = 3
"""Timing runs of a row on hardware, as many as a registry asks for by default."""


def make_row(
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None = None,
    target: str = "npu2-emu",
    second: int = 5,
    tile: Mapping[str, int] | None = None,
    herd: Sequence[int] | None = None,
) -> Row:
    """A row that every rule accepts, on an emulated target or on ``npu2``."""
    emulated = target != "npu2"
    found = best(spec, shape, variant) if tile is None or herd is None else None
    tile = dict(tile if tile is not None else found.tile)
    herd = list(herd if herd is not None else found.herd)
    identity = row_id(target, spec.kernel, spec.dims, shape, variant)
    precision = kernel.precision_of(spec, variant)
    tolerance = kernel.tolerance(spec, precision)
    band = kernel.band(spec, shape, variant, tile, herd)
    mean = float(f"{(band.low + band.high) / 2:.3e}") if band else 1e-3
    command = ["make", "run", f"M={shape.get('M', 1)}"]
    if not emulated and target in spec.harness:
        place = Place("/opt/tree", "/opt/llvm-aie")
        run = hardware.commands(spec, target, place, shape, variant, tile, herd).correctness
        command = list(run.recorded)
    if emulated:
        root = Path("/nowhere")
        command = recorded(
            emulator_command(spec, root, shape, variant, tile, herd, tolerance), root
        )
    unknown = Fact(value=None, reason="emulated" if emulated else "not asked")
    verdict = Verdict(
        run_id="00000000T000000Z-00000000",
        kind="harness",
        subject=Subject(
            kernel=spec.kernel,
            target=target,
            shape=dict(shape),
            variant=variant,
            precision=precision,
            tile=tile,
            herd=herd,
        ),
        status="pass",
        reason=None,
        gate=Gate(
            rtol=tolerance.rtol,
            atol=tolerance.atol,
            band=band,
            band_reason=None if band else "the page gives none",
            zero_share=0.957 if emulated else None,
            zero_share_reason=None if emulated else "the harness prints no [reference] line",
        ),
        outputs=[
            Output(
                index=index,
                elements=elements,
                mean_rel_L1=mean,
                max_rel=3118.0,
                max_abs=0.000824,
                rtol=tolerance.rtol,
                atol=tolerance.atol,
            )
            for index, elements in enumerate(kernel.output_elements(spec, shape))
        ],
        attempts=[],
        profile=None,
        performance=None if emulated else speed_of(spec, shape, 868.4),
        environment=Environment(
            host=Fact(value="0f" * 8, reason=None),
            device=Fact(value=target, reason=None),
            driver=unknown,
            firmware=unknown,
            power_mode=unknown,
            platform_profile=unknown,
            toolchain={},
        ),
        sources={} if emulated else {"gemm/run.py": hashlib.sha256(b"").hexdigest()},
        tool_version=__version__,
    )
    timed = None
    if not emulated and target in spec.harness and spec.harness[target].timing is not None:
        run = hardware.commands(
            spec, target, Place("/opt/tree", "/opt/llvm-aie"), shape, variant, tile, herd
        ).timing
        timed = None if run is None else list(run.recorded)
    return finish(verdict, identity, command, second, timed)


def started_at(second: int) -> str:
    """A moment of January 2026, counted in seconds from its start."""
    days, rest = divmod(second, 86_400)
    hours, rest = divmod(rest, 3600)
    return f"2026-01-{1 + days % 28:02d}T{hours:02d}:{rest // 60:02d}:{rest % 60:02d}Z"


def finish(
    verdict: Verdict,
    identity: RowId,
    command: list[str],
    second: int = 5,
    timed: list[str] | None = None,
) -> Row:
    """The row of a verdict: its log as a harness would print it, one run, names and digests.

    ``timed`` is the command of its timing runs.
    """
    log = log_text(verdict, verdict.subject.target != "npu2")
    attempt = Attempt(
        command=command,
        exit_status=0,
        timed_out=False,
        status="pass",
        started=started_at(second),
        seconds=1.5,
        lock_wait_s=0.0,
        log=stored("00000000T000000Z-00000000.log", log),
        err=stored("00000000T000000Z-00000000.err", b""),
    )
    verdict = replace(verdict, attempts=[attempt])
    if timed is None or verdict.performance is None:
        return sealed(Row(identity, verdict, log))
    text = f"Detected NPU device: {verdict.subject.target}\n{speed_text(verdict.performance)}\n"
    # They start when the gated run has ended, one after the other.
    starts = [started_at(second + 2 + 2 * at) for at in range(TIMED)]
    profile = [
        replace(attempt, command=timed, started=start, seconds=1.25, step="timing")
        for start in starts
    ]
    return sealed(
        Row(identity, replace(verdict, profile=profile), log, timings=(text.encode(),) * TIMED)
    )


def stored(name: str, data: bytes) -> StoredLog:
    """What a verdict says of a stream."""
    digest = hashlib.sha256(data).hexdigest()
    return StoredLog(name=name, sha256=digest, size=len(data), excerpt_sha256=None)
