"""Work, tolerances, outputs, columns and harness commands of the specs."""

from __future__ import annotations

import string
from collections.abc import Iterator

import pytest

from registry_tool.records import catalog, expressions, kernel
from registry_tool.records.spec import HarnessRun, KernelSpec
from registry_tool.tables import columns
from tests.kernels import upstream
from tests.shared_data import shared

every_kernel = pytest.mark.parametrize("name", upstream.KERNELS)

# Its throughput counts the arithmetic of a run without the mask.
TWICE_THE_REAL_ONE = "2048x2048x64x64x32x32x1"


def _work(spec: KernelSpec, shape: dict[str, int]) -> float:
    text = spec.work.flops if spec.metric == "gflops" else spec.work.bytes
    assert text is not None
    return expressions.number(text, kernel.names(spec, shape))


@every_kernel
def test_recorded_throughput_is_the_work_over_the_recorded_latency(name: str) -> None:
    spec = catalog.built_in()[name]
    compared, wrong = 0, []
    for row in upstream.rows(name, shared("upstream_registry")):
        if row.latency_us is None or row.throughput is None:
            continue
        compared += 1
        slowest = _work(spec, row.shape) / row.latency_us.high / 1e3
        fastest = _work(spec, row.shape) / row.latency_us.low / 1e3
        if slowest > row.throughput.high * 1.03 or fastest < row.throughput.low * 0.97:
            wrong.append(str(row))
    assert compared or name.startswith("GEMM")  # the GEMM pages record no latency
    assert all(TWICE_THE_REAL_ONE in row for row in wrong)
    assert len(wrong) == (2 if name == "FlashAttention_bf16" else 0)


def test_the_row_that_disagrees_claims_twice_its_work() -> None:
    spec = catalog.built_in()["FlashAttention_bf16"]
    row = next(
        row
        for row in upstream.rows(spec.kernel, shared("upstream_registry"))
        if TWICE_THE_REAL_ONE in str(row)
    )
    assert row.latency_us is not None
    assert row.throughput is not None
    middle = (row.latency_us.low + row.latency_us.high) / 2
    claimed = (row.throughput.low + row.throughput.high) / 2
    assert claimed / (_work(spec, row.shape) / middle / 1e3) == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize(
    ("name", "shape", "flops", "moved"),
    [
        ("GEMM_bf16_in_bf16_out", (2, 3, 5), 60, 2 * (6 + 15 + 10)),
        ("GEMM_bf16_in_fp32_out", (2, 3, 5), 60, 2 * (6 + 15) + 4 * 10),
        ("GEMV_bf16", (2, 3), 12, 2 * (6 + 2 + 3)),
        ("RMSNorm_bf16", (2, 3), None, 2 * 2 * 6 + 2 * 3),
        ("LayerNorm_bf16", (2, 3), None, 2 * 2 * 6 + 2 * 2 * 3),
        ("FlashAttention_bf16", (8, 16, 2, 3, 6, 2, 0), 2 * 6 * 8 * 16 * 5, 2 * 5 * (48 + 32)),
        ("FlashAttention_bf16", (8, 8, 2, 3, 6, 2, 1), 6 * 8 * 8 * 5, 2 * 5 * (48 + 16)),
        ("EltwiseAdd_bf16", (7,), 7, 42),
        ("SiLU_Mul_bf16", (7,), None, 42),
        ("GELU_bf16", (7,), None, 28),
        ("RoPE_bf16", (2, 32), 192, 384),
    ],
)
def test_the_work_of_a_small_shape(
    name: str, shape: tuple[int, ...], flops: int | None, moved: int
) -> None:
    spec = catalog.built_in()[name]
    known = kernel.names(spec, dict(zip(spec.dims, shape, strict=True)))
    assert spec.work.bytes is not None
    assert expressions.integer(spec.work.bytes, known) == moved
    counted = None if spec.work.flops is None else expressions.integer(spec.work.flops, known)
    assert counted == flops


@pytest.mark.parametrize(
    ("name", "tiers"),
    [
        ("GEMM_bf16_in_bf16_out", {"high": (1.6e-2, 1.5e-3), "low": (1.6e-2, 4e-3)}),
        ("GEMM_bf16_in_fp32_out", {"high": (1.6e-2, 1.5e-3)}),
        ("GEMV_bf16", {"any": (1.6e-2, 1e-3)}),
        ("RMSNorm_bf16", {"any": (1.6e-2, 5e-2)}),
        ("LayerNorm_bf16", {"any": (1.6e-2, 6e-2)}),
        ("EltwiseAdd_bf16", {"any": (1.6e-2, 5e-2)}),
        ("RoPE_bf16", {"any": (1.6e-2, 5e-2)}),
        ("SiLU_Mul_bf16", {"any": (1.6e-2, 8e-2)}),
        ("GELU_bf16", {"any": (1.6e-2, 5e-2)}),
        ("FlashAttention_bf16", {"any": (1.6e-2, 1e-1)}),
    ],
)
def test_tolerances_are_those_of_the_page(name: str, tiers: dict[str, tuple[float, float]]) -> None:
    spec = catalog.built_in()[name]
    found = {tier: (gate.rtol, gate.atol) for tier, gate in spec.tolerances.items()}
    assert found == tiers
    for variant in spec.variants or [None]:
        assert kernel.tolerance(spec, kernel.precision_of(spec, variant)).rtol == 1.6e-2


