"""What an import would write, change and leave alone; it reads a registry and writes nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import asdict

from registry_tool.adoption.imported import Made, Refused
from registry_tool.adoption.model import PLACES, Adoption
from registry_tool.records.keys import RowId
from registry_tool.records.record import Record

Fate = Literal["new", "same", "changed", "verified"]
# What people own, and what a run of this registry replaces.
_OF_PEOPLE = ("used_by", "notes", "waivers")
_OF_THE_RUN = ("verdict", *_OF_PEOPLE, "provenance")
# Where a line stands is nothing that it says: markers move it.
_LINE = re.compile(r"(?<=\.md):\d+|(?<=\.json):\d+")


@dataclass(frozen=True)
class Step:
    """One row: ``fate`` is `verified` where a run of this registry stands behind the row there.

    ``differs`` names what is not the same, also where the row stays as it is: figures and tiles,
    and of an imported row its words and each key of its provenance.
    """

    made: Made
    fate: Fate
    differs: tuple[str, ...] = ()


# What further differs between a row and one that was imported before, beside its figures.
Words = Callable[[Record, Record], tuple[str, ...]]


def steps(made: Sequence[Made], there: Mapping[RowId, Record], words: Words) -> list[Step]:
    """What becomes of each row, given the records that are there already."""
    return [_step(one, there.get(one.row), words) for one in made]


def words_for(adoption: Adoption) -> Words:
    """How to compare words: not at all where the pages are generated, as they show the records."""
    pages = [one.data for one in adoption.sources if one.name.endswith(".md")]
    return _none if any(b"registry:begin" in data for data in pages) else other_words


def _none(record: Record, before: Record) -> tuple[str, ...]:
    return ()


def other_words(record: Record, before: Record) -> tuple[str, ...]:
    """Call sites, notes, waivers and keys of the provenance that are not the same."""
    ours, theirs = asdict(record), asdict(before)
    words = tuple(
        name for name in _OF_PEOPLE if _without_lines(ours[name]) != _without_lines(theirs[name])
    )
    said, known = record.provenance, before.provenance
    keys = tuple(
        f"provenance.{key}"
        for key in dict.fromkeys((*said, *known))
        if _without_lines(said.get(key)) != _without_lines(known.get(key))
    )
    return *words, *keys


def _without_lines(value: object) -> str:
    return _LINE.sub("", repr(value))


def _step(made: Made, before: Record | None, words: Words) -> Step:
    if before is None:
        return Step(made, "new")
    ours, theirs = asdict(made.record), asdict(before)
    differs = tuple(name for name in ours if name not in _OF_THE_RUN and ours[name] != theirs[name])
    if before.verdict.kind != "imported":
        return Step(made, "verified", differs)
    fate: Fate = "changed" if differs else "same"
    return Step(made, fate, (*differs, *words(made.record, before)))


def gone(made: Sequence[Made], there: Mapping[RowId, Record], target: str) -> list[RowId]:
    """Imported rows of the target that the folder no longer has."""
    kept = {one.row for one in made}
    return [
        row
        for row, record in there.items()
        if row.target == target and record.verdict.kind == "imported" and row not in kept
    ]


def counts(
    adoption: Adoption, made: Sequence[Made], refused: Sequence[Refused]
) -> dict[str, object]:
    """How much was read, and what of it makes records."""
    return {
        "total": len(adoption.rows),
        "imported": len(made),
        "not_imported": len(refused),
        "by_kernel": dict(sorted(Counter(one.kernel for one in adoption.rows).items())),
        "by_place": {place: sum(bool(one.of(place)) for one in adoption.rows) for place in PLACES},
        "lines": sum(claim.kind == "row" for claim in adoption.claims),
        "sweep_lines": sum(claim.kind == "sweep" for claim in adoption.claims),
    }
