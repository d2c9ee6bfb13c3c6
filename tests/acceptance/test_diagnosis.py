"""A kernel that no harness runs alone is covered by the diagnosis of a model that uses it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import msgspec
import pytest

from registry_tool.records import canonical, catalog
from registry_tool.records.model import Model, Need
from tests.standin.bench import Bench

MODEL = "tiny_llama"
KERNEL = "RowNorm_bf16"


@pytest.fixture
def covered(bench: Bench) -> Bench:
    """A registry with a kernel of its own that no harness runs, and a model that needs it."""
    (bench.world.registry / "kernels").mkdir()
    write_page(bench, {})
    return bench


def write_page(bench: Bench, harness: object) -> None:
    spec = msgspec.to_builtins(catalog.built_in()["RMSNorm_bf16"])
    page = {**spec, "kernel": KERNEL, "title": "RowNorm (BF16)", "harness": harness}
    path = bench.world.registry / "kernels" / f"{KERNEL}.yaml"
    path.write_text(json.dumps(page, indent=2))


def run(
    bench: Bench, layers: int = 8, *words: str, model: str = MODEL
) -> subprocess.CompletedProcess[str]:
    """`verify` of a model of so many layers that needs the kernel at two sites."""
    needs: list[Need] = [
        Need(
            phase="prefill", site="norm", kernel=KERNEL, precision=None, shape={"M": 64, "N": 256}
        ),
        Need(phase="decode", site="norm", kernel=KERNEL, precision=None, shape={"M": 8, "N": 256}),
    ]
    document = Model(
        model=model,
        config_sha256="0" * 64,
        seq=64,
        needs=needs,
        uncovered=[],
        notes=[],
        layers=layers,
    )
    folder = bench.world.registry / "models"
    folder.mkdir(exist_ok=True)
    (folder / f"{model}.json").write_bytes(canonical.encode(document))
    return bench.world.tool("verify", "--target", "npu2", "--model", model, *words)


def documents(bench: Bench) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    records = [json.loads(path.read_bytes()) for path in bench.world.records()]
    return records, bench.verdicts()


def test_one_diagnosis_covers_every_need_of_the_kernel(covered: Bench) -> None:
    done = run(covered)
    assert done.returncode == 0, done.stdout + done.stderr
    records, verdicts = documents(covered)
    assert len(records) == len(verdicts) == 2
    assert len(covered.tree.starts(MODEL)) == 1
    for record in records:
        assert record["verdict"]["kind"] == "diagnosis"
        assert (record["mean_rel_L1"], record["performance"]) == (None, None)
        assert set(record["provenance"]) == {"tile", "herd"}
        assert any("diagnosis of a model" in note for note in record["notes"])
    for verdict in verdicts:
        assert (verdict["kind"], verdict["outputs"], verdict["layers"]) == ("diagnosis", [], 8)
        assert verdict["sources"]
    assert covered.world.json("check")["findings"] == []
    page = covered.world.registry / "details" / f"{KERNEL}.md"
    assert "diagnosis" in page.read_text()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"kind": "cliff", "amount": 5}, "a cliff"),
        ({"kind": "nan-layer", "amount": 3}, "not finite"),
        ({"kind": "missing-layer", "amount": 4}, "layers are missing"),
        ({"kind": "fewer-layers", "amount": 6}, "layers are missing (of 8): 6, 7"),
        ({"kind": "timeout", "folder": MODEL}, "timed out"),
    ],
)
def test_its_printed_pass_means_nothing(covered: Bench, fault: dict[str, Any], words: str) -> None:
    covered.tree.misbehave(fault)
    done = run(covered)
    assert done.returncode == 1
    records, verdicts = documents(covered)
    assert records == []
    judged = [verdict for verdict in verdicts if "canary" not in verdict]
    assert judged
    for verdict in judged:
        assert verdict["status"] != "pass"
        assert words in verdict["reason"]
        assert len(verdict["attempts"]) == 2
    assert covered.world.json("check")["findings"] == []


def test_a_device_that_is_gone_after_a_diagnosis_ends_the_plan(covered: Bench) -> None:
    covered.tree.misbehave({"kind": "timeout"})
    done = run(covered)
    assert done.returncode == 1
    assert "not run: the device is suspect" in done.stderr
    own = [verdict for verdict in covered.verdicts() if verdict["kind"] == "diagnosis"]
    assert [len(verdict["attempts"]) for verdict in own] == [1]
    (canary,) = [verdict for verdict in covered.verdicts() if verdict.get("canary")]
    assert canary["status"] == "timeout"


def test_the_report_is_read_where_it_is_not_printed(covered: Bench) -> None:
    covered.tree.misbehave({"kind": "report-only"})
    assert run(covered).returncode == 0
    covered.tree.misbehave({"kind": "report-only"}, {"kind": "cliff", "amount": 2})
    assert run(covered, 8, "--force").returncode == 1


def test_a_model_with_more_layers_than_the_diagnosis_shows_is_not_covered(covered: Bench) -> None:
    done = run(covered, 12)
    assert done.returncode == 1
    assert "layers are missing (of 12)" in done.stderr


def test_a_model_without_a_folder_says_what_to_do(covered: Bench) -> None:
    done = run(covered, 8, model="other")
    assert done.returncode == 1
    assert "model_folders" in done.stderr
    covered.configure(model_folders={"other": MODEL})
    assert run(covered, 2, model="other").returncode == 1
    assert "more layers than the model's 2" in covered.verdicts()[-1]["reason"]
    assert run(covered, 8, model="other").returncode == 0


def test_never_for_a_kernel_that_has_a_harness(covered: Bench) -> None:
    assert run(covered).returncode == 0
    write_page(covered, msgspec.to_builtins(catalog.built_in()["RMSNorm_bf16"].harness))
    found = covered.world.json("check", status=1)["findings"]
    assert {one["rule"] for one in found if one["severity"] == "error"} == {"KR107"}


def test_a_page_cannot_take_a_built_in_harness_away(covered: Bench) -> None:
    page = covered.world.registry / "kernels" / "RMSNorm_bf16.yaml"
    page.write_text("kernel: RMSNorm_bf16\nharness: {}\n")
    found = covered.world.json("check", status=1)["findings"]
    assert "KR110" in {one["rule"] for one in found}


def test_the_dry_run_shows_the_diagnosis(covered: Bench) -> None:
    done = run(covered, 8, "--dry-run")
    assert "make diagnosis PEANO_INSTALL_DIR=" in done.stdout
    assert covered.tree.starts() == []


def test_a_single_shape_is_covered_by_a_saved_model_that_needs_the_kernel(covered: Bench) -> None:
    run(covered, 8, "--dry-run")  # saves nothing but the model's file
    words = ["verify", "--target", "npu2", "--kernel", KERNEL, "--shape", "M=128,N=256"]
    done = covered.world.tool(*words)
    assert done.returncode == 0, done.stderr
    (record,) = documents(covered)[0]
    assert record["verdict"]["kind"] == "diagnosis"
