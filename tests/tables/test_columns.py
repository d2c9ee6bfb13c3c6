from __future__ import annotations

import pytest
from msgspec.structs import replace

from registry_tool.errors import RegistryError
from registry_tool.records.record import Waiver
from registry_tool.records.spec import Column
from registry_tool.tables import columns
from registry_tool.tables.cells import escape
from tests.tables.samples import ATTENTION, GEMM, record

WAIVER = Waiver(rule="KR202", reason="why", by="me", date="2026-08-01", expires="2027-01-31")
LONG = (2048, 1024, 64, 128, 32, 8, 1)


def cell(name: str, one: object, kind: str = "hardware", argument: str | None = None) -> str:
    spec = ATTENTION if one.kernel == ATTENTION.kernel else GEMM  # type: ignore[attr-defined]
    return columns.CELLS[name](one, spec, kind, argument)  # type: ignore[arg-type]


SHOWN: list[tuple[str, str | None, str]] = [
    ("shape", None, "2048×1024 32q/8kv"),
    ("dim", "num_heads", "32"),
    ("template", "{lq}×{lk}", "2048×1024"),
    ("yes_no", "causal", "yes"),
    ("variant", None, "—"),
    ("precision", None, "—"),
    ("tile", None, "—"),
    ("herd", None, "8"),
    ("tiles", None, "8"),
    ("latency", None, "437 µs"),
    ("performance", None, "24.9"),
    ("performance", "unit", "24.9 GB/s"),
    ("mean_rel_L1", None, "9.40e-3"),
    ("max_abs", None, "1.22e-3"),
    ("max_rel", None, "1.23e5"),
    ("used_by", None, "Toy prefill\nToy decode"),
    ("notes", None, "one\ntwo"),
    ("status", None, "✅"),
]


@pytest.mark.parametrize(("name", "argument", "text"), SHOWN)
def test_each_cell_format(name: str, argument: str | None, text: str) -> None:
    one = record(
        ATTENTION,
        LONG,
        None,
        24.94,
        used_by=[("Toy", "prefill"), ("Toy", "decode")],
        notes=["one", "two"],
    )
    assert cell(name, one, "hardware", argument) == text


def test_every_cell_format_is_tried_here() -> None:
    assert {name for name, _, _ in SHOWN} == set(columns.CELLS)


def test_gemm_cells() -> None:
    one = record(GEMM, (2048, 8192, 2048), "fused-cast", 8898.2, herd=(4, 4))
    assert [cell(name, one) for name in ("shape", "variant", "precision", "tile", "herd")] == [
        "2048×8192×2048",
        "fused-cast",
        "high",
        "64/256/32/128",
        "4×4",
    ]
    assert cell("performance", one, "hardware", "unit") == "8898 GFLOP/s"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9592.4, "9592"),
        (100.0, "100"),
        (99.96, "100"),
        (57.7, "57.7"),
        (63.0, "63.0"),
        (1.24, "1.2"),
        (0.996, "1.0"),
        (0.153, "0.15"),
        (0.04, "0.04"),
    ],
)
def test_speeds_have_the_digits_that_repeat(value: float, text: str) -> None:
    assert columns.speed_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (None, "—"),
        (0.0097, "9.70e-3"),
        (0.039, "3.90e-2"),
        (2.96e-8, "2.96e-8"),
        (0.9999, "1.00e0"),
        (0.125, "1.25e-1"),
        (4.0, "4.00e0"),
    ],
)
def test_errors_have_three_digits(value: float | None, text: str) -> None:
    assert columns.error_text(value) == text


@pytest.mark.parametrize(
    ("latency_us", "text"), [(83.04, "83.0 µs"), (5694.2, "5694 µs"), (15432.1, "15.4 ms")]
)
def test_latencies(latency_us: float, text: str) -> None:
    assert cell("latency", record(ATTENTION, LONG, None, 1.0, latency_us=latency_us)) == text


def test_an_emulated_target_shows_no_number_for_speed_whatever_the_record_says() -> None:
    forged = record(GEMM, (512, 512, 512), "drain", 1703.0, target="npu2-emu")
    for name in ("performance", "latency"):
        assert cell(name, forged, "emulated") == "emulated"
    assert columns.throughput(forged, GEMM, "emulated") is None


def test_hardware_without_a_figure_shows_nothing() -> None:
    assert cell("performance", record(GEMM, (512, 512, 512), "drain")) == "—"
    assert cell("latency", record(GEMM, (512, 512, 512), "drain")) == "—"


@pytest.mark.parametrize(
    ("status", "kind", "hardware", "emulated"),
    [
        ("pass", "harness", "✅", "emulated ✔"),
        ("pass", "diagnosis", "⚠️ diagnosis", "emulated ⚠️ diagnosis"),
        ("pass", "imported", "⚠️ imported", "emulated ⚠️ imported"),
        ("unverified", "imported", "⚠️ unverified imported", "emulated ⚠️ unverified imported"),
        ("fail", "harness", "❌ fail", "emulated ❌ fail"),
        ("timeout", "harness", "❌ timeout", "emulated ❌ timeout"),
    ],
)
def test_status_is_honest(status: str, kind: str, hardware: str, emulated: str) -> None:
    one = record(GEMM, (512, 512, 512), "drain", status=status, kind=kind)  # type: ignore[arg-type]
    assert cell("status", one) == hardware
    assert cell("status", one, "emulated") == emulated


def test_a_waiver_shows_with_its_reason() -> None:
    one = record(GEMM, (512, 512, 512), "drain", waivers=[WAIVER])
    assert cell("status", one) == "⚠️\nKR202 until 2027-01-31: why"
    assert cell("status", one, "emulated") == "emulated ⚠️\nKR202 until 2027-01-31: why"


def test_emulation_never_earns_the_green_mark() -> None:
    for kind in ("harness", "diagnosis", "imported"):
        one = record(GEMM, (512, 512, 512), "drain", kind=kind)
        assert "✅" not in cell("status", one, "emulated")


def test_plain_formats_need_no_escaping() -> None:
    one = record(ATTENTION, LONG, None, 24.94, mean_rel_L1=None)
    for name in columns.PLAIN:
        argument = {"dim": "lq", "yes_no": "causal"}.get(name)
        text = cell(name, one, "hardware", argument)
        assert escape(text) == text


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (Column(title="x", cell="colour"), "unknown cell format 'colour'"),
        (Column(title="x", cell="dim", argument="K"), "shows the dim 'K'"),
        (Column(title="x", cell="yes_no"), "shows the dim None"),
        (Column(title="x", cell="template", argument="{K}"), "does not fit its dims"),
        (Column(title="x", cell="template", argument="{lq"), "does not fit its dims"),
    ],
)
def test_a_column_that_cannot_be_filled_is_an_error_that_names_it(
    column: Column, words: str
) -> None:
    spec = replace(ATTENTION, columns=[column])
    with pytest.raises(RegistryError, match="Attention_toy") as caught:
        columns.texts(spec, "hardware", record(ATTENTION, LONG))
    assert words in caught.value.message
