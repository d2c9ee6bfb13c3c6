"""Records and artifacts out of merged rows: what a registry that nobody verified yet is worth.

No number is made up: a figure is one that a place states, the throughput's latency is computed
where only one of them is stated (and said to be), and a knob that no place names comes from the
page's own table of parameters. A row without a whole tile makes no record.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from types import MappingProxyType

from msgspec.structs import replace

from registry_tool import __version__, registry_lookup
from registry_tool.adoption import uses
from registry_tool.adoption.doubts import Doubt
from registry_tool.adoption.drift.naming import row_name
from registry_tool.adoption.merge import sweep_text
from registry_tool.adoption.model import Adoption, Claim, Quantity, Row
from registry_tool.records import canonical, expressions, kernel
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.record import Performance, Record, Use, VerdictLink
from registry_tool.records.spec import KernelSpec
from registry_tool.records.verdict import (
    Environment,
    Fact,
    Gate,
    Output,
    Subject,
    Verdict,
)

NO_RUN_ID = "00000000T000000Z-00000000"
PASSED = ("✅", "✔", "✓", "☑")
_LONGEST = 1000
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_ACCURACY = ("mean_rel_L1", "max_abs", "max_rel")
# What a verdict may hold as one line.
_SPEEDS = ("gflops", "gbps")


@dataclass(frozen=True)
class Made:
    """One row as files: its record and the artifact that it cites."""

    row: RowId
    record: Record
    verdict: Verdict

    @property
    def files(self) -> dict[str, bytes]:
        """Path below the registry to bytes, the artifact first."""
        return {
            self.record.verdict.artifact: canonical.encode(self.verdict),
            self.row.record_path: canonical.encode(self.record),
        }


@dataclass(frozen=True)
class Refused:
    """A row that makes no record, and why; ``notes`` went to the other rows of its shape."""

    row: Row
    reason: str


def make(
    adoption: Adoption,
    target: str,
    moment: datetime,
    held: Mapping[str, Sequence[Doubt]] = MappingProxyType({}),
) -> tuple[tuple[Made, ...], tuple[Refused, ...]]:
    """Every row that can be a record on ``target``, and those that cannot.

    ``moment`` is the time of the import, which the artifacts are named after; ``held`` is what the
    drift report holds against rows (`doubts.of_rows`).
    """
    reader = uses.Reader(adoption.specs)
    whole: list[Row] = []
    refused: list[Refused] = []
    for row in adoption.rows:
        reason = _why_not(adoption, row)
        if reason is None:
            whole.append(row)
        else:
            refused.append(Refused(row, reason))
    beside: dict[tuple[str, tuple[int, ...]], list[Refused]] = {}
    for one in refused:
        beside.setdefault(one.row.key[:2], []).append(one)
    made = [
        _made(
            adoption,
            row,
            target,
            moment,
            reader,
            beside.get(row.key[:2], ()),
            held.get(row_name(row, adoption.specs), ()),
        )
        for row in whole
    ]
    return tuple(made), tuple(refused)


def _why_not(adoption: Adoption, row: Row) -> str | None:
    spec = adoption.specs[row.kernel]
    if spec.variants and row.variant is None:
        return "no place says which method it is"
    known = set(tile_of(adoption, row)[0])
    missing = [knob for knob in spec.tile if knob not in known]
    if missing:
        return f"no place names {', '.join(missing)}"
    herd = herd_of(adoption, row)[0]
    if len(herd) != len(spec.herd):
        return f"the herd {'×'.join(map(str, herd))} has not {len(spec.herd)} extents"
    return None


def tile_of(adoption: Adoption, row: Row) -> tuple[dict[str, int], str | None]:
    """The row's tile, and where the knobs come from that no place names for it."""
    spec = adoption.specs[row.kernel]
    found = row.tile()
    general = adoption.defaults.get(row.kernel, {})
    filled = [knob for knob in spec.tile if knob not in found and f"tile.{knob}" in general]
    found.update({knob: general[f"tile.{knob}"] for knob in filled})
    tile = {knob: found[knob] for knob in spec.tile if knob in found}
    if not filled:
        return tile, None
    return tile, f"{', '.join(filled)} as the page of {row.kernel} recommends; its row names none"


