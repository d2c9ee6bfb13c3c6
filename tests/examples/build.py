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
        return {
            self.artifact: canonical.encode(self.verdict),
            f"{folder}/{attempt.log.name}": self.log,
            f"{folder}/{attempt.err.name}": self.err,
        }


def sealed(row: Row) -> Row:
    """``row`` with the run id that its content gives, which a careful forger would compute too."""
    attempt = row.verdict.attempts[-1]
    attempt = replace(
        attempt,
        log=stored(attempt.log.name, row.log),
        err=stored(attempt.err.name, row.err),
    )
    verdict = replace(row.verdict, attempts=[*row.verdict.attempts[:-1], attempt])
    name = run_id(verdict)
    attempt = replace(
        attempt,
        log=replace(attempt.log, name=f"{name}.log"),
        err=replace(attempt.err, name=f"{name}.err"),
    )
    verdict = replace(verdict, run_id=name, attempts=[*verdict.attempts[:-1], attempt])
    return dataclasses.replace(row, verdict=verdict)


def log_text(verdict: Verdict, emulated: bool) -> bytes:
    """What a harness prints for the outputs of ``verdict``."""
    target = verdict.subject.target
    label = f"Emulated target {target}: numerics of the kernels in NumPy, not a device run."
    lines = [label] if emulated else []
    lines.append(f"Detected NPU device: {target}")
    if verdict.performance is not None:
        timed = verdict.performance
        lines.append(f"Latency (us): {timed.latency_us} | Throughput: {timed.gflops:.6e} GFLOP/s")
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
        performance=None
        if emulated
        else Performance(latency_us=868.4, gflops=4945.846, gbps=None, spread=None),
        environment=Environment(
            host=Fact(value="0f" * 8, reason=None),
            device=Fact(value=target, reason=None),
            driver=unknown,
            firmware=unknown,
            power_mode=unknown,
            platform_profile=unknown,
            toolchain={},
        ),
        sources={},
        tool_version=__version__,
    )
    return finish(verdict, identity, command, second)


def finish(verdict: Verdict, identity: RowId, command: list[str], second: int = 5) -> Row:
    """The row of a verdict: its log as a harness would print it, one run, names and digests."""
    log = log_text(verdict, verdict.subject.target != "npu2")
    attempt = Attempt(
        command=command,
        exit_status=0,
        timed_out=False,
        status="pass",
        started=f"2026-01-{1 + second // 86400 % 28:02d}T{second // 3600 % 24:02d}:"
        f"{second // 60 % 60:02d}:{second % 60:02d}Z",
        seconds=1.5,
        lock_wait_s=0.0,
        log=stored("00000000T000000Z-00000000.log", log),
        err=stored("00000000T000000Z-00000000.err", b""),
    )
    return sealed(Row(identity, replace(verdict, attempts=[attempt]), log))


def stored(name: str, data: bytes) -> StoredLog:
    """What a verdict says of a stream."""
    digest = hashlib.sha256(data).hexdigest()
    return StoredLog(name=name, sha256=digest, size=len(data), excerpt_sha256=None)
