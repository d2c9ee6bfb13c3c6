"""The words of inline values."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.tables import selector
from registry_tool.tables.selector import FUNCTIONS, TEXT_KEYS, Selector, SelectorError, parse


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("best throughput", Selector("best", "throughput")),
        ("  worst\tmean_rel_L1 ", Selector("worst", "mean_rel_L1")),
        ("count", Selector("count", "rows")),
        ("count shapes kernel=RoPE", Selector("count", "shapes", kernel="RoPE")),
        (
            'range latency model="Llama 3 \\"B\\"" K=2048 digits=2 unit=no',
            Selector(
                "range", "latency", model='Llama 3 "B"', dims={"K": 2048}, digits=2, unit=False
            ),
        ),
        (
            "best throughput target=npu2 variant=fused-cast precision=high",
            Selector("best", "throughput", target="npu2", variant="fused-cast", precision="high"),
        ),
    ],
)
def test_what_is_said_is_read(words: str, said: Selector) -> None:
    assert parse(words) == said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "nothing says what to show; expected best, worst, range or count"),
        ("biggest throughput", "unknown word 'biggest'; expected best, worst, range or count"),
        ("best", "nothing after 'best'; expected throughput, latency, "),
        ("best speed", "unknown word 'speed'; expected throughput, latency, "),
        ("best Throughput", "unknown word 'Throughput'"),
        ("count throughput", "unknown word 'throughput'; expected rows or shapes"),
        ("best throughput please", "unknown word 'please' after 'throughput'; expected kernel=, "),
        ("best throughput K=1 please", "unknown word 'please' after K=; expected kernel=, "),
        ("best throughput K=1 K=1", "K= is here a second time"),
        ("best throughput K=big", "K=big; expected a whole number"),
        ("best throughput K=-1", "K=-1; expected a whole number"),
        ("best throughput K=\uff11", "expected a whole number"),
        ("best throughput model=", "cannot read 'model='"),
        ('best throughput model="open', "cannot read"),
        ("best throughput a.b=1", "unknown key 'a.b'"),
        ("best throughput digits=0", "expected a number from 1 to 6"),
        ("count digits=2", "digits= says nothing about rows"),
        ("best tiles digits=2", "digits= says nothing about tiles"),
        ("best throughput unit=maybe", "expected yes or no"),
        ("best max_abs unit=no", "unit= says nothing about max_abs"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_was_expected(words: str, message: str) -> None:
    with pytest.raises(SelectorError, match=re.escape(message)):
        parse(words)


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1)
RESERVED = {*TEXT_KEYS, "digits", "unit"}


@st.composite
def selectors(draw: st.DrawFn) -> Selector:
    function = draw(st.sampled_from(list(FUNCTIONS)))
    field = draw(st.sampled_from(FUNCTIONS[function]))
    texts = draw(st.dictionaries(st.sampled_from(TEXT_KEYS), TEXTS))
    names = st.from_regex(r"[A-Za-z][A-Za-z0-9_]*", fullmatch=True).filter(
        lambda name: name not in RESERVED
    )
    dims = draw(st.dictionaries(names, st.integers(0, 10**12), max_size=3))
    has_digits = field not in (*selector.COUNTED, "tiles")
    digits = draw(st.none() | st.integers(1, 6)) if has_digits else None
    unit = draw(st.none() | st.booleans()) if field in ("throughput", "latency") else None
    return Selector(function, field, dims=dims, digits=digits, unit=unit, **texts)


@given(selectors())
def test_what_is_written_is_read_back(words: Selector) -> None:
    assert parse(str(words)) == words


@given(st.text(st.sampled_from('best throughput=" \\K1')))
def test_any_text_is_read_or_refused(words: str) -> None:
    with contextlib.suppress(SelectorError):
        assert parse(str(parse(words))) == parse(words)


def test_the_guide_has_every_word() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide.md").read_text("utf-8")
    section = guide.partition("## Figures in prose")[2].partition("\n## ")[0]
    words = {*FUNCTIONS, *selector.FIELDS, *selector.COUNTED}
    assert {word for word in words if f"`{word}`" not in section} == set()
    assert {key for key in RESERVED if f"`{key}=" not in section} == set()
    for example in re.findall(r"registry:value (.*?) -->", section):
        parse(example)