def herd_of(adoption: Adoption, row: Row) -> tuple[tuple[int, ...], str | None]:
    """The row's herd, and where it comes from if no line names it for this row."""
    spec = adoption.specs[row.kernel]
    found = row.herd()
    own = any(one.herd is not None and not one.herd_is_default for one in row.claims)
    if found is not None:
        if own:
            return found, None
        file = next(one.file for one in row.claims if one.herd is not None)
        return found, f"the default of {file}"
    general = adoption.defaults.get(row.kernel, {})
    extents = [general.get(f"herd.{axis}") for axis in spec.herd]
    if all(extents):
        return tuple(filter(None, extents)), f"as the page of {row.kernel} recommends"
    return tuple(spec.default_herd), "the kernel's default herd"


def pick(row: Row, name: str) -> tuple[Claim, Quantity] | None:
    """Which value of a field the record holds: details page, then JSON, then index.

    A value of one's own comes before one that a line shares between variants. Where a further
    place agrees with it and gives more digits, those are taken: they are the same figure.
    """
    found = list(row.quantities(name))
    if not found:
        return None
    order = sorted(found, key=lambda one: (bool(one[1].sign), one[1].shared))
    claim, quantity = order[0]
    if quantity.is_range or quantity.mark:
        return claim, quantity
    same = [
        one
        for one in found
        if not one[1].is_range and not one[1].shared and not one[1].sign
        and one[1].half <= quantity.half and one[1].agrees(quantity)
    ]  # fmt: skip
    return min(same, key=lambda one: one[1].half, default=(claim, quantity))


def _made(
    adoption: Adoption,
    row: Row,
    target: str,
    moment: datetime,
    reader: uses.Reader,
    beside: Sequence[Refused],
    doubts: Sequence[Doubt],
) -> Made:
    spec = adoption.specs[row.kernel]
    tile, tile_from = tile_of(adoption, row)
    herd, herd_from = herd_of(adoption, row)
    provenance = {"source": _one_line("; ".join(dict.fromkeys(one.where for one in row.claims)))}
    glyphs = _glyphs(row)
    if glyphs:
        provenance["status"] = _one_line(glyphs)
    provenance |= {"tile": tile_from} if tile_from else {}
    provenance |= {"herd": herd_from} if herd_from else {}
    performance, computed = _performance(spec, row)
    provenance |= computed
    figures = {name: _figure(row, name) for name in _ACCURACY}
    used_by, notes = _words(row, reader, beside)
    notes += _leftovers(row, performance)
    held = {*_caveats(spec, row, notes, provenance), *(one.caveat for one in doubts)}
    caveats = [name for name in registry_lookup.CAVEATS if name in held]
    provenance |= {"caveats": ", ".join(caveats)} if caveats else {}
    if doubts:
        provenance["doubts"] = _one_line("; ".join(one.reason for one in doubts))
    subject = Subject(
        kernel=row.kernel,
        target=target,
        shape=dict(row.shape),
        variant=row.variant,
        precision=kernel.precision_of(spec, row.variant),  # type: ignore[arg-type]
        tile=tile,
        herd=list(herd),
    )
    verdict = _verdict(adoption, row, spec, subject, figures, performance, moment)
    identity = row_id(target, row.kernel, spec.dims, row.shape, row.variant)
    data = canonical.encode(verdict)
    record = Record(
        kernel=row.kernel,
        target=target,
        shape=subject.shape,
        variant=row.variant,
        precision=subject.precision,
        tile=tile,
        herd=list(herd),
        tiles_in_flight=kernel.tiles_in_flight(herd),
        mean_rel_L1=figures["mean_rel_L1"],
        max_abs=figures["max_abs"],
        max_rel=figures["max_rel"],
        performance=performance,
        verdict=VerdictLink(
            status="unverified",
            kind="imported",
            artifact=f"{identity.verdict_folder}/{verdict.run_id}.json",
            sha256=hashlib.sha256(data).hexdigest(),
        ),
        used_by=used_by,
        notes=list(_unique(notes)),
        waivers=[],
        provenance=provenance,
    )
    return Made(identity, record, verdict)


