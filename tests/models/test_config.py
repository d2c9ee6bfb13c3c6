"""Reading config.json: what is derived, what is refused, and that nothing is guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.errors import InputError
from registry_tool.models.config import read_config
from registry_tool.models.load import load_model
from registry_tool.models.needs import LM_HEAD_PARTITION
from registry_tool.records.model import Model
from tests.shared_data import shared

LLAMA = {
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "hidden_act": "silu",
    "vocab_size": 128256,
}
DERIVED = [
    "llama-3.2-1b-instruct",
    "llama-3.2-3b",
    "qwen2-0.5b",
    "qwen2.5-3b",
    "qwen2.5-7b-instruct",
    "qwen3-0.6b",
    "qwen3-1.7b",
    "qwen3-8b",
    "smollm2-1.7b",
    "smollm2-360m",
]
SITES = {
    "q": "Q proj",
    "kv": "K/V proj",
    "o": "O proj",
    "gate_up": "Gate/Up proj",
    "down": "Down proj",
}


def write(folder: Path, document: object) -> Path:
    path = folder / "a-model.json"
    path.write_text(json.dumps(document))
    return path


def changed(**fields: object) -> dict[str, object]:
    return {**LLAMA, **fields}


def shape(model: Model, phase: str, site: str) -> tuple[int, ...]:
    (need,) = [n for n in model.needs if n.phase == phase and n.site == site]
    return tuple(need.shape.values())


@pytest.mark.parametrize("name", DERIVED)
def test_the_prefill_gemms_are_those_of_the_reference(name: str) -> None:
    expected = json.loads(shared("hf_configs/EXPECTED.json").read_text())[name]
    model = load_model(shared(f"hf_configs/{name}.json"), None, expected["prefill_seq"])
    assert {key: shape(model, "prefill", site) for key, site in SITES.items()} == {
        key: tuple(value) for key, value in expected["gemm"].items()
    }


def test_every_other_reference_config_is_refused_with_exit_status_two() -> None:
    folder = shared("hf_configs")
    for path in sorted(folder.glob("*.json")):
        if path.stem in (*DERIVED, "llama-3.2-1b-base-eos-int"):
            continue
        with pytest.raises(InputError) as refusal:
            load_model(path, "m", 2048)
        assert refusal.value.exit_status == 2, path


def test_llama_1b_has_the_needs_of_both_phases(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, LLAMA), None, 2048)
    assert model.model == "a-model"
    assert shape(model, "prefill", "RoPE Q") == (32 * 2048, 64)
    assert shape(model, "prefill", "RoPE K") == (8 * 2048, 64)
    assert shape(model, "decode", "RoPE Q") == (32, 64)
    assert shape(model, "prefill", "attention") == (2048, 2048, 64, 64, 32, 8, 1)
    assert shape(model, "prefill", "SwiGLU") == (2048 * 8192,)
    assert shape(model, "prefill", "residual add") == (2048 * 2048,)
    assert shape(model, "prefill", "RMSNorm") == (2048, 2048)
    assert shape(model, "decode", "LM head (per partition)") == (LM_HEAD_PARTITION, 2048)
    assert {part.site for part in model.uncovered} == {"residual add", "SwiGLU", "attention"}
    assert any("padded by 2816 rows" in note for note in model.notes)


def test_qwen3_norms_each_head_of_q_and_k(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, changed(model_type="qwen3", head_dim=128)), None, 2048)
    assert shape(model, "prefill", "Q/K norm (per head)") == (2048, 128)


def test_an_explicit_head_dim_wins_over_hidden_divided_by_heads(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, changed(head_dim=128)), None, 2048)
    assert shape(model, "prefill", "Q proj") == (2048, 2048, 32 * 128)
    assert shape(model, "prefill", "O proj") == (2048, 32 * 128, 2048)


def test_an_absent_head_dim_is_derived_and_said(tmp_path: Path) -> None:
    document = {key: value for key, value in LLAMA.items() if key != "head_dim"}
    config = read_config(write(tmp_path, document), 2048)
    assert config.head_dim == 64
    assert any("head_dim is absent" in note for note in config.notes)


def test_absent_kv_heads_mean_one_per_head(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, changed(num_key_value_heads=None)), 2048)
    assert config.kv_heads == 32


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"num_local_experts": 8}, "num_local_experts"),
        ({"kv_lora_rank": 512}, "kv_lora_rank"),
        ({"is_encoder_decoder": True}, "is_encoder_decoder"),
        ({"text_config": {"hidden_size": 1}}, "text_config"),
        ({"layer_types": ["full_attention", "linear_attention"]}, "layer_types"),
        ({"auto_map": {"AutoModel": "x.y"}}, "auto_map"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"model_type": "mamba"}, "model_type"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"num_key_value_heads": 7}, "num_key_value_heads"),
        ({"head_dim": None, "hidden_size": 2050}, "hidden_size"),
        ({"hidden_size": "2048"}, "hidden_size"),
        ({"hidden_size": True}, "hidden_size"),
        ({"intermediate_size": 0}, "intermediate_size"),
        ({"vocab_size": -1}, "vocab_size"),
        ({"intermediate_size": None}, "intermediate_size"),
        ({"sliding_window": 1024}, "sliding_window"),
    ],
)
def test_a_config_out_of_scope_names_the_deciding_key(
    tmp_path: Path, fields: dict[str, object], key: str
) -> None:
    with pytest.raises(InputError, match=key):
        read_config(write(tmp_path, changed(**fields)), 2048)


def test_a_sliding_window_that_is_off_or_wide_enough_changes_nothing(tmp_path: Path) -> None:
    for fields in (
        {"sliding_window": 1024, "use_sliding_window": False},
        {"sliding_window": 2048},
        {"sliding_window": None},
    ):
        assert read_config(write(tmp_path, changed(**fields)), 2048).heads == 32


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"a": NaN}', '{"model_type": 1, "model_type": 2}', "\x00"]
)
def test_a_file_that_is_no_config_is_one_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError):
        read_config(path, 2048)


def test_a_missing_file_and_a_folder_without_config_say_so(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match="cannot read the config"):
            read_config(path, 2048)


@given(heads=st.integers(1, 64), group=st.integers(1, 8), half=st.integers(1, 128))
def test_scaling_the_heads_scales_what_hangs_on_them(heads: int, group: int, half: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        document = changed(
            num_attention_heads=heads * group, num_key_value_heads=heads, head_dim=2 * half
        )
        model = load_model(write(Path(folder), document), "m", 512)
    assert shape(model, "prefill", "Q proj") == (512, 2048, heads * group * 2 * half)
    assert shape(model, "prefill", "K/V proj") == (512, 2048, heads * 2 * half)
    assert shape(model, "decode", "RoPE K") == (heads, 2 * half)
