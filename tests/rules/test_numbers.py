"""KR501 and KR502: speeds of every kernel against its work, and against the device."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace

from registry_tool.records import catalog, kernel
from registry_tool.records.record import Performance, Record
from registry_tool.records.spec import KernelSpec, Limits, LockSpec, Policy, Target
from registry_tool.rules import numbers
from registry_tool.rules.views import Context, RowView
from tests.examples.build import make_row, speed_of
from tests.examples.example import Example
from tests.rules.test_levels import level
from tests.rules.test_verdicts import put

SPECS = catalog.built_in()
SIZES = {
    "GEMM_bf16_in_bf16_out": {"M": 2048, "K": 1024, "N": 1024},
    "GEMV_bf16": {"M": 2048, "K": 8192},
    "RMSNorm_bf16": {"M": 2048, "N": 2048},
    "FlashAttention_bf16": {
        "lq": 2048, "lk": 2048, "dk": 64, "dv": 64, "num_heads": 32, "num_kv_heads": 8, "causal": 1,
    },
    "GELU_bf16": {"N": 1048576},
}  # fmt: skip


def view(spec: KernelSpec, speed: Performance | None, limits: Limits | None = None) -> RowView:
    shape = SIZES[spec.kernel]
    variant = next(iter(spec.variants), None)
    record: Record = make_row(spec, shape, variant).record
    record = replace(record, target="npu2", performance=speed)
    target = Target(kind="hardware", lock=LockSpec(path="x"), limits=limits)
    policy = Policy(schema_version=1, targets={"npu2": target})
    context = Context(policy, SPECS, frozenset())
    return RowView("r", "r", record, context, spec, target, None, (), bool)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize(
    ("factor", "accepted"), [(1.0, True), (1.025, True), (0.975, True), (1.05, False), (0.9, False)]
)
def test_a_speed_may_be_off_its_work_by_three_percent(
    name: str, factor: float, accepted: bool
) -> None:
    spec, honest = SPECS[name], speed_of(SPECS[name], SIZES[name], 868.4)
    figure = getattr(honest, spec.metric) * factor
    row = view(spec, replace(honest, **{spec.metric: figure}))
    found = list(numbers._fits_work(row))
    assert bool(found) != accepted
    assert all(one.pointer == f"/performance/{spec.metric}" for one in found)


def test_attention_counts_what_its_page_counts() -> None:
    spec, shape = SPECS["FlashAttention_bf16"], SIZES["FlashAttention_bf16"]
    causal = speed_of(spec, shape, 16900.0)
    assert causal.gflops is not None
    assert list(numbers._fits_work(view(spec, causal))) == []
    # As if every query saw every key.
    whole = replace(causal, gflops=2 * causal.gflops)
    (one,) = numbers._fits_work(view(spec, whole))
    assert "100.0% off" in one.message


def test_figures_with_few_digits_are_given_their_rounding() -> None:
    spec, shape = SPECS["GELU_bf16"], SIZES["GELU_bf16"]
    exact = kernel.throughput(spec, shape, 8.0)
    assert exact is not None
    # 8 µs may have been 8.49: 524 GB/s read as 494.
    rough = Performance(latency_us=8.0, gflops=None, gbps=round(exact * 8 / 8.4), spread=None)
    assert list(numbers._fits_work(view(spec, rough))) == []


def test_a_row_without_a_speed_has_none_to_check() -> None:
    for name in SIZES:
        row = view(SPECS[name], None)
        assert list(numbers._fits_work(row)) == list(numbers._within_limits(row)) == []


@pytest.mark.parametrize(
    ("name", "latency_us", "limits", "words"),
    [
        ("GEMM_bf16_in_bf16_out", 50.0, None, "85899.4 GFLOP/s is more than npu2 can do: 60000"),
        ("GELU_bf16", 10.0, None, "419.43 GB/s is more than npu2 can do: 308"),
        ("GEMV_bf16", 50.0, None, "takes 671.498 GB/s, more than npu2 can do: 308"),
        ("GEMM_bf16_in_bf16_out", 868.4, Limits(gflops=4000.0), "can do: 4000"),
        ("GELU_bf16", 100.0, Limits(gbps=10.0), "can do: 10"),
        ("GELU_bf16", 100.0, Limits(gflops=10.0), None),
        ("GEMM_bf16_in_bf16_out", 868.4, None, None),
        ("GEMM_bf16_in_bf16_out", 50.0, Limits(gflops=90000.0), None),
    ],
)
def test_no_row_is_faster_than_its_device(
    name: str, latency_us: float, limits: Limits | None, words: str | None
) -> None:
    spec = SPECS[name]
    found = list(
        numbers._within_limits(view(spec, speed_of(spec, SIZES[name], latency_us), limits))
    )
    if words is None:
        assert found == []
    else:
        assert words in found[0].message


def test_a_person_may_waive_a_speed_and_a_registry_may_lower_the_rule(good: Example) -> None:
    from tests.baseline.samples import with_waiver
    from tests.examples.cases import sped_up
    from tests.rules.test_baseline import SOON

    page = catalog.built_in()["GEMM_bf16_in_bf16_out"]
    mine = sped_up(gflops=5200.0)(make_row(page, SIZES["GEMM_bf16_in_bf16_out"], "drain", "npu2"))
    put(good, mine)
    assert good.rules() == {"KR501"}
    put(good, dataclasses.replace(with_waiver(mine, SOON, "KR501")))
    assert good.findings() == []
    put(good, mine)
    good.commit("Leave it")
    level(good, "rules: {KR501: warning}")
    assert good.rules() == set()
