from __future__ import annotations

import json
from pathlib import Path

import pytest

from registry_tool.cli import main
from tests.tables import samples
from tests.tables.samples import attention_records, gemm_records, write_registry

GEMM = "GEMM_bf16_in_bf16_out"
IMPORTED = samples.record(
    samples.GEMM,
    (64, 64, 64),
    "drain",
    37.0,
    kind="imported",
    status="unverified",
    notes=["Sweep status was NUMFAIL on one element."],
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    records = [*gemm_records(), *attention_records(), *gemm_records("npu2-emu"), IMPORTED]
    return write_registry(tmp_path, records)


def lookup(root: Path, *words: str) -> int:
    return main(["lookup", *words, "--registry", str(root)])


@pytest.mark.parametrize(
    "shape", [["M=2048", "K=8192", "N=2048"], ["2048x8192x2048"], ["2048×8192×2048"]]
)
def test_the_answer_is_that_of_gemm_config(
    root: Path, shape: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert lookup(root, GEMM, *shape, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "method": "fused-cast",
        "tile": {"tile_m": 64, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128},
        "gflops": 8898.2,
        "mean_rel_L1": 0.0094,
    }


def test_the_answer_as_text(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lookup(root, GEMM.lower(), "512x512x512") == 0
    assert capsys.readouterr().out.splitlines() == [
        "method       drain",
        "tile         tile_m=64 tile_k_l2=256 tile_k_l1=32 tile_n=128",
        "gflops       1703.4",
        "mean_rel_L1  0.0097",
        "herd         4x4",
    ]


def test_variant_precision_and_target(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def method(*options: str) -> object:
        assert lookup(root, GEMM, "2048x8192x2048", *options, "--format", "json") == 0
        return json.loads(capsys.readouterr().out)

    assert method("--variant", "drain")["method"] == "drain"  # type: ignore[index]
    assert method("--precision", "low")["method"] == "direct"  # type: ignore[index]
    emulated = method("--target", "npu2-emu")
    assert (emulated["gflops"], emulated["emulated"]) == (None, True)  # type: ignore[index]


def test_an_unknown_shape_exits_1_and_names_the_nearest(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lookup(root, GEMM, "M=2048", "K=8192", "N=4096") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "nearest: 2048x8192x2048 (direct, drain, fused-cast)" in captured.err
    assert "registry-tool verify" in captured.err


def test_a_registrys_own_kernel(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lookup(root, "Attention_toy", "512x512x64x64x2x2x1", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["gbps"] == 0.153


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Nope", "1x2"], "unknown kernel 'Nope'"),
        ([GEMM, "1x2"], "is no shape of"),
        ([GEMM, "1x2x3", "--variant", "magic"], "--variant magic"),
        ([GEMM, "1x2x3", "--precision", "medium"], "--precision medium"),
        ([GEMM, "2048x8192x2048", "--variant", "direct", "--precision", "high"], "tier 'low'"),
        (["Attention_toy", "512x512x64x64x2x2x1", "--precision", "high"], "has none"),
        ([GEMM, "1x2x3", "--target", "npu9"], "unknown target 'npu9'"),
        ([GEMM, "64x64x64", "--strict", "very"], "one of any, sound, verified"),
    ],
)
def test_wrong_use_exits_2(
    root: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lookup(root, *words) == 2
    assert said in capsys.readouterr().err


def test_it_answers_from_the_records_and_not_from_what_was_rendered(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "details").mkdir()
    (root / "details" / f"{GEMM}.json").write_text("{}")
    assert lookup(root, GEMM, "512x512x512") == 0
    assert "1703.4" in capsys.readouterr().out


def test_an_imported_row_says_that_it_is_not_verified(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lookup(root, GEMM, "64x64x64") == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "verified     false",
        "source       imported",
        "caveats      failing",
    ]
    assert lookup(root, GEMM, "64x64x64", "--format", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["verified"], answer["source"]) == (False, "imported")
    assert answer["caveats"] == ["failing"]


@pytest.mark.parametrize("policy", [[], ["verified"], ["sound"]])
def test_strict_refuses_an_imported_row_and_says_what_to_run(
    root: Path, policy: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert lookup(root, GEMM, "64x64x64", "--strict", *policy) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "imported" in captured.err
    assert "next: registry-tool verify --target npu2" in captured.err
    assert lookup(root, GEMM, "512x512x512", "--strict", *policy) == 0
