"""Specs, records and registries to draw tables of; independent of the built-in pages."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from registry_tool.records import canonical, catalog, keys
from registry_tool.records.fields import Precision, Status, VerdictKind
from registry_tool.records.record import Performance, Record, Use, VerdictLink, Waiver
from registry_tool.records.spec import KernelSpec
from registry_tool.store import registry, snapshot
from registry_tool.store.registry import Registry

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
SPECS = HERE / "specs"

HARDWARE = """\
schema_version: 1
targets:
  npu2:
    kind: hardware
    lock: {path: /tmp/tables-test.lock}
  npu2-emu:
    kind: emulated
    lock: {path: /tmp/tables-test.lock}
"""
EMULATED = """\
schema_version: 1
targets:
  npu2-emu:
    kind: emulated
    lock: {path: /tmp/tables-test.lock}
  npu2:
    kind: hardware
    lock: {path: /tmp/tables-test.lock}
"""


def spec(name: str) -> KernelSpec:
    path = SPECS / f"{name}.yaml"
    return catalog.parse_spec(path.read_bytes(), path.name, {})


GEMM = spec("GEMM_bf16_in_bf16_out")
ATTENTION = spec("Attention_toy")


def record(
    of: KernelSpec,
    sizes: Sequence[int],
    variant: str | None = None,
    speed: float | None = None,
    *,
    target: str = "npu2",
    latency_us: float = 437.0,
    mean_rel_L1: float | None = 9.4e-3,
    herd: Sequence[int] | None = None,
    used_by: Iterable[tuple[str, str]] = (),
    notes: Iterable[str] = (),
    status: Status = "pass",
    kind: VerdictKind = "harness",
    waivers: Iterable[Waiver] = (),
) -> Record:
    tier: Precision | None = of.variants[variant].precision if variant else None
    shape = dict(zip(of.dims, sizes, strict=True))
    row = keys.row_id(target, of.kernel, of.dims, shape, variant)
    performance = None
    if speed is not None:
        gflops, gbps = (speed, None) if of.metric == "gflops" else (None, speed)
        performance = Performance(latency_us=latency_us, gflops=gflops, gbps=gbps, spread=None)
    tiles = 1
    for extent in herd or of.default_herd:
        tiles *= extent
    return Record(
        kernel=of.kernel,
        target=target,
        shape=shape,
        variant=variant,
        precision=tier,
        tile={knob: one.choices[0] for knob, one in of.tile.items()},
        herd=list(herd or of.default_herd),
        tiles_in_flight=tiles,
        mean_rel_L1=mean_rel_L1,
        max_abs=1.22e-3,
        max_rel=123456.0,
        performance=performance,
        verdict=VerdictLink(
            status=status,
            kind=kind,
            artifact=f"{row.verdict_folder}/20260801T000000Z-00000000.json",
            sha256=hashlib.sha256(b"").hexdigest(),
        ),
        used_by=[Use(model=model, site=site) for model, site in used_by],
        notes=list(notes),
        waivers=list(waivers),
        provenance={},
    )


def gemm_records(target: str = "npu2") -> list[Record]:
    """A handful of rows in no order, with what tables trip over."""
    hardware = target == "npu2"

    def speed(value: float) -> float | None:
        return value if hardware else None

    return [
        record(
            GEMM,
            (2048, 8192, 2048),
            "fused-cast",
            speed(8898.2),
            target=target,
            used_by=[("Llama-3.2-1B", "prefill Down"), ("Toy", "a|b")],
        ),
        record(GEMM, (2048, 8192, 2048), "drain", speed(7234.0), target=target),
        record(
            GEMM,
            (2048, 8192, 2048),
            "direct",
            speed(9592.0),
            target=target,
            mean_rel_L1=1.9e-2,
            notes=["faster, but `low`"],
        ),
        record(
            GEMM,
            (512, 512, 512),
            "fused-cast",
            speed(482.0),
            target=target,
            notes=["M < 512·8", "C:\\tmp|x"],
        ),
        record(
            GEMM,
            (512, 512, 512),
            "drain",
            speed(1703.4),
            target=target,
            herd=(4, 4),
            mean_rel_L1=9.7e-3,
            notes=["16 tiles: M % (32·8) fails"],
        ),
    ]


def attention_records(target: str = "npu2") -> list[Record]:
    waiver = Waiver(
        rule="KR202",
        reason="no | legal herd",
        by="A. Person",
        date="2026-08-01",
        expires="2027-01-31",
    )
    speed = (lambda value: value) if target == "npu2" else (lambda value: None)
    return [
        record(ATTENTION, (512, 512, 64, 64, 2, 2, 1), None, speed(0.153), target=target),
        record(
            ATTENTION,
            (2048, 2048, 64, 64, 32, 8, 1),
            None,
            speed(24.96),
            target=target,
            latency_us=15432.1,
            waivers=[waiver],
        ),
        record(
            ATTENTION,
            (2048, 2048, 64, 64, 32, 8, 0),
            None,
            speed(121.3),
            target=target,
            latency_us=83.04,
            kind="diagnosis",
            mean_rel_L1=None,
        ),
    ]


def by_id(records: Iterable[Record]) -> dict[keys.RowId, Record]:
    return {
        keys.row_id(one.target, one.kernel, list(one.shape), one.shape, one.variant): one
        for one in records
    }


def write_registry(
    root: Path,
    records: Iterable[Record] = (),
    policy: str = HARDWARE,
    files: Mapping[str, bytes] | None = None,
) -> Path:
    """A registry on disk with the two kernels of this folder, not in a repository."""
    (root / "kernels").mkdir(parents=True, exist_ok=True)
    (root / "registry.yaml").write_text(policy, "utf-8")
    for path in SPECS.iterdir():
        (root / "kernels" / path.name).write_bytes(path.read_bytes())
    for row, one in by_id(records).items():
        path = root / row.record_path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(canonical.encode(one))
    for name, data in (files or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def load(root: Path) -> Registry:
    return registry.load(snapshot.of_worktree(root))


def on_disk(root: Path) -> dict[str, bytes]:
    """Path to bytes of what is in a registry."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def require_golden(name: str, data: bytes) -> None:
    """``data`` is what the golden file holds; UPDATE_GOLDEN=1 writes it, to be read in the diff."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_bytes(data)
    assert data.decode() == path.read_text("utf-8")
