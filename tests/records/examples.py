"""Valid registry files, by hand and by hypothesis, for the tests of this folder."""

from __future__ import annotations

import string
from typing import Any, get_args

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET

from registry_tool.records import fields
from registry_tool.records.fields import Part
from registry_tool.records.layout import (
    CellLayout,
    ColumnLayout,
    Layout,
    LineLayout,
    TableLayout,
)
from registry_tool.records.model import Model, Need, Uncovered
from registry_tool.records.record import Performance, Record, Use, VerdictLink, Waiver
from registry_tool.records.verdict import (
    Attempt,
    Band,
    Environment,
    Fact,
    Gate,
    Output,
    StoredLog,
    Subject,
    Verdict,
)

DIGEST = "0123456789abcdef" * 4

RECORD = Record(
    kernel="GEMM_bf16_in_bf16_out",
    target="npu2",
    shape={"M": 2048, "K": 8192, "N": 2048},
    variant="fused-cast",
    precision="high",
    tile={"tile_m": 64, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128},
    herd=[8, 4],
    tiles_in_flight=32,
    mean_rel_L1=0.00970231,
    max_abs=0.00061035,
    max_rel=3118.0,
    performance=Performance(latency_us=7723.4, gflops=8898.0, gbps=None, spread=1e-05),
    verdict=VerdictLink(
        status="pass",
        kind="harness",
        artifact="verdicts/npu2/GEMM_bf16_in_bf16_out/2048x8192x2048+fused-cast/r.json",
        sha256=DIGEST,
    ),
    used_by=[Use(model="llama-3.2-1B", site="prefill Down proj")],
    notes=["tile_k_l2 swept: 256 × 512 within 1 %"],
    waivers=[
        Waiver(
            rule="KR203",
            reason="recorded upstream",
            by="an engineer",
            date="2026-08-01",
            expires="2026-12-31",
        )
    ],
    provenance={},
)

_ATTEMPT = Attempt(
    command=["make", "run", "M=2048"],
    exit_status=0,
    timed_out=False,
    status="pass",
    started="2026-08-01T09:30:00Z",
    seconds=12.5,
    lock_wait_s=0.0,
    log=StoredLog(name="r.log", sha256=DIGEST, size=4096, excerpt_sha256=None),
    err=StoredLog(name="r.err", sha256=DIGEST, size=0, excerpt_sha256=None),
)
_KNOWN = Fact(value="1.2.3", reason=None)
_UNKNOWN = Fact(value=None, reason="an emulated target has none")

VERDICT = Verdict(
    run_id="20260801T093000Z-0123abcd",
    kind="harness",
    subject=Subject(
        kernel="RMSNorm_bf16",
        target="npu2-emu",
        shape={"M": 2048, "N": 2048},
        variant=None,
        precision=None,
        tile={},
        herd=[8],
    ),
    status="pass",
    reason=None,
    gate=Gate(
        rtol=0.016,
        atol=0.05,
        band=Band(low=0.0039, high=0.0047),
        band_reason=None,
        zero_share=0.93,
        zero_share_reason=None,
    ),
    outputs=[
        Output(
            index=0,
            elements=4194304,
            mean_rel_L1=0.004224,
            max_rel=0.02325,
            max_abs=0.1875,
            rtol=0.016,
            atol=0.05,
        )
    ],
    attempts=[_ATTEMPT],
    profile=None,
    performance=None,
    environment=Environment(
        host=_KNOWN,
        device=_KNOWN,
        driver=_UNKNOWN,
        firmware=_UNKNOWN,
        power_mode=_UNKNOWN,
        platform_profile=_UNKNOWN,
        toolchain={"numpy": _KNOWN},
    ),
    sources={"emulator/norms.py": DIGEST},
    tool_version="0.1.0",
)

MODEL = Model(
    model="Llama-3.2-1B",
    config_sha256=DIGEST,
    seq=2048,
    needs=[
        Need(
            phase="prefill",
            site="Q proj",
            kernel="GEMM_bf16_in_bf16_out",
            precision="high",
            shape={"M": 2048, "K": 2048, "N": 2048},
        )
    ],
    uncovered=[Uncovered(phase="decode", site="attention", reason="no page")],
    notes=["batch 1"],
)

LAYOUT = Layout(
    page="details/GEMM_bf16_in_bf16_out.md",
    tables=[
        TableLayout(
            region="shapes",
            lines_of="row",
            kernel="GEMM_bf16_in_bf16_out",
            variants=["drain"],
            new_lines=True,
            columns=[
                ColumnLayout(title="M×K×N", cell="{M}×{K}×{N}", rule=":--"),
                ColumnLayout(title="GFLOP/s", cell="{gflops:.0f}", bold="column"),
                ColumnLayout(title="Status", cell="{status} {used_by}"),
            ],
            lines=[
                LineLayout(
                    row="2048x2048x256+drain",
                    cells={
                        "Status": CellLayout(
                            text="{status} K/V proj (thin N)",
                            of={"gflops": 4112.0},
                            used_by=["Llama-3.2-1B prefill K/V"],
                        )
                    },
                )
            ],
        )
    ],
)

POLICY: dict[str, Any] = {
    "schema_version": 1,
    "targets": {
        "npu2-emu": {"kind": "emulated", "lock": {"path": ".registry/lock", "limit_s": 60}},
        "npu2": {
            "kind": "hardware",
            "lock": {"path": "/tmp/mlir-air-npu.lock", "limit_s": 1800},
            "harness_root": "/src/mlir-air",
            "run_limit_s": 600,
            "jobs": 1,
        },
    },
    "signing": "off",
}


