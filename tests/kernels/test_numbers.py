"""Work, tolerances, outputs, columns and harness commands of the specs."""

from __future__ import annotations

import string
from collections.abc import Iterator

import pytest

from registry_tool.records import catalog, expressions, kernel
from registry_tool.records.spec import Harness, HarnessRun, KernelSpec
from registry_tool.tables import columns
from tests.kernels import legality, upstream
from tests.shared_data import shared

every_kernel = pytest.mark.parametrize("name", upstream.KERNELS)
every_page = pytest.mark.parametrize("name", catalog.built_in())

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
        ("FFN_SwiGLU_bf16", (2, 3, 5), 4 * 30 + 9 * 10, 2 * (6 + 2 * 15 + 10)),
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
        ("FFN_SwiGLU_bf16", (2048, 8192, 512), 2048 * 512),
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


@every_page
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


@every_page
def test_rows_sort_by_all_dims_and_nothing_else(name: str) -> None:
    spec = catalog.built_in()[name]
    assert sorted(spec.order) == sorted(spec.dims)


def _runs(harness: Harness) -> Iterator[HarnessRun]:
    yield harness.correctness
    for run in (harness.compile, harness.timing):
        if run is not None:
            yield run


@every_page
def test_every_harness_command_says_where_the_compiler_is(name: str) -> None:
    harness = catalog.built_in()[name].harness
    assert list(harness) == ["npu2"]
    for run in _runs(harness["npu2"]):
        assert run.command[0] in ("make", "env")
        assert "PEANO_INSTALL_DIR={peano}" in run.command


@every_page
def test_the_build_folder_that_is_made_anew_is_the_one_that_the_commands_use(name: str) -> None:
    harness = catalog.built_in()[name].harness["npu2"]
    (build,) = harness.build
    assert build.endswith("/build_peano")
    for run in _runs(harness):
        assert run.folder == (build if run.command[0] == "env" else build.rpartition("/")[0])


@every_kernel
def test_the_gated_run_times_nothing_and_the_timed_run_does(name: str) -> None:
    harness = catalog.built_in()[name].harness["npu2"]
    assert harness.timing is not None
    gated, timed = " ".join(harness.correctness.command), " ".join(harness.timing.command)
    assert "--perf-iters" not in gated
    assert "PERF_ITERS=" not in gated.replace("PERF_ITERS=0", "")
    assert any(word in timed for word in ("--perf-iters", "PERF_ITERS=", "ITERATIONS="))
    assert harness.stateful is (name == "FlashAttention_bf16")


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


@every_page
def test_a_default_herd_is_one_of_the_choices(name: str) -> None:
    spec = catalog.built_in()[name]
    assert len(spec.default_herd) == len(spec.herd)
    for extent, axis in zip(spec.default_herd, spec.herd.values(), strict=True):
        assert extent in axis.choices
    assert kernel.tiles_in_flight(spec.default_herd) >= spec.tiles_target
    # Upstream runs the block on half the chip only.
    of_block = 16 if spec.covers else 32
    assert spec.tiles_target == (of_block if spec.bound == "compute" else 8)
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


def test_a_block_covers_its_two_products_and_the_activation_between_them() -> None:
    specs = catalog.built_in()
    block = specs["FFN_SwiGLU_bf16"]
    known = kernel.names(block, {"M": 64, "K": 720, "N": 2048})
    covered = {
        cover.kernel: {dim: expressions.integer(text, known) for dim, text in cover.shape.items()}
        for cover in block.covers
    }
    assert covered == {
        "GEMM_bf16_in_bf16_out": {"M": 64, "K": 720, "N": 2048},
        "SiLU_Mul_bf16": {"N": 64 * 2048},
    }
    for name, shape in covered.items():
        assert list(shape) == specs[name].dims
    assert not any(spec.covers for name, spec in specs.items() if name != block.kernel)


def test_the_tolerances_of_the_block_are_those_that_its_harness_prints() -> None:
    gate = catalog.built_in()["FFN_SwiGLU_bf16"].tolerances["any"]
    assert (gate.rtol, gate.atol) == (0.1, 4.0)


def test_the_block_fits_real_widths() -> None:
    """K and N of the gate and up projections of models from 0.5 to 14 billion weights."""
    spec = catalog.built_in()["FFN_SwiGLU_bf16"]
    for m, k, n in (
        (64, 720, 2048),
        (256, 960, 2560),
        (2048, 896, 4864),
        (2048, 2048, 8192),
        (2048, 3584, 18944),
        (2048, 4096, 12288),
        (2048, 5120, 13824),
    ):
        found = next(legality.legal(spec, {"M": m, "K": k, "N": n}, None))
        assert found.tiles == spec.tiles_target
