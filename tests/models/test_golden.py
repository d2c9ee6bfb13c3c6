"""The needs of every reference config, against its golden file and the published widths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from registry_tool.errors import InputError
from registry_tool.models.load import load_model
from registry_tool.records import canonical, catalog
from registry_tool.records.kernel import check_shape
from registry_tool.records.model import Model
from tests.models.configs import shape, sites
from tests.models.golden import FOLDER, OPTIONS, configs, outcome
from tests.shared_data import shared

CONFIGS = configs()
SITES = {
    "q": "Q proj",
    "kv": "K/V proj",
    "o": "O proj",
    "gate_up": "Gate/Up proj",
    "down": "Down proj",
}


def expected() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(shared("hf_configs/EXPECTED.json").read_text())
    return document


def named(config: Path) -> str:
    return config.stem


@pytest.mark.parametrize("config", CONFIGS, ids=named)
def test_a_config_gives_what_its_golden_file_says(config: Path) -> None:
    golden = json.loads((FOLDER / f"{config.stem}.json").read_text())
    assert golden.pop("basis") != "?"
    assert outcome(config) == golden


def test_every_reference_config_has_a_golden_file_and_the_other_way_round() -> None:
    shared("hf_configs")
    assert {path.stem for path in FOLDER.glob("*.json")} == {path.stem for path in CONFIGS}


def test_the_prefill_gemms_are_those_of_the_reference() -> None:
    given = {name: one["gemm"] for name, one in expected().items() if "gemm" in one}
    assert len(given) > 10
    for name, gemm in given.items():
        model = load_model(shared(f"hf_configs/{name}.json"), None)
        assert {key: shape(model, "prefill", site) for key, site in SITES.items()} == {
            key: tuple(value) for key, value in gemm.items()
        }, name


@pytest.mark.parametrize("config", CONFIGS, ids=named)
def test_what_the_reference_refuses_is_refused_with_exit_status_two(config: Path) -> None:
    scope = expected().get(config.stem, {}).get("scope")
    if scope not in ("refuse", "reject or flag"):
        load_model(config, None)
        return
    with pytest.raises(InputError) as refusal:
        load_model(config, None)
    assert refusal.value.exit_status == 2
    assert "`" in refusal.value.message or "lacks" in refusal.value.message


def test_fused_projections_and_rotation_are_those_of_the_reference() -> None:
    from registry_tool.models.options import Options

    wanted = expected()
    stored = Options(fuse=frozenset({"stored"}))
    phi = load_model(shared("hf_configs/phi-4-mini-instruct.json"), None, stored)
    fused = wanted["phi-4-mini-instruct"]["fused"]
    assert shape(phi, "prefill", "QKV proj (fused)") == tuple(fused["qkv_proj"])
    assert shape(phi, "prefill", "Gate+Up proj (fused)") == tuple(fused["gate_up_proj"])
    (rotated,) = [site for site in sites(phi) if site.startswith("RoPE Q")]
    assert shape(phi, "prefill", rotated)[1] == fused["rotary_dim"]
    falcon = load_model(shared("hf_configs/falcon-7b-instruct.json"), None, stored)
    facts = wanted["falcon-7b-instruct"]
    assert shape(falcon, "prefill", "QKV proj (fused)")[2] == facts["fused_qkv_out"]
    assert shape(falcon, "prefill", "Up proj")[2] == facts["ffn"]


@pytest.mark.parametrize("config", CONFIGS, ids=named)
def test_every_need_fits_the_dims_of_its_page(config: Path) -> None:
    try:
        model = load_model(config, None, OPTIONS.get(config.stem))
    except InputError:
        return
    specs = catalog.built_in()
    for need in model.needs:
        assert check_shape(specs[need.kernel], need.shape) is None, need
    written = canonical.encode(model)
    assert canonical.decode(written, Model) == model


@pytest.mark.parametrize(
    ("saved", "config"),
    [("Llama-3.2-1B", "llama-3.2-1b-instruct"), ("Qwen3-0.6B", "qwen3-0.6b")],
)
def test_the_models_that_this_registry_holds_are_derived_as_they_stand(
    saved: str, config: str
) -> None:
    path = Path(__file__).resolve().parents[2] / "kernel_registry" / "models" / f"{saved}.json"
    before = json.loads(path.read_bytes())
    model = load_model(shared(f"hf_configs/{config}.json"), saved)
    # The file came from another copy of the config: the same keys, other bytes.
    digest = before["config_sha256"]
    assert canonical.encode(convert({**_plain(model), "config_sha256": digest}, Model)) == (
        path.read_bytes()
    )


def _plain(model: Model) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(canonical.encode(model))
    return document