def _caveats(
    spec: KernelSpec, row: Row, notes: Sequence[str], provenance: Mapping[str, str]
) -> list[str]:
    """What the row's own words, footnotes and status hold against it, read as the lookup does.

    ``provenance`` is what is known of the row so far. A record's notes belong to people, so what
    they say of the row today is kept where a later edit of them does not reach.
    """
    footnotes = [
        text
        for claim in row.claims
        for title, text in claim.notes
        if title in [one.mark for one in claim.quantities]
    ]
    marked = [f"{one.written}{one.mark}" for claim in row.claims for one in claim.quantities]
    precision = kernel.precision_of(spec, row.variant)
    # Whether it was timed and gauged is for the record's figures to say.
    said = registry_lookup.caveats(
        [*notes, *footnotes, *marked], row.variant, precision, list(spec.variants), 0.0, 0.0
    )
    found = {*said, *registry_lookup.import_caveats(provenance)}
    return [name for name in registry_lookup.CAVEATS if name in found]


def _glyphs(row: Row) -> str:
    """Every status glyph with the places that give it."""
    found: dict[str, list[str]] = {}
    for claim in row.claims:
        for glyph in (claim.cell_glyph, claim.glyph):
            if glyph and claim.where not in found.setdefault(glyph, []):
                found[glyph].append(claim.where)
    return "; ".join(f"{glyph} {', '.join(places)}" for glyph, places in found.items())


def _figure(row: Row, name: str) -> float | None:
    """An error figure; of a range its worse end, and nothing of an estimate (``~1e+5``)."""
    found = pick(row, name)
    return None if found is None or found[1].sign else found[1].high


def _performance(spec: KernelSpec, row: Row) -> tuple[Performance | None, dict[str, str]]:
    """The speed that the places state, and what of it was computed, is a middle, or inherited."""
    said: dict[str, str] = {}
    stated = {name: pick(row, name) for name in ("latency_us", *_SPEEDS)}
    values = {name: one[1].value for name, one in stated.items() if one is not None}
    values = {name: value for name, value in values.items() if value > 0.0}
    if not values:
        return None, {}
    spread = None
    for name in values:
        claim, quantity = stated[name]  # type: ignore[misc]
        if quantity.is_range:
            said[f"performance.{name}"] = f"the middle of {quantity.written} at {claim.where}"
            if name == "latency_us":
                spread = float(f"{(quantity.high - quantity.low) / quantity.value:.4g}")
    latency = values.get("latency_us")
    if latency is None:
        name = next(iter(values))
        latency = _latency(spec, row.shape, name, values[name])
        if latency is None:
            return None, {}
        unit = "GFLOP/s" if name == "gflops" else "GB/s"
        said["performance.latency_us"] = f"computed from the shape and {values[name]:g} {unit}"
    inherited = next((one for one in row.claims if one.inherited), None)
    if inherited is not None:
        said["performance"] = f"inherited from another row, as {inherited.where} says"
    return (
        Performance(
            latency_us=latency,
            gflops=values.get("gflops"),
            gbps=values.get("gbps"),
            spread=spread,
        ),
        {name: _one_line(text) for name, text in said.items()},
    )


def _latency(spec: KernelSpec, shape: Mapping[str, int], metric: str, value: float) -> float | None:
    """Microseconds that the work of a shape takes at ``value`` GFLOP/s or GB/s."""
    work = spec.work.flops if metric == "gflops" else spec.work.bytes
    if work is None:
        return None
    amount = float(expressions.number(work, kernel.names(spec, shape)))
    return float(f"{amount / value / 1e3:.6g}") or None


def _words(row: Row, reader: uses.Reader, beside: Sequence[Refused]) -> tuple[list[Use], list[str]]:
    """Call sites, and everything else that people wrote about the row."""
    credits = [reader.read(claim.used_by) for claim in row.claims if claim.used_by]
    used_by, more = uses.merged(use for one in credits for use in one.uses)
    notes = [f"used by: {text}" for one in credits for text in one.notes]
    notes += [f"used by: {text}" for text in more]
    for claim in row.claims:
        notes += [_noted(title, text, claim) for title, text in claim.notes]
        if claim.layout:
            notes.append(f"as 2-D: {claim.layout}")
    for other in beside:
        notes += [
            f"{claim.where} on {other.row.variant or 'no method'}: {_shown(claim)}"
            f" ({other.reason}, so it is no row)"
            for claim in other.row.claims
        ]
    notes += [f"again at {claim.where}: {_shown(claim)}" for claim in _again(row)]
    notes += [sweep_text(line) for line in row.sweeps]
    return used_by, notes


