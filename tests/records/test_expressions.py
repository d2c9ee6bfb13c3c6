"""Expressions go through a whitelist: arithmetic, comparisons and six functions, nothing else."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.records import expressions
from registry_tool.records.expressions import ExpressionError, Value, evaluate

NAMES: dict[str, Value] = {"M": 2048, "N": 720, "tile_n": 80, "half": 0.5, "variant": "drain"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("M % 512 == 0", True),
        ("-M + 3 * (N - 1)", -2048 + 3 * 719),
        ("N / 7", 720 / 7),
        ("N // 7", 102),
        ("0 < tile_n <= 80 < N", True),
        ("0 < tile_n < 80 < N", False),
        ("M if variant == 'drain' else N", 2048),
        ("variant in ('drain', 'direct')", True),
        ("variant not in ['drain', 'direct']", False),
        ("N in (M, 720)", True),
        ("not (M == 1 or N == 720)", False),
        ("M == 1 or N == 720 and tile_n == 80", True),
        ("min(M, N, 5)", 5),
        ("max(M, half)", 2048),
        ("abs(0 - N)", 720),
        ("sqrt(M * 2)", 64.0),
        ("cdiv(N, 7)", 103),
        ("is_power_of_two(M)", True),
        ("is_power_of_two(N)", False),
        ("is_power_of_two(0)", False),
        ("  M\t", 2048),
        ("variant == None", False),
    ],
)
def test_what_specs_may_say(text: str, value: Value) -> None:
    found = evaluate(text, NAMES)
    assert found == value
    assert type(found) is type(value)


REFUSED = [
    "M ** 2",
    "M.bit_length()",
    "M.real",
    "variant.upper()",
    "''.join(variant)",
    "__import__('os')",
    "open('/etc/passwd')",
    "eval('1')",
    "(lambda: 1)()",
    "lambda: 1",
    "[n for n in (1, 2)]",
    "{n for n in (1, 2)}",
    "{n: n for n in (1, 2)}",
    "sum(n for n in (1, 2))",
    "variant[0]",
    "variant[0:1]",
    "(1, 2)",
    "[1, 2]",
    "{1, 2}",
    "{1: 2}",
    "f'{M}'",
    "b'drain'",
    "1j",
    "...",
    "(m := M)",
    "M << 2",
    "M >> 2",
    "M | 1",
    "M & 1",
    "M ^ 1",
    "~M",
    "+M",
    "M @ N",
    "M is N",
    "M is not N",
    "M in N",
    "M in {1, 2}",
    "min(*[1, 2])",
    "min(M, key=abs)",
    "min(M, **{})",
    "await M",
    "yield M",
    "M; N",
    "M = 1",
    "import os",
    "print(M)",
    "range(9)",
    "pow(2, 9)",
    "round(half)",
    "(min)(M, N) if (min) else getattr(M, 'real')",
    "min.__call__(1, 2)",
    "",
    "   ",
    "M +",
    "(M",
    "M N",
    "1_a",
    "M\n+ N",
    "M\0",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_before_anything_is_computed(text: str) -> None:
    with pytest.raises(ExpressionError):
        expressions.parse(text)
    with pytest.raises(ExpressionError):
        evaluate(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "K",
        "M + K",
        "sqrt",
        "M % 0",
        "M // 0",
        "M / 0",
        "cdiv(M, 0)",
        "sqrt(0 - 1)",
        "sqrt()",
        "sqrt(1, 2)",
        "min(M)",
        "variant < 3",
        "abs(variant)",
        "variant + 1",
        "variant * 1000000000",
        "'x' * 1000000000",
        "1000000000 * 'x'",
        "'%1000000000d' % 1",
        "variant + variant",
        "None + 1",
        "is_power_of_two(half)",
        "-" * 1400 + "1",
    ],
)
def test_what_cannot_be_computed_is_an_error_of_its_own(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, NAMES)


def test_an_error_names_the_expression_and_the_name() -> None:
    with pytest.raises(ExpressionError, match=r"'tile_m \+ 1' reads 'tile_m'"):
        evaluate("tile_m + 1", NAMES)
    with pytest.raises(ExpressionError, match=r"^'M \*\* 2' is not allowed in an expression$"):
        evaluate("M ** 2", NAMES)
    with pytest.raises(ExpressionError, match=r"^pow\(\) is not one of min, max, "):
        evaluate("pow(2, 3)", NAMES)


@pytest.mark.parametrize("text", ["(" * 5000 + "1" + ")" * 5000, "-" * 5000 + "1", "9" * 5000])
def test_nesting_and_length_cannot_break_the_parser(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {})


@pytest.mark.parametrize("depth", [100, 400, 700, 900, 990])
def test_a_deep_expression_is_computed_or_refused(depth: int) -> None:
    with contextlib.suppress(ExpressionError):
        assert evaluate("-" * depth + "1", {}) == 1


def test_only_the_branch_that_is_taken_is_computed() -> None:
    assert evaluate("1 if M else K", NAMES) == 1
    assert evaluate("M == 2048 or K", NAMES) is True
    assert evaluate("M == 1 and K", NAMES) is False
    assert evaluate("1 > 2 > K", NAMES) is False


def test_names_are_those_that_are_read_not_those_that_are_called() -> None:
    text = "min(M, cdiv(N, tile_n)) if variant in ('drain', other) else -M"
    assert expressions.names_in(text) == {"M", "N", "tile_n", "variant", "other"}
    assert expressions.names_in("1 + 2") == frozenset()
    assert expressions.names_in("max + max(min, 1)") == {"max", "min"}


@pytest.mark.parametrize("text", ["True", "M == 1", "'8'", "None", "1e400", "1e400 - 1e400"])
def test_a_number_is_a_finite_number(text: str) -> None:
    with pytest.raises(ExpressionError):
        expressions.number(text, NAMES)
    with pytest.raises(ExpressionError):
        expressions.integer(text, NAMES)


def test_an_integer_may_be_a_whole_float_but_no_other() -> None:
    assert expressions.integer("M / 2", NAMES) == 1024
    assert type(expressions.integer("M / 2", NAMES)) is int
    with pytest.raises(ExpressionError, match="not a whole number"):
        expressions.integer("N / 7", NAMES)
    assert expressions.number("half", NAMES) == 0.5


# --- Python's own arithmetic as the oracle; `eval` stands in this test and nowhere else ----------

_numbers = st.one_of(
    st.integers(0, 5000).map(str),
    st.sampled_from(["M", "N", "K", "half"]),
    st.floats(0, 1e6).map(repr),
)


def _arithmetic(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner)
    return st.one_of(
        pair.map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        pair.map(lambda parts: f"{parts[0]} {parts[1]} {parts[2]}"),
        inner.map(lambda text: f"-({text})"),
        st.tuples(inner, inner).map(lambda two: f"min({two[0]}, {two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"max({two[0]}, {two[1]})"),
        inner.map(lambda text: f"abs({text})"),
        inner.map(lambda text: f"sqrt(abs({text}))"),
        st.tuples(inner, _condition(inner), inner).map(
            lambda three: f"({three[0]} if {three[1]} else {three[2]})"
        ),
    )


def _condition(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    compare = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    simple = st.tuples(inner, compare, inner, compare, inner).map(" ".join)
    chosen = st.tuples(inner, inner, inner).map(
        lambda three: f"{three[0]} in ({three[1]}, {three[2]})"
    )
    plain = simple | chosen
    joined = st.tuples(plain, st.sampled_from(["and", "or", "and not", "or not"]), plain)
    return plain | joined.map(" ".join)


_expressions = st.recursive(_numbers, _arithmetic, max_leaves=12)


@settings(max_examples=150)
@given(
    _expressions | _condition(_expressions),
    st.fixed_dictionaries(
        {
            "M": st.integers(0, 10**6),
            "N": st.integers(1, 10**6),
            "K": st.integers(-5, 5),
            "half": st.floats(-4, 4),
        }
    ),
)
def test_it_computes_what_python_computes(text: str, names: dict[str, float]) -> None:
    functions = {"min": min, "max": max, "abs": abs, "sqrt": math.sqrt}
    try:
        wanted = eval(text, {"__builtins__": {}, **functions}, dict(names))
    except (ArithmeticError, ValueError):
        with pytest.raises(ExpressionError):
            evaluate(text, names)
        return
    found = evaluate(text, names)
    assert type(found) is type(wanted)
    assert found == wanted or (found != found and wanted != wanted)
    assert expressions.names_in(text) <= names.keys()


@settings(max_examples=200)
@given(st.text("MNK()[]{}.,:'\"+-*/%<>=!~&|^@ 0123456789_lambdforinxyz\n\\", max_size=30))
def test_no_text_does_more_than_fail(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        evaluate(text, NAMES)
