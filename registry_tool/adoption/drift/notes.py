"""What the words beside a row admit: that its own run did not pass, that figures were carried over.

A sentence about other tiles, or about another variant, says nothing of the row itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from registry_tool.adoption.model import Adoption, Claim, Entry, Row
from registry_tool.records.spec import KernelSpec

_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z(*])|;\s+|\n{2,}")
# What a run says of itself when its gate did not pass; a tile that does not compile is no run.
_FAILED = re.compile(
    r"\bNUM_?FAIL\b"
    r"|\breport(?:s|ed)? (?:a )?FAIL"
    r"|\bgate (?:reports? FAIL|trips|tripped|fails|failed|does not pass|did not pass)"
    r"|\bgate(?:'s)? (?:verdict|result) (?:is|was) FAIL"
    r"|\bFAIL(?:S|ED)? (?:the |its )?(?:\w+[- ]){0,3}(?:gate|tolerance|check|atol)"
    r"|\b(?:status|verdict|result) (?:is|was|=|:) ?(?:NUM)?FAIL"
    r"|\bdoes not pass (?:the |its )?(?:\w+[- ]){0,3}(?:gate|check)",
    re.I,
)
_CARRIED = re.compile(
    r"\b(?:gflops?|gflop/s|gb/s|latency|throughput|bandwidth|performance|figures?|numbers?|values?)"
    r"[^.;]{0,60}\b(?:carried over|inherited|copied|borrowed|extrapolated|estimated)\b"
    r"|\b(?:carried over|inherited|copied|borrowed|extrapolated) (?:from|figures?)\b"
    r"(?=[^.;]{0,80}\b(?:gflops?|throughput|latency|not measured)\b)"
    r"|\bnot (?:re-?)?measured on (?:the )?(?:NPU|device|hardware)",
    re.I,
)
_TIER = {
    "high": re.compile(r"\bhigh[- ]prec", re.I),
    "low": re.compile(r"\blow[- ]prec", re.I),
}


@dataclass(frozen=True)
class Admission:
    """A sentence that admits something, and where it stands."""

    where: str
    text: str


def failures(adoption: Adoption, row: Row, spec: KernelSpec) -> Iterator[Admission]:
    """Sentences that say that the row's own run did not pass its gate."""
    return _admissions(adoption, row, spec, _FAILED)


def carried(adoption: Adoption, row: Row, spec: KernelSpec) -> Iterator[Admission]:
    """Sentences that say that the row's figures come from another row."""
    return _admissions(adoption, row, spec, _CARRIED)


def _admissions(
    adoption: Adoption, row: Row, spec: KernelSpec, pattern: re.Pattern[str]
) -> Iterator[Admission]:
    seen: set[str] = set()
    for where, text, own in _texts(adoption, row):
        for sentence in _SENTENCE.split(text):
            if pattern.search(sentence) is None or sentence in seen:
                continue
            named = named_variants(sentence, spec)
            if row.variant in named if named else own:
                seen.add(sentence)
                yield Admission(where, " ".join(sentence.split()))


def _texts(adoption: Adoption, row: Row) -> Iterator[tuple[str, str, bool]]:
    """Place, text, and whether it is about this variant where it names none."""
    for claim in row.claims:
        if claim.kind == "row":
            own = claim.place != "index" or row.variant is None
            for text in words(claim):
                yield claim.where, text, own
    entry = adoption.entry(row.kernel, row.shape)
    if entry is not None and entry.note:
        own = row.variant in entry.best.values() or len(_methods(adoption, row)) == 1
        yield note_place(entry), entry.note, own


def _methods(adoption: Adoption, row: Row) -> list[Row]:
    """The rows of the shape that the JSON has."""
    return [
        one for one in adoption.siblings(row) if any(claim.place == "json" for claim in one.claims)
    ]


def words(claim: Claim) -> list[str]:
    """Everything that a claim says in words."""
    return [text for text in (claim.used_by, *(text for _, text in claim.notes)) if text]


def note_place(entry: Entry) -> str:
    """``file:line`` of an entry's note."""
    return f"{entry.file}:{entry.lines.get('_note', entry.line)}"


def named_variants(sentence: str, spec: KernelSpec) -> Sequence[str]:
    """The variants that a sentence names; those of a tier where it names only the tier."""
    by_name = [
        name
        for name in spec.variants
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", sentence, re.I)
    ]
    if by_name:
        return by_name
    tiers = [tier for tier, pattern in _TIER.items() if pattern.search(sentence)]
    return [name for name, one in spec.variants.items() if one.precision in tiers]