@pytest.mark.parametrize(
    ("name", "shape", "elements"),
    [
        ("GEMM_bf16_in_bf16_out", (2048, 8192, 512), 2048 * 512),
        ("GEMV_bf16", (16384, 2048), 16384),
        ("RMSNorm_bf16", (2048, 128), 2048 * 128),
        ("FlashAttention_bf16", (2048, 512, 64, 128, 32, 8, 0), 32 * 2048 * 128),
        ("RoPE_bf16", (32, 64), 2048),
        ("GELU_bf16", (7,), 7),
    ],
)
def test_an_output_has_its_elements(name: str, shape: tuple[int, ...], elements: int) -> None:
    spec = catalog.built_in()[name]
    assert kernel.output_elements(spec, dict(zip(spec.dims, shape, strict=True))) == [elements]


@pytest.mark.parametrize(
    ("size", "first"), [((2048, 8192, 512), "fused-cast"), ((512, 512, 512), "drain")]
)
def test_the_high_methods_are_tried_in_the_order_of_the_auto_rule(
    size: tuple[int, ...], first: str
) -> None:
    spec = catalog.built_in()["GEMM_bf16_in_bf16_out"]
    order = kernel.variant_order(spec, dict(zip(spec.dims, size, strict=True)))
    assert order[0] == first
    assert order[-1] == "direct"
    assert set(order) == set(spec.variants)
    at_the_threshold = {"M": 2000, "K": 2000, "N": 1000}
    assert kernel.variant_order(spec, at_the_threshold)[0] == "fused-cast"


@every_kernel
def test_columns_name_known_cells_and_identify_a_row_first(name: str) -> None:
    spec = catalog.built_in()[name]
    titles = [column.title for column in spec.columns]
    assert len(titles) == len(set(titles))
    assert {column.cell for column in spec.columns} <= columns.CELLS.keys()
    shown: set[str] = set()
    for column in spec.columns:
        if column.cell == "template":
            parts = string.Formatter().parse(column.argument or "")
            shown |= {dim for _, dim, _, _ in parts if dim}
        elif column.cell in ("dim", "yes_no"):
            shown.add(column.argument or "")
        elif column.cell == "shape":
            shown |= set(spec.dims)
        elif column.cell == "variant":
            shown.add("variant")
        else:
            break
    assert shown == {*spec.dims, *(["variant"] if spec.variants else [])}
    wanted = {"herd", "tiles", "performance", "mean_rel_L1", "used_by", "notes", "status"}
    assert wanted <= {column.cell for column in spec.columns}
    assert ("tile" in {column.cell for column in spec.columns}) == bool(spec.tile)


@every_kernel
def test_rows_sort_by_all_dims_and_nothing_else(name: str) -> None:
    spec = catalog.built_in()[name]
    assert sorted(spec.order) == sorted(spec.dims)


def _runs(spec: KernelSpec) -> Iterator[HarnessRun]:
    for harness in spec.harness.values():
        yield from harness.correctness
        yield from harness.timing


def _values(row: upstream.Row, spec: KernelSpec) -> dict[str, object]:
    """What the runner puts into the templates."""
    precision = kernel.precision_of(spec, row.variant)
    return {
        **kernel.names(spec, row.shape, row.variant, row.tile, row.herd),
        "peano": "/opt/peano",
        "high_precision": "false" if precision == "low" else "true",
        "method": "auto" if precision == "low" else row.variant,
        "causal_flag": "--causal" if row.shape.get("causal") else "",
    }


@every_kernel
def test_harness_commands_fill_in_and_stay_lists_of_words(name: str) -> None:
    spec = catalog.built_in()[name]
    row = upstream.rows(name, shared("upstream_registry"))[0]
    values = _values(row, spec)
    assert list(spec.harness) == ["npu2"]
    for run in _runs(spec):
        words = [word.format_map(values) for word in run.command]
        assert all("{" not in word and "None" not in word for word in words)
        assert words[0] in ("make", "env", "mkdir")
        assert words[0] == "mkdir" or any("PEANO_INSTALL_DIR=/opt/peano" in word for word in words)
        assert not run.folder.startswith("/")
        assert ".." not in run.folder


@every_kernel
def test_the_gated_run_times_nothing_and_the_timed_run_does(name: str) -> None:
    harness = catalog.built_in()[name].harness["npu2"]
    gated = " ".join(word for run in harness.correctness for word in run.command)
    timed = " ".join(word for run in harness.timing for word in run.command)
    assert "--perf-iters" not in gated
    assert "PERF_ITERS=" not in gated.replace("PERF_ITERS=0", "")
    assert any(word in timed for word in ("--perf-iters", "PERF_ITERS=", "ITERATIONS="))
    assert harness.stateful is (name == "FlashAttention_bf16")


