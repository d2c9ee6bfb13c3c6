"""Rules that the pages state in words, held against the rows that they record.

Only forms that leave no doubt are read: a setting "for every shape" or "everywhere", a setting in
the heading of a table, a bound on the accuracy, "K=4864 forces tile_m=2", "N=720 cannot use
herd_n=4", and "fused-cast at tile_k_l2>=128 fails" on a row of that shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial

from registry_tool.adoption.cells import name_of
from registry_tool.adoption.columns import Words
from registry_tool.adoption.drift.figures import interval, meet
from registry_tool.adoption.drift.finding import Finding
from registry_tool.adoption.drift.notes import named_variants, note_place, words
from registry_tool.adoption.drift.prose import Sentence, texts
from registry_tool.adoption.drift.rulebook import (
    Rules,
    differs,
    equals,
    findings,
    hold_against,
    holds,
    rule_of,
)
from registry_tool.adoption.model import Adoption, Row
from registry_tool.records.kernel import shape_text
from registry_tool.records.spec import KernelSpec

_VALUE = r"\d+(?:\.\d+)?(?:e-?\d+)?"
_ONE = rf"[A-Za-z_][A-Za-z_0-9 ]*?`?\s*(?:=|∈)\s*`?(?:{_VALUE}|\[{_VALUE},\s*{_VALUE}\])"
_EVERY = r"(?:(?:for|at|in) (?:every|all) (?:tested )?(?:shapes?|rows?)\b|everywhere\b)"
_BETWEEN = r"(?:`|\*\*|\s|\([^()]*\)|is the best config|are the best config)*"
_UNIVERSAL = re.compile(rf"`?(?P<settings>{_ONE}(?:`?,\s*`?{_ONE})*){_BETWEEN}(?:{_EVERY})", re.I)
_RANGE = re.compile(
    rf"\((?P<low>\d+(?:\.\d+)?)\s*[–-]\s*(?P<high>\d+(?:\.\d+)?(?P<power>e-\d+))\)\s*{_EVERY}", re.I
)
_SETTING = re.compile(
    rf"(?P<name>[A-Za-z_][A-Za-z_0-9 ]*?)`?\s*(?:=|∈)\s*`?"
    rf"(?:(?P<value>{_VALUE})|\[(?P<low>{_VALUE}),\s*(?P<high>{_VALUE})\])"
)
_BOUND = re.compile(rf"(?P<name>mean_rel_L1)`?\s*(?:≤|<=)\s*`?(?P<value>{_VALUE})")
_HEADING = re.compile(r"\((?P<name>[a-z]\w*)\s*=\s*(?P<value>\d+)\)")
_FORCES = re.compile(
    r"\b(?P<dim>[A-Za-z_]+)\s?=\s?(?P<size>\d+)\b(?P<between>[^.;]{0,120}?)"
    r"\b(?P<verb>forces|admits no|cannot use)\s+`?\**(?P<name>[a-z]\w*)\s?=\s?(?P<value>\d+)",
    re.I,
)
_FAILS = re.compile(
    r"\b(?P<name>tile_\w+|herd_\w+)`?\s?(?P<sign>≥|>=|=|>)\s?(?P<value>\d+)`?"
    r"(?P<more>/\w+=\d+)?(?P<between>[^.;,]{0,30}?)\bfails?\b",
    re.I,
)
_SIZES = re.compile(r"\d+×\d+")


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Every stated rule with rows against it; one finding a rule, however often it is stated."""
    rules: Rules = {}
    for page in texts(adoption):
        for sentence in page.sentences():
            if sentence.kernel is not None:
                _read(sentence, adoption, specs, rules)
    _headings(adoption, specs, rules)
    for row in adoption.rows:
        _failures(adoption, row, specs, rules)
    yield from findings(rules, specs)


def _read(
    sentence: Sentence, adoption: Adoption, specs: Mapping[str, KernelSpec], rules: Rules
) -> None:
    assert sentence.kernel is not None
    spec = specs[sentence.kernel]
    rows = [row for row in adoption.rows if row.kernel == spec.kernel]
    for universal in _UNIVERSAL.finditer(sentence.text):
        for setting in _SETTING.finditer(universal["settings"]):
            low, high = setting["low"] or setting["value"], setting["high"] or setting["value"]
            _setting(sentence.where, setting["name"].strip(), (low, high), spec, rows, rules)
    for found in _RANGE.finditer(sentence.text):
        named = set(named_variants(sentence.text, spec))
        some = [row for row in rows if not named or row.variant in named]
        ends = found["low"] + found["power"], found["high"]
        _field(sentence.where, "mean_rel_L1", ends, spec, some, rules)
    if not _SIZES.search(sentence.text):
        for bound in _BOUND.finditer(sentence.text):
            _field(sentence.where, bound["name"], ("0", bound["value"]), spec, rows, rules)
    for forced in _FORCES.finditer(sentence.text):
        _forced(sentence.where, forced, spec, rows, rules)


