"""Reading config.json: what is derived, what is refused, and that nothing is guessed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from registry_tool.errors import InputError
from registry_tool.models.assumptions import LM_HEAD_PARTITION
from registry_tool.models.config import read_config
from registry_tool.models.load import load_model
from tests.models.configs import LLAMA, changed, model_of, said, shape, sites, without, write


def test_llama_1b_has_the_needs_of_both_phases(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, LLAMA), None)
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
    assert said(model, "padded by 2816 rows")


def test_a_config_s_folder_names_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "My-Model"
    folder.mkdir()
    write(folder, LLAMA, "config")
    assert load_model(folder, None).model == "My-Model"
    assert load_model(folder / "config.json", None).model == "My-Model"


def test_an_explicit_head_dim_wins_over_hidden_divided_by_heads() -> None:
    model = model_of(changed(head_dim=128))
    assert shape(model, "prefill", "Q proj") == (2048, 2048, 32 * 128)
    assert shape(model, "prefill", "O proj") == (2048, 32 * 128, 2048)


def test_an_absent_head_dim_is_derived_and_said() -> None:
    for document in (without(LLAMA, "head_dim"), changed(head_dim=None)):
        model = model_of(document)
        assert shape(model, "prefill", "attention")[2] == 64
        assert said(model, "head_dim is absent: hidden_size / num_attention_heads = 64")


def test_absent_and_null_kv_heads_mean_one_per_head() -> None:
    for document in (without(LLAMA, "num_key_value_heads"), changed(num_key_value_heads=None)):
        model = model_of(document)
        assert shape(model, "prefill", "K/V proj") == (2048, 2048, 2048)
        assert said(model, "every one of 32 heads")


@pytest.mark.parametrize("family", ["qwen2", "mistral", "gemma", "starcoder2"])
def test_absent_kv_heads_are_missing_where_the_class_gives_a_number(family: str) -> None:
    with pytest.raises(InputError, match="lacks num_key_value_heads"):
        model_of(without(changed(model_type=family), "num_key_value_heads"))


@pytest.mark.parametrize("family", ["qwen3", "gemma", "gemma2", "gemma3_text", "glm4"])
def test_an_absent_head_dim_is_missing_where_the_class_gives_a_number(family: str) -> None:
    with pytest.raises(InputError, match="lacks head_dim"):
        model_of(without(changed(model_type=family), "head_dim"))


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("hidden_size", "n_embd"),
        ("hidden_size", "d_model"),
        ("intermediate_size", "n_inner"),
        ("intermediate_size", "ffn_dim"),
        ("intermediate_size", "ffn_hidden_size"),
        ("intermediate_size", "d_ff"),
        ("num_hidden_layers", "n_layer"),
        ("num_hidden_layers", "num_layers"),
        ("num_attention_heads", "n_head"),
        ("num_key_value_heads", "num_kv_heads"),
        ("head_dim", "kv_channels"),
        ("vocab_size", "padded_vocab_size"),
    ],
)
def test_a_width_is_found_under_its_other_names(name: str, alias: str) -> None:
    model = model_of({**without(LLAMA, name), alias: LLAMA[name]})
    assert model.needs == model_of(LLAMA).needs


def test_two_names_of_one_width_that_disagree_are_refused() -> None:
    with pytest.raises(InputError, match="`intermediate_size` = 8192 and `n_inner` = 1 disagree"):
        model_of(changed(n_inner=1))


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"model_type": "mamba"}, "model_type"),
        ({"model_type": ["llama"]}, "model_type"),
        ({"hidden_act": "tanh"}, "hidden_act"),
        ({"hidden_act": 3}, "hidden_act"),
        ({"num_key_value_heads": 7}, "num_key_value_heads"),
        ({"head_dim": None, "hidden_size": 2050}, "hidden_size"),
        ({"head_dim": 65}, "head_dim"),
        ({"hidden_size": "2048"}, "hidden_size"),
        ({"hidden_size": 2048.0}, "hidden_size"),
        ({"hidden_size": True}, "hidden_size"),
        ({"hidden_size": 2**64}, "hidden_size"),
        ({"num_hidden_layers": 20000}, "num_hidden_layers"),
        ({"intermediate_size": 0}, "intermediate_size"),
        ({"intermediate_size": [8192, 8192]}, "intermediate_size"),
        ({"vocab_size": -1}, "vocab_size"),
        ({"intermediate_size": None}, "intermediate_size"),
        ({"sliding_window": "4096"}, "sliding_window"),
        ({"use_sliding_window": "no", "sliding_window": 1}, "use_sliding_window"),
        ({"rope_scaling": "linear"}, "rope_scaling"),
        ({"partial_rotary_factor": 2}, "partial_rotary_factor"),
        ({"layer_types": ["full_attention"] * 3, "sliding_window": 8}, "layer_types"),
        ({"attention_bias": "yes"}, "attention_bias"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_its_key(fields: dict[str, object], key: str) -> None:
    with pytest.raises(InputError, match=key):
        model_of(changed(**fields))


def test_every_missing_key_is_listed_at_once() -> None:
    with pytest.raises(InputError) as refusal:
        model_of({"model_type": "qwen3", "hidden_size": 1024})
    for key in (
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "vocab_size",
        "head_dim",
        "num_key_value_heads",
    ):
        assert key in str(refusal.value)
    assert "--defaults qwen3" in str(refusal.value)
    assert refusal.value.exit_status == 2


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"a": NaN}', '{"model_type": 1, "model_type": 2}', "\x00"]
)
def test_a_file_that_is_no_config_is_one_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError):
        read_config(path)


def test_a_missing_file_and_a_folder_without_config_say_so(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match="cannot read the config"):
            read_config(path)


def test_no_key_beyond_the_known_ones_changes_anything() -> None:
    extra = {"x_new_thing": 7, "is_llama_config": True, "transformers.js_config": {"dtype": "q4"}}
    assert model_of(changed(**extra)).needs == model_of(LLAMA).needs
    assert sites(model_of(changed(**extra)))[:2] == ["Q proj", "K/V proj"]


@pytest.mark.parametrize("name", ["a pipe", "a device"])
def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    path = Path("/dev/zero")
    if name == "a pipe":
        path = tmp_path / "config.json"
        os.mkfifo(path)
    with pytest.raises(InputError, match="no regular file"):
        load_model(path, "a-model")


def test_weights_given_by_mistake_are_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InputError, match="1099511627776 bytes") as refusal:
        load_model(path, "a-model")
    assert "config.json" in str(refusal.value.fix)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ('{"a":' * 5000, "nested too deeply"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "a number of 5000 digits"),
        ('{"rope_theta": 1e999}', "1e999 is beyond"),
        ('{"rope_theta": NaN}', "NaN is no JSON"),
        ('{"a": 1, "a": 1}', 'the key "a" stands twice'),
        ("[1]", "expected a JSON object"),
    ],
)
def test_what_is_no_config_is_said_in_plain_words(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(InputError, match=told) as refusal:
        load_model(path, "a-model")
    assert "give the model's config.json" in str(refusal.value)


def test_a_mark_of_byte_order_and_carriage_returns_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a-model.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(LLAMA, indent=2).replace("\n", "\r\n").encode())
    assert load_model(path, None).needs == model_of(LLAMA).needs


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"metadata": {"total_size": 1}, "weight_map": {}}, "an index of weights"),
        ({"tokenizer_class": "LlamaTokenizer"}, "a tokenizer's config"),
        ({"_from_model_config": True, "eos_token_id": 2}, "a generation config"),
        ({"peft_type": "LORA", "base_model_name_or_path": "org/base"}, '"org/base"'),
    ],
)
def test_a_file_that_stands_beside_the_config_is_told_by_its_keys(
    document: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match="not a decoder's config") as refusal:
        model_of(document)
    assert told in str(refusal.value.fix)