@pytest.mark.parametrize(
    ("name", "variant", "expected"),
    [
        (
            "GEMM_bf16_in_bf16_out",
            "drain",
            "make run HIGH_PRECISION=true METHOD=drain M=2048 K=2048 N=2048 TILE_M=32 "
            "TILE_K_L2=512 TILE_K_L1=32 TILE_N=128 HERD_M=8 HERD_N=4 AIE_TARGET=aie2p PERF_ITERS=0 "
            "PEANO_INSTALL_DIR=/opt/peano",
        ),
        (
            "GEMM_bf16_in_bf16_out",
            "direct",
            "make run HIGH_PRECISION=false METHOD=auto M=2048 K=2048 N=2048 TILE_M=64 "
            "TILE_K_L2=512 TILE_K_L1=32 TILE_N=128 HERD_M=8 HERD_N=4 AIE_TARGET=aie2p PERF_ITERS=0 "
            "PEANO_INSTALL_DIR=/opt/peano",
        ),
        (
            "FlashAttention_bf16",
            None,
            "make run SCRIPT=attn_npu2.py LQ=2048 LK=2048 LQP=256 LKP=64 DK=64 DV=64 NUM_HEADS=32 "
            "NUM_KV_HEADS=8 NUM_Q_TILES=4 EXTRA_PY_FLAGS=--num-q-tiles 4 --num-cascade-stages 4 "
            "--num-heads-per-unroll 2 --causal PEANO_INSTALL_DIR=/opt/peano",
        ),
        (
            "GELU_bf16",
            None,
            "make run N=1048576 TILE_N=4096 HERD_SHAPE=8 2 PERF_ITERS=0 "
            "PEANO_INSTALL_DIR=/opt/peano",
        ),
        (
            "GEMV_bf16",
            None,
            "make run M=2048 K=2048 TILE_M=8 M_INPUT=8 HERD_M=8 AIE_TARGET=aie2p "
            "PEANO_INSTALL_DIR=/opt/peano",
        ),
    ],
)
def test_the_command_of_a_recorded_row(name: str, variant: str | None, expected: str) -> None:
    spec = catalog.built_in()[name]
    rows = upstream.rows(name, shared("upstream_registry"))
    row = next(row for row in rows if row.variant == variant)
    run = spec.harness["npu2"].correctness[-1]
    assert " ".join(word.format_map(_values(row, spec)) for word in run.command) == expected


@every_kernel
def test_a_spec_names_an_emulator_and_a_lookup(name: str) -> None:
    spec = catalog.built_in()[name]
    assert spec.emulator
    lookups = {
        "GEMM_bf16_in_bf16_out": "gemm_config",
        "GEMM_bf16_in_fp32_out": "gemm_config",
        "GEMV_bf16": "gemv_config",
        "RMSNorm_bf16": "rms_norm_config",
        "LayerNorm_bf16": "layer_norm_config",
        "FlashAttention_bf16": "flash_attention_config",
        "EltwiseAdd_bf16": "eltwise_add_config",
        "SiLU_Mul_bf16": "silu_mul_config",
        "GELU_bf16": "gelu_config",
        "RoPE_bf16": "rope_config",
    }
    assert spec.lookup == lookups[name]


@every_kernel
def test_a_default_herd_is_one_of_the_choices(name: str) -> None:
    spec = catalog.built_in()[name]
    assert len(spec.default_herd) == len(spec.herd)
    for extent, axis in zip(spec.default_herd, spec.herd.values(), strict=True):
        assert extent in axis.choices
    assert kernel.tiles_in_flight(spec.default_herd) >= spec.tiles_target
    assert spec.tiles_target == (32 if spec.bound == "compute" else 8)
    for knob in spec.tile.values():
        assert len(knob.choices) == len(set(knob.choices))


def test_every_expression_reads_only_names_that_exist() -> None:
    for spec in catalog.built_in().values():
        everything = {*spec.dims, *spec.tile, *spec.herd, "tiles", "variant"}
        texts = [rule.holds for rule in spec.constraints]
        texts += [rule.when for rule in spec.constraints if rule.when]
        texts += [bad.when for bad in spec.known_bad]
        texts += [text for rule in spec.band for text in (rule.when, rule.low, rule.high) if text]
        for text in texts:
            assert expressions.names_in(text) <= everything, (spec.kernel, text)
        of_shape = [output.elements for output in spec.outputs]
        of_shape += [text for text in (spec.work.flops, spec.work.bytes, *spec.order) if text]
        of_shape += [entry.when for entry in spec.preference if entry.when]
        for text in of_shape:
            assert expressions.names_in(text) <= set(spec.dims), (spec.kernel, text)
