"""Arithmetic expressions of kernel specs: parsed through a whitelist, never ``eval``.

Each expression becomes a tree of closures once; evaluating it touches only the names it was given.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache

Value = int | float | bool | str | None
Names = Mapping[str, Value]
_Node = Callable[[Names], "Value"]


_BINARY: dict[type[ast.operator], Callable[..., Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[..., bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: dict[type[ast.unaryop], Callable[..., Value]] = {
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
    "cdiv": lambda a, b: -(-a // b),
    "is_power_of_two": lambda a: a > 0 and a & (a - 1) == 0,
}


class ExpressionError(ValueError):
    """The expression is outside the whitelist, or its names or numbers do not fit."""


@lru_cache(maxsize=4096)
def parse(text: str) -> _Node:
    """A function of the names' values that computes ``text``; raises ExpressionError."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _build(tree.body)
    except ExpressionError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"cannot read the expression {text!r}: {error}") from None


@lru_cache(maxsize=4096)
def names_in(text: str) -> frozenset[str]:
    """The names that ``text`` reads."""
    parse(text)
    tree = ast.parse(text.strip(), mode="eval")
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return frozenset(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in called
    )


def evaluate(text: str, names: Names) -> Value:
    """The value of ``text``; raises ExpressionError for unknown names or impossible arithmetic."""
    try:
        return parse(text)(names)
    except ExpressionError:
        raise
    except KeyError as error:
        raise ExpressionError(f"{text!r} reads {error.args[0]!r}, which is not defined") from None
    except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise ExpressionError(f"{text!r} cannot be computed: {error}") from None


def holds(text: str, names: Names) -> bool:
    """Whether the condition ``text`` is true."""
    return bool(evaluate(text, names))


def number(text: str, names: Names) -> float:
    """The value of ``text`` as a finite number; raises ExpressionError if it is none."""
    value = evaluate(text, names)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ExpressionError(f"{text!r} gives {value!r}, not a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError(f"{text!r} gives {value!r}, not a finite number")
    return value


def integer(text: str, names: Names) -> int:
    """The value of ``text`` as a whole number; raises ExpressionError if it is none."""
    value = number(text, names)
    if value != int(value):
        raise ExpressionError(f"{text!r} gives {value!r}, not a whole number")
    return int(value)


def _build(node: ast.expr) -> _Node:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, type(None))):
        constant = node.value
        return lambda names: constant
    if isinstance(node, ast.Name):
        return operator.itemgetter(node.id)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        # `*` and `%` of text repeat and format it: 'x' * 10**9 would take the machine's memory.
        if _may_be_text(node.left) or _may_be_text(node.right):
            raise ExpressionError(f"text takes no part in arithmetic: {ast.unparse(node)!r}")
        return _apply(_BINARY[type(node.op)], node.left, node.right)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _apply(_UNARY[type(node.op)], node.operand)
    if isinstance(node, ast.BoolOp):
        return _boolean(isinstance(node.op, ast.And), [_build(value) for value in node.values])
    if isinstance(node, ast.Compare):
        return _comparison(node)
    if isinstance(node, ast.IfExp):
        test, then, other = _build(node.test), _build(node.body), _build(node.orelse)
        return lambda names: then(names) if test(names) else other(names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id in _FUNCTIONS:
            return _apply(_FUNCTIONS[node.func.id], *node.args)
        raise ExpressionError(f"{node.func.id}() is not one of {', '.join(_FUNCTIONS)}")
    raise ExpressionError(f"{ast.unparse(node)!r} is not allowed in an expression")


def _may_be_text(node: ast.expr) -> bool:
    """Whether a part may be text: `variant`, a literal, or what picks one of these."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.Name):
        return node.id == _TEXT
    return isinstance(node, (ast.IfExp, ast.BoolOp, ast.Call)) and any(
        _may_be_text(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)
    )


_TEXT = "variant"
"""The only name whose value is text."""


def _apply(function: Callable[..., Value], *arguments: ast.expr) -> _Node:
    if len(arguments) != 2:
        parts = [_build(argument) for argument in arguments]
        return lambda names: function(*[part(names) for part in parts])
    # Names and literals are most of what is read: they are taken without a call of their own.
    left, right = arguments
    if isinstance(left, ast.Name):
        return _apply_to_name(function, left.id, right)
    first = _build(left)
    if isinstance(right, ast.Name):
        name = right.id
        return lambda names: function(first(names), names[name])
    if isinstance(right, ast.Constant):
        constant = _build(right)({})
        return lambda names: function(first(names), constant)
    second = _build(right)
    return lambda names: function(first(names), second(names))


def _apply_to_name(function: Callable[..., Value], name: str, right: ast.expr) -> _Node:
    if isinstance(right, ast.Name):
        other = right.id
        return lambda names: function(names[name], names[other])
    second = _build(right)
    if isinstance(right, ast.Constant):
        constant = second({})
        return lambda names: function(names[name], constant)
    return lambda names: function(names[name], second(names))


def _boolean(every: bool, parts: list[_Node]) -> _Node:
    first, *rest = parts
    if not rest:
        return first
    second = _boolean(every, rest)
    if every:
        return lambda names: bool(first(names) and second(names))
    return lambda names: bool(first(names) or second(names))


def _comparison(node: ast.Compare) -> _Node:
    if len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        return _apply(_COMPARE[type(node.ops[0])], node.left, node.comparators[0])
    left = _build(node.left)
    steps: list[_Step] = []
    for operation, right in zip(node.ops, node.comparators, strict=True):
        if isinstance(operation, (ast.In, ast.NotIn)):
            if not isinstance(right, (ast.Tuple, ast.List)):
                raise ExpressionError("`in` takes a list of values on its right")
            members = [_build(item) for item in right.elts]
            steps.append(_membership(isinstance(operation, ast.In), members))
        elif type(operation) in _COMPARE:
            steps.append(_relation(_COMPARE[type(operation)], _build(right)))
        else:
            raise ExpressionError(f"{ast.unparse(node)!r} is not allowed in an expression")

    def compare(names: Names) -> bool:
        value = left(names)
        for step in steps:
            truth, value = step(value, names)
            if not truth:
                return False
        return True

    return compare


_Step = Callable[[Value, Names], "tuple[bool, Value]"]


def _relation(function: Callable[..., bool], right: _Node) -> _Step:
    def step(left: Value, names: Names) -> tuple[bool, Value]:
        value = right(names)
        return function(left, value), value

    return step


def _membership(wanted: bool, members: list[_Node]) -> _Step:
    def step(left: Value, names: Names) -> tuple[bool, Value]:
        return (left in [member(names) for member in members]) is wanted, left

    return step