def plain(part: Part) -> dict[str, Any]:
    """``part`` as JSON would hold it, free to be damaged."""
    found: dict[str, Any] = msgspec.to_builtins(part)
    return found


# --- any valid file ------------------------------------------------------------------------------

_NAME_START = string.ascii_letters + string.digits
_names = st.builds(
    str.__add__, st.sampled_from(_NAME_START), st.text(_NAME_START + "._-", max_size=12)
)
_lines = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\x7f"),
    min_size=1,
    max_size=30,
)
_digests = st.text("0123456789abcdef", min_size=64, max_size=64)
_counts = st.integers(1, 2**62)
_floats = st.floats(0, allow_nan=False, allow_infinity=False) | st.floats(0, 1e-3) | st.just(1e-05)
_positive = _floats.filter(lambda number: number > 0)
_dates = st.dates().map(lambda day: day.isoformat())
_times = st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0"))
_sizes = st.dictionaries(_names, _counts, max_size=4)
_status = st.sampled_from(get_args(fields.Status))
_kinds = st.sampled_from(get_args(fields.VerdictKind))
_precision = st.none() | st.sampled_from(get_args(fields.Precision))


def _or_none(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def _or_unset(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.just(UNSET) | strategy


_performance = st.builds(
    Performance,
    latency_us=_positive,
    gflops=_or_none(_positive),
    gbps=_or_none(_positive),
    spread=_or_none(_floats),
)
_waivers = st.builds(
    Waiver,
    rule=st.from_regex(r"KR[0-9]{3}", fullmatch=True),
    reason=_lines,
    by=_lines,
    date=_dates,
    expires=_dates,
)

records = st.builds(
    Record,
    kernel=_names,
    target=_names,
    shape=st.dictionaries(_names, st.integers(0, 2**62), max_size=4),
    variant=_or_none(_names),
    precision=_precision,
    tile=_sizes,
    herd=st.lists(_counts, max_size=3),
    tiles_in_flight=_counts,
    mean_rel_L1=_or_none(_floats),
    max_abs=_or_none(_floats),
    max_rel=_or_none(_floats),
    performance=_or_none(_performance),
    verdict=st.builds(
        VerdictLink,
        status=_status,
        kind=_kinds,
        artifact=_lines,
        sha256=_digests,
        flaky=_or_unset(st.just(True)),
    ),
    used_by=st.lists(st.builds(Use, model=_lines, site=_lines), max_size=2),
    notes=st.lists(_lines, max_size=2),
    waivers=st.lists(_waivers, max_size=1),
    provenance=st.dictionaries(st.text(max_size=8), _lines, max_size=2),
)

_facts = st.builds(Fact, value=_or_none(_lines), reason=_or_none(_lines))
_logs = st.builds(
    StoredLog,
    name=_names,
    sha256=_digests,
    size=st.integers(0, 2**40),
    excerpt_sha256=_or_none(_digests),
)
_attempts = st.builds(
    Attempt,
    command=st.lists(st.text(max_size=12), max_size=3),
    exit_status=_or_none(st.integers(-64, 255)),
    timed_out=st.booleans(),
    status=_status,
    started=_times,
    seconds=_floats,
    lock_wait_s=_floats,
    log=_logs,
    err=_logs,
    step=_or_unset(st.sampled_from(["compile", "timing"])),
    reason=_or_unset(_lines),
    survivors=_or_unset(st.lists(_lines, max_size=2)),
)

verdicts = st.builds(
    Verdict,
    run_id=st.from_regex(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}", fullmatch=True),
    kind=_kinds,
    subject=st.builds(
        Subject,
        kernel=_names,
        target=_names,
        shape=_sizes,
        variant=_or_none(_names),
        precision=_precision,
        tile=_sizes,
        herd=st.lists(_counts, max_size=3),
    ),
    status=_status,
    reason=_or_none(_lines),
    gate=st.builds(
        Gate,
        rtol=_floats,
        atol=_floats,
        band=_or_none(st.builds(Band, low=_floats, high=_floats)),
        band_reason=_or_none(_lines),
        zero_share=_or_none(st.floats(0, 1)),
        zero_share_reason=_or_none(_lines),
    ),
    outputs=st.lists(
        st.builds(
            Output,
            index=st.integers(0, 9),
            elements=_counts,
            mean_rel_L1=_or_none(_floats),
            max_rel=_or_none(_floats),
            max_abs=_or_none(_floats),
            rtol=_floats,
            atol=_floats,
        ),
        max_size=2,
    ),
    attempts=st.lists(_attempts, max_size=1),
    profile=_or_none(st.lists(_attempts, max_size=2)),
    performance=_or_none(_performance),
    environment=st.builds(
        Environment,
        host=_facts,
        device=_facts,
        driver=_facts,
        firmware=_facts,
        power_mode=_facts,
        platform_profile=_facts,
        toolchain=st.dictionaries(_names, _facts, max_size=1),
    ),
    sources=st.dictionaries(_names, _digests, max_size=1),
    tool_version=_lines,
    compile=_or_unset(_attempts),
    earlier_failures=_or_unset(_counts),
    places=_or_unset(st.just(False)),
    canary=_or_unset(st.just(True)),
    layers=_or_unset(_counts),
)