def _setting(
    where: str,
    name: str,
    ends: tuple[str, str],
    spec: KernelSpec,
    rows: list[Row],
    rules: Rules,
) -> None:
    measured = name_of(name)
    if measured is not None:
        _field(where, measured, ends, spec, rows, rules)
        return
    known = Words(spec).resolve(name)
    if known is None or not ends[0].isdigit():
        return
    text = f"{known[1]}={ends[0]}"
    rule = rule_of(rules, (spec.kernel, text), spec, f"{text} for every shape", text, "high")
    rule.stated.append(where)
    for row in rows:
        hold_against(rule, row, known, partial(differs, int(ends[0])), spec)


def _field(
    where: str,
    name: str,
    ends: tuple[str, str],
    spec: KernelSpec,
    rows: list[Row],
    rules: Rules,
) -> None:
    """A figure said to hold for all rows: those whose own figure cannot be it."""
    bound = ends[0] == "0" != ends[1]
    low = float(ends[0]) - (0 if bound else _half(ends[0]))
    high = float(ends[1]) + _half(ends[1])
    text = f"{name} ≤ {ends[1]}" if bound else f"{name} = {'–'.join(dict.fromkeys(ends))}"
    rule = rule_of(rules, (spec.kernel, text), spec, f"{text} for every shape", text, "high")
    rule.stated.append(where)
    for row in rows:
        for claim, figure in row.quantities(name):
            own = interval(figure)
            outside = own[0] >= high if bound else not meet(own, (low, high))
            if claim.kind == "row" and not figure.shared and outside:
                rule.against.append((row, claim, figure.written))
                break


def _half(written: str) -> float:
    mantissa, _, power = written.partition("e")
    return 0.5 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))


def _forced(
    where: str, match: re.Match[str], spec: KernelSpec, rows: list[Row], rules: Rules
) -> None:
    known = Words(spec).resolve(match["name"])
    if known is None or match["dim"] not in spec.dims or _SIZES.search(match["between"]):
        return
    size, value = int(match["size"]), int(match["value"])
    forces = match["verb"].lower() == "forces"
    text = f"{match['dim']}={size} {match['verb'].lower()} {known[1]}={value}"
    expected = f"{known[1]}={value}" if forces else f"not {known[1]}={value}"
    rule = rule_of(rules, (spec.kernel, text), spec, text, expected, "high")
    rule.stated.append(where)
    for row in rows:
        if row.shape[match["dim"]] == size:
            hold_against(rule, row, known, partial(differs if forces else equals, value), spec)


def _headings(adoption: Adoption, specs: Mapping[str, KernelSpec], rules: Rules) -> None:
    """A setting in parentheses in the heading over a table of rows."""
    for index, table in enumerate(adoption.tables):
        if table.kind != "shapes" or table.kernel is None:
            continue
        spec = specs[table.kernel]
        for match in _HEADING.finditer(table.heading):
            known = Words(spec).resolve(match["name"])
            if known is None:
                continue
            value = int(match["value"])
            text = f"{known[1]}={value}"
            rule = rule_of(
                rules,
                (spec.kernel, index, text),
                spec,
                f"{text} (heading of the table)",
                text,
                "high",
            )
            rule.stated.append(f"{table.file}:{table.heading_line}")
            for row in adoption.rows:
                if any(claim.table == index for claim in row.claims):
                    hold_against(rule, row, known, partial(differs, value), spec, index)


def _failures(adoption: Adoption, row: Row, specs: Mapping[str, KernelSpec], rules: Rules) -> None:
    """A note on a shape that says what fails there, and a row of it that does just that."""
    spec = specs[row.kernel]
    entry = adoption.entry(row.kernel, row.shape)
    noted = [(note_place(entry), entry.note, True)] if entry is not None and entry.note else []
    noted += [
        (claim.where, text, False)
        for one in adoption.siblings(row)
        for claim in one.claims
        if claim.kind == "row" and claim.place == "details" and one.key == row.key
        for text in words(claim)
    ]
    for where, note, shared in noted:
        for match in _FAILS.finditer(note):
            before = re.split(r"[.;:] |, ", note[: match.start()])[-1]
            named = named_variants(before, spec)
            known = Words(spec).resolve(match["name"])
            if known is None or match["more"] or (row.variant not in named if named else shared):
                continue
            value = int(match["value"])
            sign = {">=": "≥"}.get(match["sign"], match["sign"])
            text = f"{row.variant or 'the kernel'} fails at {known[1]} {sign} {value}"
            rule = rule_of(
                rules,
                (row.key, text),
                spec,
                f"{shape_text(spec, row.shape)}: {text}",
                f"not {known[1]} {sign} {value}",
                "high",
            )
            rule.stated.append(where)
            hold_against(rule, row, known, partial(holds, match["sign"], value), spec)
