"""`best` of a JSON entry: missing, unknown, failing, carried over, or slower than a sibling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from registry_tool.adoption.drift import notes, verdicts
from registry_tool.adoption.drift.figures import disagree, shown
from registry_tool.adoption.drift.finding import Finding, Side, sides
from registry_tool.adoption.drift.naming import row_name, shape_name
from registry_tool.adoption.model import Adoption, Entry, Quantity, Row
from registry_tool.records.kernel import shape_text
from registry_tool.records.spec import KernelSpec


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Entry by entry."""
    methods: dict[tuple[str, tuple[int, ...]], list[Row]] = {}
    for row in adoption.rows:
        if any(claim.place == "json" for claim in row.claims):
            methods.setdefault(row.key[:2], []).append(row)
    for entry in adoption.entries:
        rows = methods.get((entry.kernel, tuple(entry.shape.values())), [])
        yield from _missing(entry, rows, specs)
        for tier, variant in entry.best.items():
            chosen = next((row for row in rows if row.variant == variant), None)
            if chosen is None:
                yield _unknown(entry, tier, variant, rows, specs)
                continue
            yield from _failing(adoption, entry, tier, chosen, specs)
            yield from _inherited(adoption, entry, tier, chosen, specs)
            yield from _slower(adoption, entry, tier, chosen, rows, specs)


def _place(entry: Entry) -> str:
    return f"{entry.file}:{entry.lines.get('best', entry.line)}"


def _tier(row: Row, specs: Mapping[str, KernelSpec]) -> str | None:
    """The tier of a method; what the entry says counts only for one that the kernel lacks."""
    known = specs[row.kernel].variants.get(row.variant or "")
    if known is not None:
        return known.precision
    return next((claim.tier for claim in row.claims if claim.place == "json" and claim.tier), None)


def _missing(entry: Entry, rows: list[Row], specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """A tier that has methods and no best; an entry without any `best` is one finding."""
    if not rows:
        return
    tiers = dict.fromkeys(tier for row in rows if (tier := _tier(row, specs)) is not None)
    missing = [tier for tier in tiers if tier not in entry.best]
    if not missing:
        return
    names = ", ".join(row.variant or "" for row in rows if _tier(row, specs) in missing)
    which = "best" if not entry.best else ", ".join(f"best.{tier}" for tier in missing)
    yield Finding(
        kind="best-missing",
        sides=(Side(f"{entry.file}:{entry.line}", "—"),),
        record=shape_name(entry.kernel, entry.shape, None, specs),
        found="—",
        expected=names,
        confidence="high",
        message=f"{shape_text(specs[entry.kernel], entry.shape)} has {names} and no {which}: a "
        "lookup has no answer for it",
    )


def _unknown(
    entry: Entry, tier: str, variant: str, rows: list[Row], specs: Mapping[str, KernelSpec]
) -> Finding:
    names = ", ".join(row.variant or "" for row in rows)
    return Finding(
        kind="best-unknown",
        sides=(Side(_place(entry), variant),),
        record=shape_name(entry.kernel, entry.shape, None, specs),
        found=variant,
        expected=names,
        confidence="high",
        message=f"best.{tier} is {variant}, and the entry has only {names}",
    )


def _failing(
    adoption: Adoption, entry: Entry, tier: str, row: Row, specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    admitted = [(one.where, verdicts.short(one.text)) for one in _failures(adoption, row, specs)]
    if not admitted:
        return
    yield Finding(
        kind="best-failing",
        sides=sides([(_place(entry), row.variant or ""), *admitted]),
        record=row_name(row, specs),
        found=row.variant or "",
        expected="a method that passed",
        confidence="high",
        message=f"best.{tier} is {row.variant}, but: {admitted[0][1]}",
    )


def _failures(
    adoption: Adoption, row: Row, specs: Mapping[str, KernelSpec]
) -> list[notes.Admission]:
    """What the notes admit, and any place that marks this very variant as broken."""
    said = list(notes.failures(adoption, row, specs[row.kernel]))
    broken = [
        notes.Admission(claim.where, f"marked {claim.cell_glyph or claim.glyph}")
        for claim in row.claims
        if (claim.cell_glyph or (claim.glyph if claim.place != "index" else None) or "")[:1] == "❌"
    ]
    return said + broken


def _inherited(
    adoption: Adoption, entry: Entry, tier: str, row: Row, specs: Mapping[str, KernelSpec]
) -> Iterator[Finding]:
    claims, admitted = verdicts.inherited(adoption, row, specs[row.kernel])
    if not claims and not admitted:
        return
    reason = verdicts.short(admitted[0].text) if admitted else "the figure is marked as inherited"
    yield Finding(
        kind="best-inherited",
        sides=sides(
            [
                (_place(entry), row.variant or ""),
                *((one.where, verdicts.short(one.text)) for one in admitted),
                *((claim.where, "marked as inherited") for claim in claims),
            ]
        ),
        record=row_name(row, specs),
        found=row.variant or "",
        expected="a measured method",
        confidence="medium",
        message=f"best.{tier} is {row.variant}, whose figures were not measured: {reason}",
    )


def _speed(row: Row, specs: Mapping[str, KernelSpec]) -> Quantity | None:
    """What the JSON says, which is what its `best` is about."""
    metric = specs[row.kernel].metric
    return next((figure for claim, figure in row.quantities(metric) if claim.place == "json"), None)


def _slower(
    adoption: Adoption,
    entry: Entry,
    tier: str,
    chosen: Row,
    rows: list[Row],
    specs: Mapping[str, KernelSpec],
) -> Iterator[Finding]:
    speed = _speed(chosen, specs)
    faster = [
        (figure, row)
        for row in rows
        if row is not chosen
        and _tier(row, specs) == tier
        and (figure := _speed(row, specs)) is not None
        and (speed is None or (figure.low > speed.high and disagree(figure, speed)))
        and not _failures(adoption, row, specs)
        and not any(verdicts.inherited(adoption, row, specs[row.kernel]))
    ]
    if not faster:
        return
    figure, row = max(faster, key=lambda one: one[0].high)
    line = entry.lines.get(f"methods/{row.variant}", entry.line)
    text = shown(speed) if speed else "no figure"
    yield Finding(
        kind="best-slower",
        sides=(
            Side(_place(entry), f"{chosen.variant}: {text}"),
            Side(f"{entry.file}:{line}", f"{row.variant}: {shown(figure)}"),
        ),
        record=row_name(chosen, specs),
        found=f"{chosen.variant} ({text})",
        expected=f"{row.variant} ({shown(figure)})",
        confidence="high",
        message=f"best.{tier} is {chosen.variant} with {text}; {row.variant} passes with "
        f"{shown(figure)}",
    )
