"""Limits that the pages state in words, held against rows and against the sweeps that passed.

"herd_y must be 1", in a sentence or in a table of parameters, and "herd_y > 1 fails to place".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from registry_tool.adoption.columns import Words
from registry_tool.adoption.drift.finding import Finding
from registry_tool.adoption.drift.prose import Sentence, texts
from registry_tool.adoption.drift.rulebook import (
    Rules,
    differs,
    findings,
    hold_against,
    holds,
    rule_of,
    size_of,
)
from registry_tool.adoption.model import Adoption, Row
from registry_tool.records.spec import KernelSpec

_MUST = re.compile(
    r"(?:\A|[|(.;:—]\s*|[-*]\s)`?(?P<name>[A-Za-z_]\w*)`?\s*(?:\|[^|]*\|\s*)?"
    r"\**must be (?P<value>\d+)\b"
)
# A bound, unless words behind it take it back ("cannot place past 8 tiles").
_CANNOT = re.compile(
    r"(?<![\w·×*])`?(?P<name>[a-z_]\w*)`?\s?(?P<sign>≥|>=|>)\s?(?P<value>\d+)`?\s+"
    r"(?:fails|cannot place|does not place|exhausts|overflows)\b"
    r"(?![^.;|]{0,40}\b(?:past|beyond|above|at|when|unless|if|only)\b)"
)
_PASSES = frozenset("✅☑✔✓🟢")


@dataclass(frozen=True)
class _Limit:
    """``name`` as it is written, what it says, and which sizes break it."""

    where: str
    name: str
    text: str
    expected: str
    broken: Callable[[int], bool]


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Every stated limit with rows or lines of a sweep against it."""
    rules: Rules = {}
    for page in texts(adoption):
        for sentence in page.sentences():
            if sentence.kernel is None:
                continue
            rows = [row for row in adoption.rows if row.kernel == sentence.kernel]
            for limit in _limits(sentence):
                _hold(limit, rows, rules, specs[sentence.kernel])
    yield from findings(rules, specs)


def _limits(sentence: Sentence) -> Iterator[_Limit]:
    for match in _MUST.finditer(sentence.text):
        name, value = match["name"], int(match["value"])
        text = f"{name} must be {value}"
        yield _Limit(sentence.where, name, text, f"{name}={value}", partial(differs, value))
    for match in _CANNOT.finditer(sentence.text):
        name, value = match["name"], int(match["value"])
        sign = {">=": "≥"}.get(match["sign"], match["sign"])
        # What must be 1 and what cannot be more than 1 is one limit, in other words.
        text = f"{name} must be 1" if (sign, value) == (">", 1) else f"{name} {sign} {value} fails"
        expected = f"{name}=1" if (sign, value) == (">", 1) else f"not {name} {sign} {value}"
        yield _Limit(sentence.where, name, text, expected, partial(holds, sign, value))


def _hold(limit: _Limit, rows: list[Row], rules: Rules, spec: KernelSpec) -> None:
    """What no run may do, against the rows and against every line of a sweep that passed."""
    known = Words(spec).resolve(limit.name)
    if known is None:
        return
    rule = rule_of(rules, (spec.kernel, limit.text), spec, limit.text, limit.expected, "high")
    rule.stated.append(limit.where)
    for row in rows:
        hold_against(rule, row, known, limit.broken, spec)
        for claim in row.sweeps:
            passed = (claim.glyph or " ")[0] in _PASSES
            size = size_of(claim, known, spec)
            seen = any(one.where == claim.where for _, one, _ in rule.against)
            if passed and not seen and size is not None and limit.broken(size):
                rule.against.append((row, claim, f"{known[1]}={size} in a sweep, {claim.glyph}"))