def _again(row: Row) -> Iterator[Claim]:
    """Claims of a place that has spoken of the row before: a shape that is listed twice."""
    seen: set[tuple[str, str]] = set()
    for claim in row.claims:
        if claim.kind == "row" and (claim.place, claim.file) in seen:
            yield claim
        seen.add((claim.place, claim.file))


def _noted(title: str, text: str, claim: Claim) -> str:
    if title in ("_note", "Status", "Notes", "Note", "Used by"):
        return text
    return f"{title}: {text}"


def _shown(claim: Claim) -> str:
    return ", ".join(f"{title} {cell}" for title, cell in claim.cells.items() if cell.strip())


def _leftovers(row: Row, performance: Performance | None) -> list[str]:
    """Numbers that a record has no field for, ranges, and values that the record does not hold."""
    found = []
    for claim in row.claims:
        for quantity in claim.quantities:
            said = f"{quantity.field} {quantity.written}{quantity.mark}"
            is_lost = quantity.field in ("correlation", "tiles") or quantity.sign
            if quantity.field in (*_SPEEDS, "latency_us") and performance is None:
                is_lost = True
            if is_lost or quantity.is_range or _differs(row, quantity):
                found.append(f"{said} at {claim.file}:{quantity.line}")
    return found


def _differs(row: Row, quantity: Quantity) -> bool:
    chosen = pick(row, quantity.field)
    return chosen is not None and not quantity.shared and not quantity.agrees(chosen[1])


def _unique(notes: Iterable[str]) -> Iterator[str]:
    """Each note once, as lines that a record can hold; one inside another is said already."""
    lines = list(dict.fromkeys(" ".join(_CONTROL.sub(" ", note).split()) for note in notes))
    for line in lines:
        if line and not any(line != other and line in other for other in lines):
            yield from _portions(line)


def _portions(line: str) -> Iterator[str]:
    """A long note as several: divided between sentences if it can be, else between words."""
    while len(line) > _LONGEST:
        head = line[:_LONGEST]
        at = max(head.rfind(end) + len(end) - 1 for end in (". ", "; "))
        if at < _LONGEST // 4:
            at = head.rfind(" ")
        if at <= 0:
            at = _LONGEST
        yield line[:at].strip()
        line = line[at:].strip()
    if line:
        yield line


def _one_line(text: str) -> str:
    return " ".join(_CONTROL.sub(" ", text).split()) or "not said"


def _verdict(
    adoption: Adoption,
    row: Row,
    spec: KernelSpec,
    subject: Subject,
    figures: Mapping[str, float | None],
    performance: Performance | None,
    moment: datetime,
) -> Verdict:
    """The artifact: what was read, where, and that nobody ran it here."""
    tolerance = kernel.tolerance(spec, subject.precision)
    places = list(dict.fromkeys(one.where for one in row.claims))
    sums = {one.name: one.sha256 for one in adoption.sources}
    outputs = []
    if any(value is not None for value in figures.values()):
        outputs = [
            Output(
                index=0,
                elements=kernel.output_elements(spec, row.shape)[0],
                mean_rel_L1=figures["mean_rel_L1"],
                max_rel=figures["max_rel"],
                max_abs=figures["max_abs"],
                rtol=tolerance.rtol,
                atol=tolerance.atol,
            )
        ]
    verdict = Verdict(
        run_id=NO_RUN_ID,
        kind="imported",
        subject=subject,
        status="unverified",
        reason=_one_line(f"read from {', '.join(places)}; not run by this tool"),
        gate=Gate(
            rtol=tolerance.rtol,
            atol=tolerance.atol,
            band=None,
            band_reason="imported figures are not judged",
            zero_share=None,
            zero_share_reason="an imported row has no log",
        ),
        outputs=outputs,
        attempts=[],
        profile=None,
        performance=performance,
        environment=_environment(),
        sources={one.file: sums[one.file] for one in row.claims},
        tool_version=__version__,
    )
    digest = hashlib.sha256(canonical.encode(verdict)).hexdigest()
    started = moment.astimezone(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    return replace(verdict, run_id=f"{started}-{digest[:8]}")


def _environment() -> Environment:
    unknown = Fact(value=None, reason="imported: the source does not say")
    return Environment(
        host=unknown,
        device=unknown,
        driver=unknown,
        firmware=unknown,
        power_mode=unknown,
        platform_profile=unknown,
        toolchain={},
    )
