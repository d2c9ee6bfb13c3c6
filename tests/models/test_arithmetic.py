"""`--explain` says how a dim came about: worked out by itself, the text gives the dim."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.errors import ToolError
from registry_tool.models.options import Options
from registry_tool.models.size import Size, divided, plus, rounded_up, scaled, times
from tests.models.arithmetic import worked_out
from tests.models.configs import LLAMA, changed, derived_of
from tests.models.test_properties import BASES

CHOICES = {
    "as they are": Options(),
    "lengths": Options(seqs=(77, 4096)),
    "batch": Options(batch=3),
    "batch and padding": Options(seqs=(77,), batch=3, pad={"M": 96, "K": 64, "N": 256}),
    "padding": Options(seqs=(77,), pad={"M": 96, "K": 64, "N": 256}),
    "fused": Options(fuse=frozenset({"qkv"}), pad={"N": 96}),
    "as stored": Options(fuse=frozenset({"stored"})),
    "an image": Options(image=(448, 460)),
    "an image, padded": Options(image=(448, 460), pad={"M": 96}),
}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("base", BASES, ids=lambda base: str(base.get("model_type")))
def test_the_arithmetic_of_every_need_gives_its_dim(base: dict[str, Any], choice: str) -> None:
    try:
        derived = derived_of(base, CHOICES[choice])
    except ToolError:
        return
    assert derived.calls
    for call in derived.calls:
        for dim, size in call.dims.items():
            if dim != "causal":
                assert worked_out(size.explained) == size.value, (call.site, dim, size.explained)


def test_a_padded_factor_is_shown_with_its_value() -> None:
    derived = derived_of(LLAMA, Options(seqs=(77,), pad={"M": 96}))
    (rope,) = [call for call in derived.calls if call.site == "RoPE Q" and call.phase == "prefill"]
    assert rope.dims["rows"].text == (
        "num_attention_heads 32 x (seq 77, up to a multiple of 96 = 96)"
    )


def test_the_reader_of_these_texts_finds_a_wrong_one() -> None:
    assert worked_out("heads 3 x 5 + 2 = 17 (config.json: heads)") == 17
    with pytest.raises(AssertionError):
        worked_out("heads 3 x batch 5, up to a multiple of 4 = 24")
    assert worked_out("heads 3 x (batch 5, up to a multiple of 4 = 8) = 24") == 24


def _sizes() -> st.SearchStrategy[Size]:
    leaf = st.integers(1, 999).map(lambda value: Size(value, f"a_key {value}"))
    return st.recursive(
        leaf,
        lambda inner: (
            st.builds(times, inner, inner)
            | st.builds(plus, inner, inner)
            | st.builds(scaled, st.integers(1, 9), inner)
            | st.builds(lambda a, b: divided(times(a, b), b), leaf, leaf)
            | st.builds(lambda a, n: rounded_up(a, n, "--pad"), inner, st.integers(1, 99))
        ),
        max_leaves=6,
    )


@given(size=_sizes())
@settings(deadline=None)
def test_however_sizes_are_put_together_the_text_gives_the_value(size: Size) -> None:
    assert worked_out(size.explained) == size.value


@given(heads=st.integers(1, 64), group=st.integers(1, 8), layers=st.integers(1, 99))
@settings(deadline=None, max_examples=30)
def test_scaling_heads_and_layers_keeps_the_arithmetic(heads: int, group: int, layers: int) -> None:
    document = changed(
        num_attention_heads=heads * group, num_key_value_heads=heads, num_hidden_layers=layers
    )
    for call in derived_of(document, Options(fuse=frozenset({"qkv"}))).calls:
        for dim, size in call.dims.items():
            if dim != "causal":
                assert worked_out(size.explained) == size.value
