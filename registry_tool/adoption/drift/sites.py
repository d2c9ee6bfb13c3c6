"""Who a row is credited to: one shape at two sites of one model, and credits that differ."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from registry_tool.adoption.drift.finding import Finding, Side, sides
from registry_tool.adoption.drift.naming import PLACE, shape_name
from registry_tool.adoption.model import Adoption, Claim, Place, Row
from registry_tool.records.kernel import shape_text
from registry_tool.records.spec import KernelSpec

# A model's name ends in its size (`Qwen2.5-1.5B`), or is a word of capitals inside (`SmolVLA`).
_MODEL = re.compile(
    r"[A-Za-z][A-Za-z0-9.]*(?:-[A-Za-z0-9.]+)*-\d+(?:\.\d+)?[BbMm]\b|[A-Z][a-z]+[A-Z]{2,}\b(?!-)"
)
_ASIDE = re.compile(r"\([^()]*\)|\*\*|`")
# Words that say how or when rather than where.
_WORDLESS = frozenset(
    (
        *("proj", "projection", "row", "rows", "layer", "layers", "datapath", "scale", "shape"),
        *("decode", "prefill", "alt", "standalone", "square", "native", "padded", "seq", "emb"),
        *("the", "and", "on", "of", "for", "with", "per", "in", "hidden"),
    )
)
_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_END = re.compile(r"\s[—–]\s|;|\.\s|--")


@dataclass(frozen=True)
class Credit:
    """What one line says of who uses its row: model (lower case) to the words of its sites."""

    claim: Claim
    text: str
    models: Mapping[str, frozenset[str]]


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Shape by shape."""
    shapes: dict[tuple[str, tuple[int, ...]], list[Row]] = defaultdict(list)
    for row in adoption.rows:
        shapes[row.key[:2]].append(row)
    credited = _tables_with_credits(adoption)
    for rows in shapes.values():
        lines = [claim for row in rows for claim in row.claims if claim.kind == "row"]
        credits = [credit_of(claim) for claim in lines]
        yield from _conflicts(rows[0], credits, specs)
        yield from _differences(rows[0], credits, credited, specs)


def credit_of(claim: Claim) -> Credit:
    """The credit that a line gives; ``A + B prefill RoPE-Q`` credits both with the site."""
    text = claim.used_by
    models: dict[str, frozenset[str]] = {}
    pending: list[str] = []
    for part in _parts(text):
        match = _MODEL.match(part.strip())
        if match is None:
            continue
        site = _site(part.strip()[match.end() :])
        pending.append(match[0].lower())
        if site:
            for name in pending:
                models[name] = models.get(name, frozenset()) | site
            pending = []
    for name in pending:
        models.setdefault(name, frozenset())
    return Credit(claim, text, models)


def _parts(text: str) -> list[str]:
    plain = text
    while _ASIDE.search(plain):
        plain = _ASIDE.sub(" ", plain)
    plain = plain.strip(" ()")
    plain = _END.split(plain)[0]
    return re.split(rf"\s\+\s|\s/\s(?={_MODEL.pattern})", plain)


def _site(text: str) -> frozenset[str]:
    words = (word.lower() for word in re.split(r"[^A-Za-z0-9]+", text.replace("_", " ")))
    return frozenset(
        word for word in words if word and _TOKEN.fullmatch(word) and word not in _WORDLESS
    )


def _conflicts(
    row: Row, credits: list[Credit], specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    """Two places credit the shape to sites of one model that share no word."""
    seen: set[str] = set()
    for at, first in enumerate(credits):
        for second in credits[at + 1 :]:
            for model, site in first.models.items():
                other = second.models.get(model)
                if not site or not other or site & other or model in seen:
                    continue
                seen.add(model)
                yield _conflict(row, credits, model, first, second, specs)


def _conflict(
    row: Row,
    credits: list[Credit],
    model: str,
    first: Credit,
    second: Credit,
    specs: Mapping[str, KernelSpec],
) -> Finding:
    return Finding(
        kind="sites-disagree",
        sides=sides((one.claim.where, one.text) for one in credits if model in one.models),
        record=shape_name(row.kernel, row.shape, None, specs),
        found=first.text,
        expected=second.text,
        confidence="high",
        message=f"{shape_text(specs[row.kernel], row.shape)} is {first.text!r} in the "
        f"{PLACE[first.claim.place]} and {second.text!r} in the {PLACE[second.claim.place]}",
    )


def _tables_with_credits(adoption: Adoption) -> set[int]:
    """The tables that credit some of their rows."""
    return {
        claim.table
        for claim in adoption.claims
        if claim.table is not None and claim.kind == "row" and credit_of(claim).models
    }


def _differences(
    row: Row, credits: list[Credit], credited: set[int], specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    """A model that one place credits and another, which credits rows as well, does not."""
    by_place: dict[Place, list[Credit]] = defaultdict(list)
    for credit in credits:
        claim = credit.claim
        if claim.place == "json" or (claim.table is not None and claim.table in credited):
            by_place[claim.place].append(credit)
    models = {
        place: frozenset(model for one in found for model in one.models)
        for place, found in by_place.items()
    }
    every = frozenset(model for found in models.values() for model in found)
    for place, found in models.items():
        missing = sorted(every - found)
        if not missing:
            continue
        here = by_place[place][0]
        fuller = next(
            one for one in credits if one.claim.place != place and set(missing) & set(one.models)
        )
        yield Finding(
            kind="credit-differs",
            sides=(
                Side(here.claim.where, here.text or "—"),
                Side(fuller.claim.where, fuller.text),
            ),
            record=shape_name(row.kernel, row.shape, None, specs),
            found=here.text or "—",
            expected=fuller.text,
            confidence="medium" if found else "low",
            message=f"the {PLACE[place]} does not credit {', '.join(missing)}; the "
            f"{PLACE[fuller.claim.place]} does",
        )
