"""Rules as they are stated, with the claims against them; how they are read is elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from registry_tool.adoption.drift.finding import Confidence, Finding, Side, sides
from registry_tool.adoption.drift.naming import row_name
from registry_tool.adoption.model import Claim, Row
from registry_tool.records.kernel import shape_text
from registry_tool.records.spec import KernelSpec

_SIGNED: Mapping[str, Callable[[int, int], bool]] = {
    "=": lambda size, value: size == value,
    ">": lambda size, value: size > value,
    ">=": lambda size, value: size >= value,
    "≥": lambda size, value: size >= value,
}
_SHOWN = 4


@dataclass
class Rule:
    """A rule as stated, in one place or several, and the claims that contradict it."""

    kernel: str
    text: str
    expected: str
    confidence: Confidence
    stated: list[str] = field(default_factory=list)
    against: list[tuple[Row, Claim, str]] = field(default_factory=list)


Rules = dict[tuple[object, ...], Rule]


def findings(rules: Rules, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """One finding for each rule with claims against it."""
    for rule in rules.values():
        if rule.against:
            yield _finding(rule, specs)


def differs(value: int, size: int) -> bool:
    """Whether a size is another than the one that is stated."""
    return size != value


def equals(value: int, size: int) -> bool:
    """Whether a size is the one that is stated."""
    return size == value


def holds(sign: str, value: int, size: int) -> bool:
    """Whether ``size`` stands in the relation ``sign`` to ``value``."""
    return _SIGNED[sign](size, value)


def rule_of(
    rules: Rules,
    key: tuple[object, ...],
    spec: KernelSpec,
    text: str,
    expected: str,
    confidence: Confidence,
) -> Rule:
    """The rule of a key, made where it is stated for the first time."""
    return rules.setdefault(key, Rule(spec.kernel, text, expected, confidence))


def hold_against(
    rule: Rule,
    row: Row,
    known: tuple[str, str],
    broken: Callable[[int], bool],
    spec: KernelSpec,
    table: int | None = None,
) -> None:
    """Add the first claim of ``row`` whose knob or axis breaks the rule."""
    if any(one.key == row.key for one, _, _ in rule.against):
        return
    for claim in row.claims:
        if claim.kind != "row" or (table is not None and claim.table != table):
            continue
        size = size_of(claim, known, spec)
        if size is not None and broken(size):
            rule.against.append((row, claim, f"{known[1]}={size}"))
            return


def size_of(claim: Claim, known: tuple[str, str], spec: KernelSpec) -> int | None:
    """What a claim gives for a knob ("tile", name) or an axis ("herd", name)."""
    return claim.tile.get(known[1]) if known[0] == "tile" else _extent(claim, known[1], spec)


def _extent(claim: Claim, axis: str, spec: KernelSpec) -> int | None:
    if claim.herd is None:
        return None
    return dict(zip(spec.herd, claim.herd, strict=False)).get(axis)


def _finding(rule: Rule, specs: Mapping[str, KernelSpec]) -> Finding:
    spec = specs[rule.kernel]
    told = [f"{shape_text(spec, row.shape)} ({value})" for row, _, value in rule.against[:_SHOWN]]
    more = len(rule.against) - len(told)
    listed = ", ".join(told) + (f" and {more} more" if more else "")
    values = list(dict.fromkeys(value for _, _, value in rule.against))
    return Finding(
        kind="rule-contradicted",
        sides=(
            *sides((where, rule.text) for where in rule.stated),
            *(Side(claim.where, value) for _, claim, value in rule.against),
        ),
        record=row_name(rule.against[0][0], specs) if len(rule.against) == 1 else None,
        found=", ".join(values[:_SHOWN]) + (", …" if len(values) > _SHOWN else ""),
        expected=rule.expected,
        confidence=rule.confidence,
        message=f"stated: {rule.text}; recorded: {listed}",
    )
